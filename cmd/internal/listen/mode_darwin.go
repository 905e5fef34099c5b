package listen

import (
	"os"

	"golang.org/x/sys/unix"
)

// runDir is a directory of the system that is trusted although a group may write to it: only
// daemons of the system are in that group.
const runDir = "/var/run"

// chmod gives the file at path a mode, and follows no link that was put in its place.
func chmod(path string, mode os.FileMode) error {
	return unix.Fchmodat(unix.AT_FDCWD, path, uint32(mode), unix.AT_SYMLINK_NOFOLLOW)
}
