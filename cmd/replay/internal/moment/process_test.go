package moment

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/store/query/querytest"
)

// comings is a machine on which processes come and go, between sweeps also, one
// crashes, and which sleeps for a while.
const comings = `start 2026-11-20T03:00:00Z
host box
interval fast 1s
interval process 10s
metric kernel.all.cpu.user u64 counter - fast millisec
metric hinv.ncpu u32 discrete - fast
metric proc.unseen u64 counter - process
metric proc.psinfo.utime u64 counter process process millisec
metric proc.memory.rss u64 instant process process Kbyte
metric proc.psinfo.psargs string discrete process process
instance process 1/0 000001 init pid=1
instance process 7/1 000007 shell pid=7 parent=1/0
instance process 8/2 000008 worker pid=8 parent=7/1
instance process 8/9 000008 other pid=8 parent=7/1
boot b1 -1h
event 0s recorder start | recorder 1.0 started
event 25s process exit | worker ended: signal 11 core | indom=process key=8/2 pid=8 name=worker how=signal_11_core status=139
event 34s process exit | true ended: exit 0 | indom=process key=9/3 pid=9 name=true how=exit_0 status=0
event 36s process exits | 5 more ended | indom=process name=cc1 count=5 failed=0
event 60s sleep | the machine went to sleep
event 10m wake | awake after 9m | from=2026-11-20T03:01:00Z seconds=540
every 1s 0s 60s fast
  kernel.all.cpu.user rate=500
  hinv.ncpu 2
every 1s 10m 11m fast
  kernel.all.cpu.user rate=500
  hinv.ncpu 2
every 10s 0s 20s process
  proc.unseen 3
  proc.psinfo.utime[1/0] rate=10
  proc.memory.rss[1/0] 100
  proc.psinfo.utime[7/1] rate=20
  proc.memory.rss[7/1] 200
  proc.psinfo.psargs[7/1] "sh -c x"
  proc.psinfo.utime[8/2] rate=900
  proc.memory.rss[8/2] 300
every 10s 30s 30s process
  proc.unseen 3
  proc.psinfo.utime[1/0] rate=10
  proc.memory.rss[1/0] 100
  proc.psinfo.utime[7/1] rate=20
  proc.memory.rss[7/1] 200
  proc.psinfo.psargs[7/1] "sh -c x"
every 10s 40s 60s process
  proc.unseen 9
  proc.psinfo.utime[1/0] rate=10
  proc.memory.rss[1/0] 100
  proc.psinfo.utime[7/1] rate=20
  proc.memory.rss[7/1] 200
  proc.psinfo.psargs[7/1] "sh -c x"
  proc.psinfo.utime[8/9] rate=1
  proc.memory.rss[8/9] 10
`

