package why

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// A sleep is the answer for who asks about a time that was slept through, and
// aside for who asks about a recording in which there was one.
func TestSlept(t *testing.T) {
	s := silence{query.Break{From: 100e9, To: 200e9}, "asleep"}
	for _, c := range []struct {
		name     string
		from, to int64 // asked; 0 and 0: nothing was
		want     float64
	}{
		{"all of it", 100e9, 200e9, 1},
		{"half of it", 0, 200e9, 1},
		{"a quarter of it", 0, 400e9, 0.65},
		{"no window", 0, 0, 0.3},
	} {
		asked := query.Window{From: c.from, To: c.to}
		q := &question{r: Request{Window: asked}, asked: asked}
		if got := q.slept(s); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Of stretches in which nothing was bad the idlest is the calm: a core of many
// that somebody used all the time is not what is usual for him.
func TestCalmIsTheIdlest(t *testing.T) {
	const n = 300
	f := &field{width: 1e9, n: n}
	one := &course{signal: &signal{least: 0.6, severe: 1, weight: 0.4}, gap: 1}
	for k := range n {
		x := 0.12
		if k < 100 {
			x = 0.24 // One of eight more than usual.
		}
		one.x = append(one.x, x)
	}
	f.of = map[string][]*course{"cpu": {one}}
	q := &question{field: f, to: n * 1e9, w: query.Window{To: n * 1e9}}
	q.findCalm()
	if q.calm.To == 0 || q.calm.From < 100e9 {
		t.Errorf("the calm is from %d s to %d s", q.calm.From/1e9, q.calm.To/1e9)
	}
}

// A volume that is full was full before only where the recording shows it.
func TestFullVolumeOfAShortRecording(t *testing.T) {
	for _, c := range []struct {
		length string
		before bool
	}{{"40s", false}, {"2h", true}} {
		var b strings.Builder
		b.WriteString(host)
		for _, class := range [][2]string{{"fast", "1s"}, {"polled", "10s"}, {"process", "5s"}} {
			fmt.Fprintf(&b, "every %s 0s %s %s\n", class[1], c.length, class[0])
			for _, does := range quiet {
				if does.metric == "filesys.full[/]" {
					does.form = "level=100"
				}
				if does.class == class[0] {
					fmt.Fprintf(&b, "  %s %s\n", does.metric, does.form)
				}
			}
		}
		parts, err := querytest.Parse(strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		answer := ask(t, querytest.New(parts...), Request{})
		i := slices.IndexFunc(answer.Lines, func(l Line) bool { return l.Kind == "volume" })
		if i < 0 || strings.Contains(answer.Lines[i].Text, "as before") != c.before {
			t.Errorf("of %s: %+v", c.length, answer.Lines)
		}
	}
}

// What the processes of a program did throughout a recording that was never calm may be usual. If
// it is a part of the machine only, it is not blamed.
func TestBusyThroughout(t *testing.T) {
	var b strings.Builder
	b.WriteString(host)
	for pid := 81; pid <= 86; pid++ {
		fmt.Fprintf(&b, "instance process %d %06d render pid=%d parent=1 start=2026-11-20T02:20:00Z uid=0\n", pid, pid, pid)
	}
	for _, class := range [][2]string{{"fast", "5s"}, {"polled", "10s"}, {"process", "5s"}} {
		fmt.Fprintf(&b, "every %s 0s 4h %s\n", class[1], class[0])
		for _, does := range quiet {
			if does.metric == "kernel.all.cpu.user" {
				does.form = "rate=1850 noise=0.02"
			}
			if does.class == class[0] {
				fmt.Fprintf(&b, "  %s %s\n", does.metric, does.form)
			}
		}
		for pid := 81; pid <= 86 && class[0] == "process"; pid++ {
			fmt.Fprintf(&b, "  proc.psinfo.utime[%d] rate=80000000 noise=0.02\n  proc.psinfo.stime[%d] rate=1000000\n  proc.memory.rss[%d] level=9000\n", pid, pid, pid)
		}
	}
	parts, err := querytest.Parse(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	answer := ask(t, querytest.New(parts...), Request{})
	if i := slices.IndexFunc(answer.Lines, func(l Line) bool { return l.Kind == "runaway" }); i >= 0 {
		t.Errorf("%+v", answer.Lines)
	}
}

// TestSignalsThatAreNeverBadAddNothing compares how bad the slots of a field were with all signals
// and with those alone that worst reads first: they must agree wherever the latter know anything.
func TestSignalsThatAreNeverBadAddNothing(t *testing.T) {
	const n = 200
	all := &field{width: 1e9, n: n, of: make(map[string][]*course)}
	judged := &field{width: 1e9, n: n, of: make(map[string][]*course)}
	left := 0
	for i := range signals {
		s := &signals[i]
		c := &course{signal: s, gap: 1}
		for k := range n {
			x := float64(k*(i+7)%n) / n * 2 * max(s.severe, 1)
			if k < 10 && s.judged() {
				x = math.NaN() // Only the others were read then.
			}
			c.x = append(c.x, x)
		}
		all.of[s.name] = append(all.of[s.name], c)
		if s.judged() {
			judged.of[s.name] = append(judged.of[s.name], c)
		} else {
			left++
		}
	}
	if left == 0 {
		t.Fatal("all signals are judged")
	}
	want, got := all.badness(true), judged.badness(true)
	for k := range got {
		if k < 10 {
			if got[k] == got[k] || want[k] != 0 {
				t.Errorf("slot %d: %v of the judged, %v of all", k, got[k], want[k])
			}
		} else if got[k] != want[k] {
			t.Errorf("slot %d: %v, want %v", k, got[k], want[k])
		}
	}
}
