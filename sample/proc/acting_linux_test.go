package proc

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/sample/proc/procfs"
)

// expectActing compares a process without its first thread with the kernel's data on the
// first thread that lives. It stops the process meanwhile, so that the thread does not
// change.
func expectActing(t *testing.T, r *reader, pid int, key string) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	for range 1000 {
		want := firstLiving(t, pid)
		r.read("proc")
		if now := firstLiving(t, pid); maps.Equal(now, want) && now["proc.psinfo.sname"] == "T" {
			r.expect("proc", key, want)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the thread never stops")
}

// firstLiving returns the kernel's data on the first thread of a process that has not ended.
func firstLiving(t *testing.T, pid int) map[string]string {
	t.Helper()
	for _, task := range tasks(t, pid) {
		var st procfs.Stat
		text, err := os.ReadFile(filepath.Join(task, "stat"))
		if err != nil || st.Parse(text) != nil {
			t.Fatal(err)
		}
		if st.State == 'Z' {
			continue
		}
		wchan, err := os.ReadFile(filepath.Join(task, "wchan"))
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{
			"proc.psinfo.sname": string(rune(st.State)), "proc.psinfo.wchan_s": string(bytes.TrimPrefix(wchan, []byte("0"))),
			"proc.psinfo.processor": fmt.Sprint(st.Processor), "proc.psinfo.policy": fmt.Sprint(st.Policy), "proc.psinfo.priority": fmt.Sprint(st.Priority),
		}
	}
	t.Fatal("no thread lives")
	return nil
}

// tasks returns the directories of a process's threads, in the order of their IDs.
func tasks(t *testing.T, pid int) []string {
	t.Helper()
	list, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(list) < 2 {
		t.Fatal(len(list), "threads", err)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	return list
}

// If the first thread of a process has ended, the first living one represents the process
// for as long as it lives, and its state is counted. If none can be read, the values are
// absent with that reason.
func TestActingThread(t *testing.T) {
	f := newFakeTree(t)
	p := fakeProcess{pid: 70, comm: "server", state: 'Z', threads: 3, start: 100}
	f.put(p)
	task := func(tid int, state byte) {
		f.write(fmt.Sprintf("proc/70/task/%d/stat", tid), fakeProcess{comm: "worker", state: state, start: 300}.stat(tid))
		f.write(fmt.Sprintf("proc/70/task/%d/wchan", tid), fmt.Sprint("wait_", tid))
	}
	task(70, 'Z')
	task(71, 'Z')
	task(72, 'D')
	task(73, 'R')
	r := openReader(t, Options{Root: f.root}, everything)
	for _, want := range []struct {
		end           int
		sname, wchan  string
		blocked, runs string
	}{{0, "D", "wait_72", "1", "0"}, {72, "R", "wait_73", "0", "1"}} {
		if want.end != 0 {
			task(want.end, 'Z')
		}
		r.read("proc")
		r.expect("proc", "70/100", map[string]string{"proc.psinfo.sname": want.sname, "proc.psinfo.wchan_s": want.wchan, "proc.psinfo.processor": "1"})
		r.expect("procs", "", map[string]string{"proc.runq.defunct": "0", "proc.runq.blocked": want.blocked, "proc.runq.runnable": want.runs})
	}
	task(73, 'Z')
	r.read("proc")
	for _, name := range []string{"proc.psinfo.sname", "proc.psinfo.wchan_s", "proc.psinfo.wchan", "proc.psinfo.processor", "proc.psinfo.policy", "proc.psinfo.priority", "proc.psinfo.nice", "proc.psinfo.rt_priority"} {
		if v := r.value("proc", "70/100", name); v.Miss != firstEnded {
			t.Errorf("%s is %s (%s)", name, v, v.Miss)
		}
	}
	r.expect("procs", "", map[string]string{"proc.runq.defunct": "0", "proc.runq.unknown": "1"})
	p.threads = 1
	f.put(p)
	r.read("proc")
	r.expect("proc", "70/100", map[string]string{"proc.psinfo.sname": "Z"})
	r.expect("procs", "", map[string]string{"proc.runq.defunct": "1", "proc.runq.unknown": "0"})
}
