package linux

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMountTableIsTheMachines(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(root string)
		want string
	}{
		{"no first process", func(string) {}, "/proc/self/mounts"},
		{"the same root", func(root string) { os.Symlink(root, root+"/proc/1/root") }, "/proc/1/mounts"},
		{"another root", func(root string) { os.Symlink(root+"/proc", root+"/proc/1/root") }, "/proc/self/mounts"},
		{"not to be read", func(root string) {
			os.Symlink(root, root+"/proc/1/root")
			os.Remove(root + "/proc/1/mounts")
		}, "/proc/self/mounts"},
		{"empty", func(root string) {
			os.Symlink(root, root+"/proc/1/root")
			os.Truncate(root+"/proc/1/mounts", 0)
		}, "/proc/self/mounts"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			os.MkdirAll(filepath.Join(root, "proc", "1"), 0o755)
			os.WriteFile(root+"/proc/1/mounts", []byte("/dev/sda1 / ext4 rw 0 0\n"), 0o644)
			tc.make(root)
			if got := mountTable(root); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
