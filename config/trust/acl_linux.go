package trust

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// What the kernel's attribute of an access list holds: a version, then entries
// of a tag, permissions and an id.
const (
	aclAttribute = "system.posix_acl_access"
	aclVersion   = 2
	aclMost      = 64 << 10 // what an attribute may have at most

	aclUser  = 0x02
	aclGroup = 0x08
	aclWrite = 0x02
)

// checkList refuses a file whose access list lets somebody else write it. What
// a list grants at most stands in the mode in place of the group's permissions,
// so that a mode without them needs no look, and one with them says less than
// it seems to.
func (o Owners) checkList(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o020 == 0 {
		return nil
	}
	list := make([]byte, aclMost)
	n, err := unix.Lgetxattr(path, aclAttribute, list)
	switch {
	case errors.Is(err, unix.ENODATA), errors.Is(err, unix.ENOTSUP):
		return nil
	case err != nil:
		return fmt.Errorf("%s: its access list cannot be read: %w", path, err)
	}
	list = list[:n]
	refused := func(who string) error {
		return &Error{Path: path, Why: "its access list lets " + who + " write it", Remedy: "chmod g-w " + quote(path)}
	}
	if n < 4 || (n-4)%8 != 0 || binary.LittleEndian.Uint32(list) != aclVersion {
		return refused("nobody knows whom")
	}
	for e := list[4:]; len(e) > 0; e = e[8:] {
		tag, perm, id := binary.LittleEndian.Uint16(e), binary.LittleEndian.Uint16(e[2:]), int(binary.LittleEndian.Uint32(e[4:]))
		switch {
		case perm&aclWrite == 0:
		case tag == aclUser && !o.user(id):
			return refused(userName(id))
		case tag == aclGroup && !o.group(id):
			return refused("group " + groupName(id))
		}
	}
	return nil
}
