package disktest

import (
	"os"

	"golang.org/x/sys/unix"
)

// fillUp lets f's descriptor stand for a device on which every write fails,
// until restore is called.
func fillUp(f *os.File) (restore func() error, err error) {
	fd := int(f.Fd())
	saved, err := unix.Dup(fd)
	if err != nil {
		return nil, err
	}
	dead, err := os.OpenFile(deadDevice, deadFlags, 0)
	if err != nil {
		return nil, err
	}
	defer dead.Close()
	if err := dupTo(int(dead.Fd()), fd); err != nil {
		return nil, err
	}
	return func() error {
		defer unix.Close(saved)
		return dupTo(saved, fd)
	}, nil
}
