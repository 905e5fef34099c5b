package main

import (
	"fmt"
	"os"
	"path/filepath"
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
