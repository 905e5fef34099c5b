package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tachograph/sample/proc/procfs"
	"tachograph/testdata/patience"
)

// niceness is that of each thread whose file matches.
func niceness(t *testing.T, pattern string) (all []int64) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		var st procfs.Stat
		if err == nil && st.Parse(text) == nil {
			all = append(all, st.Nice)
		}
	}
	return all
}

// A recorder that waits for a processor while everybody wants one cannot tell why. As
// root all its threads have a higher priority; the commands that it runs do not.
func TestPriorityOfTheRecorder(t *testing.T) {
	t.Parallel()
	now, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	before := int64(20 - now)
	script := filepath.Join(t.TempDir(), "ship")
	pidFile := script + ".pid"
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho $$ >"+pidFile+"\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		lines string
		want  int64
	}{
		{"by itself", "", -15},
		{"as configured", "nice = 3\n", 3},
		{"not at all", "nice = 0\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if before != 0 || want < 0 && os.Geteuid() != 0 {
				want = before
			}
			p := start(t, t.TempDir(), configFile(t, often+"[budget]\n"+c.lines+"[archive]\non_finish = ["+strconv.Quote(script)+"]\n"))
			defer p.end(syscall.SIGTERM)
			// All of its threads, also those that were there before it had read this.
			patience.Until(t, fmt.Sprintf("every thread has niceness %d", want), func() bool {
				all := niceness(t, fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
				for _, n := range all {
					if n != want {
						return false
					}
				}
				return len(all) > 0
			})
			p.signal(syscall.SIGUSR1)
			patience.Until(t, "the command has no priority of the recorder's", func() bool {
				text, err := os.ReadFile(pidFile)
				all := niceness(t, "/proc/"+strings.TrimSpace(string(text))+"/stat")
				// Only root may give a command more than the recorder has.
				return err == nil && len(all) == 1 && (all[0] == 0 || os.Geteuid() != 0 && all[0] == want)
			})
			os.Remove(pidFile)
		})
	}
}
