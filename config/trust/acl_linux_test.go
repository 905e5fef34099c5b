package trust

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// accessList returns the extended attribute of an access list: the given entries (tag,
// permissions, id), and those of owner, group and others.
func accessList(entries ...[3]uint32) []byte {
	const userObj, groupObj, mask, other, nobody = 0x01, 0x04, 0x10, 0x20, 0xffffffff
	list := binary.LittleEndian.AppendUint32(nil, aclVersion)
	add := func(tag, perm, id uint32) {
		list = binary.LittleEndian.AppendUint16(list, uint16(tag))
		list = binary.LittleEndian.AppendUint16(list, uint16(perm))
		list = binary.LittleEndian.AppendUint32(list, id)
	}
	ofTag := func(tag uint32) {
		for _, e := range entries {
			if e[0] == tag {
				add(e[0], e[1], e[2])
			}
		}
	}
	add(userObj, 7, nobody)
	ofTag(aclUser)
	add(groupObj, 5, nobody)
	ofTag(aclGroup)
	add(mask, 7, nobody)
	add(other, 5, nobody)
	return list
}

// TestAccessList: an access list lets another user write a file that root obeys. This must
// be found, although the file's mode only lets the group write, and the group is root's own.
func TestAccessList(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to root")
	}
	const stranger = 54321
	for _, tc := range []struct {
		name    string
		owners  Owners
		entries [][3]uint32
		refused string
	}{
		{"nobody", Root(), nil, ""},
		{"a stranger may read", Root(), [][3]uint32{{aclUser, 5, stranger}}, ""},
		{"a stranger may write", Root(), [][3]uint32{{aclUser, 7, stranger}}, "user 54321"},
		{"a stranger's group may write", Root(), [][3]uint32{{aclGroup, 6, stranger}}, "group 54321"},
		{"root may write", Root(), [][3]uint32{{aclUser, 7, 0}}, ""},
		{"who asks may write", RootAndAsker(stranger), [][3]uint32{{aclUser, 7, stranger}}, ""},
	} {
		for _, what := range []string{"file", "directory above"} {
			t.Run(tc.name+"/"+what, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "dir")
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(dir, "file")
				if err := os.WriteFile(file, nil, 0o644); err != nil {
					t.Fatal(err)
				}
				on := file
				if what != "file" {
					on = dir
				}
				err := unix.Setxattr(on, aclAttribute, accessList(tc.entries...), 0)
				if errors.Is(err, unix.ENOTSUP) {
					t.Skip("the file system has no access lists")
				}
				if err != nil {
					t.Fatal(err)
				}
				f, _, err := tc.owners.Open(file)
				if err == nil {
					f.Close()
				}
				switch {
				case tc.refused == "" && err != nil:
					t.Errorf("Open: %v", err)
				case tc.refused != "" && (err == nil || !strings.Contains(err.Error(), "lets "+tc.refused+" write it")):
					t.Errorf("Open: %v, want that %s may write", err, tc.refused)
				}
			})
		}
	}
}
