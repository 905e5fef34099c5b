package disktest

import (
	"os"

	"golang.org/x/sys/unix"
)

const deadFlags = os.O_RDWR

// deadDevice fails every write with ENOSPC.
const deadDevice = "/dev/full"

func dupTo(old, new int) error { return unix.Dup3(old, new, unix.O_CLOEXEC) }
