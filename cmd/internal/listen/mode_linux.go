package listen

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// runDir is empty: Linux has no directory that is trusted without a check.
const runDir = ""

// chmod gives the file at path a mode, and follows no link that was put in its place.
func chmod(path string, mode os.FileMode) error {
	err := unix.Fchmodat(unix.AT_FDCWD, path, uint32(mode), unix.AT_SYMLINK_NOFOLLOW)
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	// Linux before 6.6 lacks this call. There the file is opened without following a link,
	// and its mode is changed through the name that /proc gives the descriptor.
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return errors.New("something else is in the place of the socket")
	}
	return os.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode)
}
