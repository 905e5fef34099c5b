package pmda

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"tachograph/sample/metric"
)

// Who has ended is in no fetch that comes after it, and no pid is there twice.
func TestEndedProcesses(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := thisMachine(t)
	want := chosen(m, 3, func(d *metric.Desc) bool {
		return d.Name == "proc.psinfo.utime" || d.Name == "proc.psinfo.pid" || d.Name == "proc.psinfo.cmd"
	})
	pids := func() map[string]int {
		for _, d := range want {
			m.reader.Forget(d)
		}
		v, err := m.Fetch(context.Background(), want)
		if err != nil {
			t.Fatal(err)
		}
		seen := make(map[string]int)
		for _, b := range v.Blocks {
			for _, in := range b.Rows {
				seen[in.Label("pid")]++
			}
		}
		return seen
	}
	pids()
	var ended []string
	for range 20 {
		c := exec.Command(self, "-test.run", "^$")
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		ended = append(ended, strconv.Itoa(c.Process.Pid))
	}
	seen := pids()
	for pid, n := range seen {
		if n != 1 {
			t.Errorf("pid %q is there %d times", pid, n)
		}
	}
	for _, pid := range ended {
		if seen[pid] > 0 {
			t.Errorf("%s has ended and is there", pid)
		}
	}
	if len(seen) < 2 {
		t.Errorf("%d processes", len(seen))
	}
}
