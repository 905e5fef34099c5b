package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// barrier is F_BARRIERFSYNC: the data goes to the drive, and the drive keeps it before what
// comes later, but does not empty its cache. It falls back to a full sync where the file system
// has no barrier, such as network file systems and FAT.
func barrier(f *os.File) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_BARRIERFSYNC, 0)
	switch err {
	case unix.ENOTSUP, unix.ENOTTY, unix.EINVAL:
		return f.Sync()
	}
	return err
}
