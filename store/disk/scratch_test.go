package disk_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/store/disk"
)

// ended returns the ID of a process that has ended.
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

// Clear removes only scratch files that no process is making any more, whatever they were
// for, and only files with names of that form.
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
	gone = "tachograph-" + gone
	file(false, name(".out.csv."+gone))
	file(false, name(".out.csv."+gone+".tmp.meta"))
	file(false, name(".out-20261122.csv."+gone))
	file(false, name(".a.tachograph-5.tachograph-7.b."+gone))
	file(false, disk.Scratch(path)) // an earlier process had the same ID
	file(true, name(".out.csv.tachograph-1"))
	file(true, name(".other.csv.tachograph-1"))
	file(true, name(".out.csv"))
	file(true, name(".out.csv.20261122"))
	file(true, name(".out.csv."+strings.TrimPrefix(gone, "tachograph-")))
	file(true, name(".out.csv.tachograph-20261122"))
	file(true, name(".out.csv.tachograph-0"+strings.TrimPrefix(gone, "tachograph-")))
	file(true, name(".out.csv."+gone+"x"))
	file(true, name("."+gone))
	file(true, name("out.csv."+gone))
	file(true, path)

	for _, held := range []string{path, name("other.csv")} {
		f, err := disk.CreateScratch(disk.Scratch(held) + ".held")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		left = append(left, filepath.Base(f.Name()))
	}

	mine, remove, err := disk.MkdirScratch(path)
	if err != nil {
		t.Fatal(err)
	}
	left = append(left, filepath.Base(mine))
	for dir, stays := range map[string]bool{
		name(".out.csv." + gone + ".making-1"): false, name(".other.tacho." + gone + ".making-1"): false, name(".out.csv." + gone + ".d"): true,
		name(".tachograph-pieces." + gone + ".naming-1"): true, name(".tachograph-pieces." + gone + ".naming-1.made"): true,
	} {
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

// Several goroutines make files of the same few names and clear the directory before each,
// as containers do whose processes have the same ID. Nobody loses the file that it makes.
func TestClearBesideMakers(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			path := filepath.Join(dir, "out"+strconv.Itoa(n))
			for range 300 {
				disk.Clear(path)
				f, err := disk.CreateScratch(disk.Scratch(path))
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.Rename(f.Name(), path); err != nil {
					t.Error(err)
				}
				_ = f.Close()
				_, remove, err := disk.MkdirScratch(path)
				if err != nil {
					t.Error(err)
					return
				}
				remove()
			}
		})
	}
	group.Wait()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 8 {
		t.Errorf("there is %v, %v", entries, err)
	}
}

// Another program that holds the lock of a scratch file cannot stop the maker of that file.
func TestHoldBesideAHolder(t *testing.T) {
	name := disk.Scratch(filepath.Join(t.TempDir(), "out"))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	holder, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if err := unix.Flock(int(holder.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	held := make(chan bool)
	go func() { held <- disk.Hold(f) }()
	select {
	case still := <-held:
		if !still {
			t.Error("it is said to be gone")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it waits for the lock for ever")
	}
}
