package store_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"

	"tachograph/testdata/built"
)

// insideEnv is set in a test process that has been started again with what the
// test needs: a mount namespace, or another user.
const insideEnv = "TACHO_TEST_INSIDE"

// again runs the named test in a process with the given attributes. It reports
// false if this machine does not allow that.
func again(t *testing.T, name, dir string, attr *syscall.SysProcAttr) bool {
	t.Helper()
	exe := os.Args[0]
	if attr.Credential != nil {
		// The test binary lies where only its owner may look.
		exe = filepath.Join(t.TempDir(), "copy.test")
		built.Copy(t, os.Args[0], exe)
		openUp(t, filepath.Dir(exe))
	}
	cmd := exec.Command(exe, "-test.run=^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), insideEnv+"="+dir)
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || strings.Contains(string(out), "cannot mount") {
		return false
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// openUp lets everybody into a temporary directory.
func openUp(t *testing.T, dir string) {
	t.Helper()
	for ; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
}

// recordUntil gives items from number from on to w until stop says so, and returns
// the outcomes.
func recordUntil(t *testing.T, w *recording.Writer, clock *proof.Clock, list []proof.Item, outcomes []error, stop func(n int) bool) []error {
	t.Helper()
	proof.WaitFor(t, func() bool {
		if i := len(outcomes); i < len(list) {
			clock.Set(list[i].At())
			err := list[i].Append(w)
			if err != nil && !errors.Is(err, recording.ErrHeld) {
				t.Fatalf("item %d: %v", i, err)
			}
			outcomes = append(outcomes, err)
		}
		return stop(len(outcomes))
	})
	return outcomes
}

// everythingThere demands every item that was given to the writer.
func everythingThere(t *testing.T, dir string, list []proof.Item) {
	t.Helper()
	c, damage, err := proof.ReadDir(dir)
	if err != nil || len(damage) > 0 {
		t.Fatalf("reading: %v, %v", err, damage)
	}
	if n, err := c.CheckPrefix(list, len(list)); err != nil || n != len(list) {
		t.Fatalf("%d of %d items are there, %v", n, len(list), err)
	}
}

// TestFullFileSystem records on a small file system of its own until it is
// full, goes on in memory, makes room, and demands that nothing is missing.
func TestFullFileSystem(t *testing.T) {
	dir := os.Getenv(insideEnv)
	if dir == "" {
		attr := &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		if !again(t, "TestFullFileSystem", t.TempDir(), attr) {
			t.Skip("only root, or who may make a mount namespace, has a file system of his own")
		}
		return
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Fatalf("cannot mount: %v", err)
	}
	list := proof.Items(5, 20000)
	var clock proof.Clock
	clock.Set(list[0].At())
	archive := filepath.Join(dir, "archive")
	w, err := recording.Create(recorded.ProofOptions(archive, 5, clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	outcomes := recordUntil(t, w, &clock, list, nil, func(n int) bool { return n >= 60 })
	// Something else fills the file system.
	hog := filepath.Join(dir, "hog")
	f, err := os.Create(hog)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	f.Close()
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	outcomes = recordUntil(t, w, &clock, list, outcomes, func(int) bool { return w.Status().Degraded != "" })
	more := len(outcomes) + 60
	outcomes = recordUntil(t, w, &clock, list, outcomes, func(n int) bool { return n >= more })
	if err := os.Remove(hog); err != nil {
		t.Fatal(err)
	}
	outcomes = recordUntil(t, w, &clock, list, outcomes, func(int) bool { return w.Status().Degraded == "" })
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	everythingThere(t, archive, list[:len(outcomes)])
}

// TestPermissionWithdrawn takes the right to the directory away from a writer
// that is not root, and gives it back.
func TestPermissionWithdrawn(t *testing.T) {
	dir := os.Getenv(insideEnv)
	if dir == "" {
		attr := &syscall.SysProcAttr{}
		dir := t.TempDir()
		if os.Getuid() == 0 {
			const nobody = 65534
			attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
			openUp(t, dir)
		}
		if !again(t, "TestPermissionWithdrawn", dir, attr) {
			t.Skip("another user cannot be had here")
		}
		return
	}
	list := proof.Items(6, 20000)
	var clock proof.Clock
	clock.Set(list[0].At())
	archive := filepath.Join(dir, "archive")
	w, err := recording.Create(recorded.ProofOptions(archive, 6, clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	outcomes := recordUntil(t, w, &clock, list, nil, func(n int) bool { return n >= 60 })
	if err := os.Chmod(archive, 0); err != nil {
		t.Fatal(err)
	}
	// Open files can be written on; new ones cannot be made, and a rotation
	// fails.
	more := len(outcomes) + 200
	outcomes = recordUntil(t, w, &clock, list, outcomes, func(n int) bool { return n >= more })
	if _, err := w.Rotate("test"); err == nil {
		t.Error("rotated in a directory without permission")
	}
	if err := os.Chmod(archive, 0o700); err != nil {
		t.Fatal(err)
	}
	more = len(outcomes) + 60
	outcomes = recordUntil(t, w, &clock, list, outcomes, func(n int) bool {
		return n >= more && w.Status().Degraded == ""
	})
	if _, err := w.Rotate("test"); err != nil {
		t.Errorf("rotating with permission again: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	everythingThere(t, archive, list[:len(outcomes)])
}
