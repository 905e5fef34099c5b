package disktest

import (
	"os"

	"golang.org/x/sys/unix"
)

const deadFlags = os.O_RDONLY

// deadDevice is the file itself, open for reading only: there is no device
// that fails writes with ENOSPC.
func deadDevice(f *os.File) string { return f.Name() }

func dupTo(old, new int) error { return unix.Dup2(old, new) }