func described(t testing.TB, text string) *Recording {
	t.Helper()
	parts, err := querytest.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(querytest.New(parts...), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestProcessesComeAndGo(t *testing.T) {
	r := described(t, comings)
	from, _ := r.Span()
	names := func(list []*Process) string {
		var out []string
		for _, p := range list {
			how := ""
			if p.Exit != nil {
				how = " (" + p.Exit.Label("how") + ")"
			}
			out = append(out, fmt.Sprint(p.PID, " ", p.Name, how))
		}
		return strings.Join(out, ", ")
	}
	for _, c := range []struct {
		at                 int64
		processes, ended   string
		began, unseen, few int
	}{
		{20, "1 init, 7 shell, 8 worker", "", 0, 0, 0},
		{26, "1 init, 7 shell, 8 worker (signal 11 core)", "8 worker (signal 11 core)", 0, 0, 0},
		{30, "1 init, 7 shell", "8 worker (signal 11 core)", 0, 0, 0},
		{33, "1 init, 7 shell", "8 worker (signal 11 core)", 0, 0, 0},
		{41, "1 init, 7 shell, 8 other", "", 1, 6, 2},
	} {
		m, err := r.At(from + c.at*1e9)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(m.Processes); got != c.processes {
			t.Errorf("at %d s: %s, want %s", c.at, got, c.processes)
		}
		if got := names(m.Ended); got != c.ended {
			t.Errorf("at %d s ended: %s, want %s", c.at, got, c.ended)
		}
		if m.Began != c.began || m.Unseen != c.unseen || len(m.Brief) != c.few {
			t.Errorf("at %d s %d began, %d unseen, %d named; want %d, %d, %d", c.at, m.Began, m.Unseen, len(m.Brief), c.began, c.unseen, c.few)
		}
	}
	m, err := r.At(from + 41e9)
	if err != nil {
		t.Fatal(err)
	}
	shell := m.Processes[1]
	if shell.Command != "sh -c x" || shell.ParentKey != "b1/1/0" {
		t.Errorf("the shell is %q, a child of %q", shell.Command, shell.ParentKey)
	}
	l, err := r.Life(shell.Key)
	for err == nil && l.Rough {
		l, err = r.Life(shell.Key)
	}
	if err != nil {
		t.Fatal(err)
	}
	var children []string
	for _, c := range l.Children {
		children = append(children, c.Name)
	}
	if fmt.Sprint(children) != "[worker other]" || len(l.Parents) != 1 || l.Parents[0].Name != "init" {
		t.Errorf("children %v, parents %v", children, l.Parents)
	}
	if m.Cores != nil || len(m.Sections) == 0 || m.Sections[0].Figures[0].Value != 0.25 {
		t.Errorf("cpu: %+v", m.Sections)
	}
}

// What the system said is marked: a crash once, whatever says it, and a flood of lines once.
func TestMarksOfWhatTheSystemSaid(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"a report and the exit", []string{"event 26s crash | crash: worker died in f | pid=8 frames=f source=report"}, "[crash 26: crash: worker died in f; sleep]"},
		{"an exit of another", []string{"event 26s crash | crash: other died | pid=9 source=report"}, "[crash 25: process exit: worker ended: signal 11 core; crash 26: crash: other died; sleep]"},
		{"two that say it", []string{"event 25s crash | crash: segfault | pid=8 source=kernel", "event 26s crash | crash: in f | pid=8 frames=f source=report"},
			"[crash 26: crash: in f; sleep]"},
		{"a flood", []string{"event 40s kernel | kernel: sda 1 | device=sda", "event 41s kernel | kernel: sda 2 | device=sda", "event 42s kernel | kernel: sda 3 | device=sda", "event 42s kernel | kernel: sdb | device=sdb"},
			"[crash 25: process exit: worker ended: signal 11 core; event 40: kernel: sda 1 (and 2 more like it); event 42: kernel: sdb; sleep]"},
		{"later again", []string{"event 0s hang | hang: x | name=x", "event 10m30s hang | hang: x | name=x"},
			"[event 0: hang: x; crash 25: process exit: worker ended: signal 11 core; sleep; event 630: hang: x]"},
	} {
		r := described(t, strings.Replace(comings, "event 60s", strings.Join(c.lines, "\n")+"\nevent 60s", 1))
		from, _ := r.Span()
		var got []string
		for m, ok := r.Next(from-1, true); ok; m, ok = r.Next(m.From, true) {
			text := string(m.Kind)
			if !m.Break() {
				text = fmt.Sprintf("%s %d: %s", m.Kind, (m.From-from)/1e9, m.Text)
			}
			got = append(got, text)
		}
		if text := "[" + strings.Join(got, "; ") + "]"; text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}

func TestMarks(t *testing.T) {
	r := described(t, comings)
	from, to := r.Span()
	at := func(m Mark) string { return fmt.Sprintf("%s %d-%d", m.Kind, (m.From-from)/1e9, (m.To-from)/1e9) }
	var on, back []string
	for m, ok := r.Next(from-1, true); ok; m, ok = r.Next(m.From, true) {
		on = append(on, at(m))
	}
	for m, ok := r.Next(to+1, false); ok; m, ok = r.Next(m.From, false) {
		back = append([]string{at(m)}, back...)
	}
	want := "[crash 25-25 sleep 60-600]"
	if fmt.Sprint(on) != want || fmt.Sprint(back) != want {
		t.Errorf("forward %v, back %v, want %s", on, back, want)
	}
	m, err := r.At(from + 300e9)
	if err != nil {
		t.Fatal(err)
	}
	if m.At != from+60e9 || m.Before != from+59e9 || m.After != from+600e9 || m.Break == nil || m.Mark == nil || m.Mark.Kind != MarkSleep {
		t.Errorf("asleep: %d, between %d and %d, %v", m.At-from, m.Before-from, m.After-from, m.Mark)
	}
	if got := r.Step(from+60e9, 1); got != from+600e9 {
		t.Errorf("a step over the sleep ends at %d", got-from)
	}
	if got := r.Step(from+600e9, -1); got != from+60e9 {
		t.Errorf("a step back over the sleep ends at %d", got-from)
	}
}
