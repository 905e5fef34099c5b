package trust

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// The kernel's attribute with an access list: a version, then entries of a tag, permissions and
// an id.
const (
	aclAttribute = "system.posix_acl_access"
	aclVersion   = 2
	aclMost      = 64 << 10 // greatest size of an attribute

	aclUser  = 0x02
	aclGroup = 0x08
	aclWrite = 0x02
)

// checkList refuses a file whose access list lets another user write it. If a file has a list,
// its mode has the most that the list grants in place of the group's permissions: so without
// those permissions there is nothing to check, and with them the list decides.
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
