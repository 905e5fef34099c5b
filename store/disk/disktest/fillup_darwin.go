package disktest

import (
	"os"

	"golang.org/x/sys/unix"
)

const deadFlags = os.O_RDONLY

// deadDevice is open for reading only: there is no device that fails writes
// with ENOSPC.
const deadDevice = "/dev/null"

func dupTo(old, new int) error { return unix.Dup2(old, new) }
