package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestLogFollowsItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "log")
		l, err := openLog(path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		fmt.Fprintln(l, "one")
		if err := os.Rename(path, path+".0"); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(l, "two") // within the second: still the old file
		time.Sleep(lookAtLog)
		fmt.Fprintln(l, "three")
		os.Remove(path)
		time.Sleep(lookAtLog)
		fmt.Fprintln(l, "four")
		old, _ := os.ReadFile(path + ".0")
		now, _ := os.ReadFile(path)
		if string(old) != "one\ntwo\n" || string(now) != "four\n" {
			t.Errorf("old %q, now %q", old, now)
		}
	})
}

// TestLogGoesOnlyWhereItWasMeantTo names what is no log of ours.
func TestLogGoesOnlyWhereItWasMeantTo(t *testing.T) {
	for _, tc := range []struct {
		name string
		put  func(path string) error
		want string
		root bool // is refused to root only
	}{
		{"nothing", func(string) error { return nil }, "", false},
		{"a file", func(path string) error { return os.WriteFile(path, nil, 0o640) }, "", false},
		{"a link", func(path string) error { return os.Symlink("/etc/passwd", path) }, "symbolic link", false},
		{"a pipe", func(path string) error { return syscall.Mkfifo(path, 0o640) }, "", false},
		{"another name", func(path string) error {
			os.WriteFile(path+".other", nil, 0o640)
			return os.Link(path+".other", path)
		}, "2 names", true},
		{"a stranger's file", func(path string) error { os.WriteFile(path, nil, 0o640); return os.Chown(path, 12345, 0) }, "belongs to user 12345", true},
		{"a stranger's directory", func(path string) error { return os.Chown(filepath.Dir(path), 12345, 0) }, "belongs to user 12345", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.root && os.Geteuid() != 0 {
				t.Skip("needs root") // who is refused
			}
			path := filepath.Join(t.TempDir(), "recorder.log")
			if err := tc.put(path); err != nil {
				t.Fatal(err)
			}
			l, err := openLog(path)
			if tc.name == "a pipe" {
				if err == nil {
					t.Error("a pipe was opened")
				}
				return
			}
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Fatalf("%v, want %q", err, tc.want)
			}
			if err == nil {
				l.Close()
			}
		})
	}
}
