package service

import (
	"io/fs"
	"syscall"
)

// ids are the owner and group of a file; -1 where they are unknown.
func ids(info fs.FileInfo) (uid, gid int) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return -1, -1
}
