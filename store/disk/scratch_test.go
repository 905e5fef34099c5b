package disk_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"tachograph/store/disk"
)

// ended is the number of a process that is no more.
func ended(t *testing.T) int {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// Only what nobody makes any more is removed, and only what bears the name.
func TestClear(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.csv")
	gone := strconv.Itoa(ended(t))
	name := func(s string) string { return filepath.Join(dir, s) }
	var left []string
	file := func(stays bool, name string) {
		t.Helper()
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if stays {
			left = append(left, filepath.Base(name))
		}
	}
	file(false, name(".out.csv."+gone))
	file(false, name(".out.csv."+gone+".tmp.meta"))
	file(false, disk.Scratch(path)) // a process before this one had its number
	file(true, name(".out.csv.1"))
	file(true, name(".out.csv"))
	file(true, name(".out.csv.20261122"))
	file(true, name(".out.csv.0"+gone))
	file(true, name(".other.csv."+gone))
	file(true, path)

	held := disk.Scratch(path) + ".held"
	file(true, held)
	f, err := os.Open(held)
	if err != nil {
		t.Fatal(err)
	}
	disk.Hold(f)
	defer f.Close()

	mine, remove, err := disk.MkdirScratch(path)
	if err != nil {
		t.Fatal(err)
	}
	left = append(left, filepath.Base(mine))
	for dir, stays := range map[string]bool{name(".out.csv." + gone + ".making-1"): false, name(".out.csv." + gone + ".d"): true} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if stays {
			left = append(left, filepath.Base(dir))
		}
	}
	if err := os.Symlink(path, name(".out.csv."+gone+".link")); err != nil {
		t.Fatal(err)
	}
	left = append(left, ".out.csv."+gone+".link")

	disk.Clear(path)
	var got []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(left)
	slices.Sort(got)
	if !slices.Equal(got, left) {
		t.Errorf("there is %q, want %q", got, left)
	}
	remove()
	if _, err := os.Lstat(mine); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}
