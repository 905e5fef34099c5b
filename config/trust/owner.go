package trust

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func uid(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

func gid(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Gid)
	}
	return -1
}

func links(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink)
	}
	return 1
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return fmt.Sprintf("user %d", uid)
}

func groupName(gid int) string {
	if g, err := user.LookupGroupId(strconv.Itoa(gid)); err == nil {
		return g.Name
	}
	return strconv.Itoa(gid)
}

// onlyMembers reports whether a group has no members but the given users, according to the
// system's files: many systems give each user a group of their own that may write by default.
func onlyMembers(gid int, uids []int) bool {
	if !groupFiles {
		return false
	}
	names := make(map[string]bool)
	for fields := range records("/etc/passwd", 4) {
		uid, err := strconv.Atoi(fields[2])
		counts := err == nil && slices.Contains(uids, uid)
		if counts {
			names[fields[0]] = true
		}
		if fields[3] == strconv.Itoa(gid) && !counts {
			return false
		}
	}
	for fields := range records("/etc/group", 4) {
		if fields[2] != strconv.Itoa(gid) {
			continue
		}
		for member := range strings.SplitSeq(fields[3], ",") {
			if member != "" && !names[member] {
				return false
			}
		}
		return true
	}
	return false
}

// records yields the lines of a system file that have enough fields.
func records(path string, least int) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		f, err := os.Open(path)
		if err != nil {
			return
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, 16<<20))
		if err != nil {
			return
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Split(strings.TrimRight(line, "\n"), ":")
			if len(fields) >= least && !yield(fields) {
				return
			}
		}
	}
}
