package linux

import (
	"os"
	"syscall"
)

// mountTable returns the file that lists the mounts. A service that systemd confines sees a
// mount table of its own, in which everything is read-only and the service's directories are
// volumes. The table of the first process is the true one, if that has the same root.
func mountTable(root string) string {
	const own, first = "/proc/self/mounts", "/proc/1/mounts"
	here, err := os.Stat(root + "/")
	there, err1 := os.Stat(root + "/proc/1/root/")
	if err != nil || err1 != nil || !sameRoot(here, there) {
		return own
	}
	f, err := os.Open(root + first)
	if err != nil {
		return own
	}
	defer f.Close()
	var b [1]byte
	if n, _ := f.Read(b[:]); n == 0 {
		return own
	}
	return first
}

func sameRoot(a, b os.FileInfo) bool {
	x, ok := a.Sys().(*syscall.Stat_t)
	y, ok1 := b.Sys().(*syscall.Stat_t)
	return ok && ok1 && x.Dev == y.Dev && x.Ino == y.Ino
}
