package why

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// host is the beginning of every description: a machine of two cores and 16 GB
// that is recorded for twenty minutes, idle but for two processes.
const host = `start 2026-11-20T03:00:00Z
host box id=B1 os=Linux release=6 arch=x86_64 platform=linux model=none cpus=2
interval static 2562047h
interval polled 10s
interval fast 1s
interval process 5s
interval costly 1m
metric hinv.ncpu u32 discrete - static
metric mem.physmem u64 discrete - static Kbyte
metric kernel.all.cpu.user u64 counter - fast millisec
metric kernel.all.cpu.sys u64 counter - fast millisec
metric kernel.all.cpu.nice u64 counter - fast millisec
metric kernel.all.blocked u64 instant - fast
metric mem.util.available u64 instant - fast Kbyte
metric swap.pagesin u64 counter - fast count
metric swap.pagesout u64 counter - fast count
metric thermal.pressure.level u32 instant - polled
metric network.interface.in.packets u64 counter interface fast count
metric network.interface.out.packets u64 counter interface fast count
metric network.interface.running u32 instant interface polled
metric disk.dev.inflight u64 instant disk fast
metric disk.dev.total u64 counter disk fast count
metric disk.dev.avactive u64 counter disk fast millisec
metric filesys.full f64 discrete filesys polled percent
metric proc.started u64 counter - process count
metric proc.psinfo.utime u64 counter process process nanosec
metric proc.psinfo.stime u64 counter process process nanosec
metric proc.memory.rss u64 instant process process Kbyte
metric proc.io.write_bytes u64 counter process process byte
metric proc.psinfo.sname string discrete process process
metric proc.fd.count u32 instant process costly
metric proc.fd.limit u64 instant process costly
instance interface eth0 eth0
instance disk sda sda
instance filesys / /
instance process 1 000001 init pid=1 start=2026-11-20T02:00:01Z uid=0
instance process 70 000070 worker pid=70 parent=1 start=2026-11-20T02:10:00Z uid=0
boot boot-1 -1h
event 0s recorder start | recorder started
tick static 0s
  hinv.ncpu 2
  mem.physmem 16777216
`

// does is what a metric does where nothing else is said of it.
type does struct{ class, interval, metric, form string }

var quiet = []does{
	{"fast", "1s", "kernel.all.cpu.user", "rate=200 noise=0.3"}, {"fast", "1s", "kernel.all.cpu.sys", "rate=60 noise=0.3"},
	{"fast", "1s", "kernel.all.cpu.nice", "0"}, {"fast", "1s", "kernel.all.blocked", "0"},
	{"fast", "1s", "mem.util.available", "level=12000000 noise=0.01"}, {"fast", "1s", "swap.pagesin", "rate=0"}, {"fast", "1s", "swap.pagesout", "rate=0"},
	{"fast", "1s", "network.interface.in.packets[eth0]", "rate=40 noise=0.5"}, {"fast", "1s", "network.interface.out.packets[eth0]", "rate=30 noise=0.5"},
	{"fast", "1s", "disk.dev.inflight[sda]", "0"}, {"fast", "1s", "disk.dev.total[sda]", "rate=12 noise=0.4"}, {"fast", "1s", "disk.dev.avactive[sda]", "rate=20 noise=0.4"},
	{"polled", "10s", "thermal.pressure.level", "0"}, {"polled", "10s", "network.interface.running[eth0]", "1"}, {"polled", "10s", "filesys.full[/]", "level=40"},
	{"process", "5s", "proc.started", "rate=1.5 noise=0.5"},
	{"process", "5s", "proc.psinfo.utime[70]", "rate=60000000 noise=0.3"}, {"process", "5s", "proc.psinfo.stime[70]", "rate=10000000 noise=0.3"},
	{"process", "5s", "proc.psinfo.utime[1]", "rate=100000"}, {"process", "5s", "proc.psinfo.stime[1]", "rate=100000"}, {"process", "5s", "proc.memory.rss[1]", "level=9000"},
	{"process", "5s", "proc.memory.rss[70]", "level=300000"}, {"process", "5s", "proc.io.write_bytes[70]", "rate=2000"}, {"process", "5s", "proc.psinfo.sname[70]", `"S"`},
	{"costly", "1m", "proc.fd.count[70]", "level=20"},
}

// archive makes a recording in which from 10m to 13m some metrics do something
// else; more stands before the ticks, such as events.
func archive(t *testing.T, trouble map[string]string, more ...string) query.Archive {
	t.Helper()
	return recording(t, quiet, trouble, more...)
}

// recording is an archive of all these metrics.
func recording(t *testing.T, all []does, trouble map[string]string, more ...string) query.Archive {
	t.Helper()
	var b strings.Builder
	b.WriteString(host)
	for _, line := range more {
		fmt.Fprintln(&b, line)
	}
	b.WriteString(ticks(all, trouble, 0))
	parts, err := querytest.Parse(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return querytest.New(parts...)
}

// ticks are twenty minutes of a recording, from an hour on.
func ticks(all []does, trouble map[string]string, hours int) string {
	var b strings.Builder
	at := func(text string) string {
		if hours == 0 {
			return text
		}
		return fmt.Sprintf("%dh%s", hours, text)
	}
	for _, part := range []struct {
		from, to string
		trouble  map[string]string
	}{{"0s", "10m", nil}, {"10m1s", "13m", trouble}, {"13m1s", "20m", nil}} {
		for _, class := range []string{"fast", "polled", "process", "costly", "network"} {
			head := ""
			for _, q := range all {
				if q.class != class {
					continue
				}
				if head == "" {
					from := part.from
					if class == "network" { // A minute is over at its end.
						from = map[string]string{"0s": "59s", "10m1s": "10m59s", "13m1s": "13m59s"}[from]
					}
					head = fmt.Sprintf("every %s %s %s %s", q.interval, at(from), at(part.to), class)
					fmt.Fprintln(&b, head)
				}
				form := q.form
				if other, ok := part.trouble[q.metric]; ok {
					form = other
				}
				fmt.Fprintf(&b, "  %s %s\n", q.metric, form)
			}
			for name, form := range part.trouble {
				if class == "process" && strings.Contains(name, "[99]") || class == "network" && strings.Contains(name, "[r0]") {
					fmt.Fprintf(&b, "  %s %s\n", name, form)
				}
			}
		}
	}
	return b.String()
}

var (
	begin  = time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	minute = func(n float64) int64 { return begin.UnixNano() + int64(n*60e9) }
)

func ask(t *testing.T, a query.Archive, r Request) *Answer {
	t.Helper()
	r.Host, r.Claims = "B1", true
	answer, err := Ask(context.Background(), a, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Lines) == 0 || len(answer.Lines) > mostLines {
		t.Fatalf("%d lines", len(answer.Lines))
	}
	for _, l := range answer.Lines {
		if l.Text == "" || l.Kind == "" || len(l.More) == 0 {
			t.Errorf("incomplete: %+v", l)
		}
	}
	return answer
}

// window is the one in which the trouble is.
var window = query.Window{From: minute(9), To: minute(14)}

const looper = "instance process 99 000099 looper pid=99 parent=1 start=2026-11-20T03:10:00Z uid=0"

// exits are events of processes that end every so often.
func exits(name, how string, from, every, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("event %ds process exit | %s ended: %s | indom=process key=e%d pid=%d name=%s parent=1 how=%s",
			from+i*every, name, strings.ReplaceAll(how, "_", " "), i, 1000+i, name, how))
	}
	return out
}

// Each kind of trouble comes first, however it is asked for.
func TestDetectors(t *testing.T) {
	for _, c := range []struct {
		name    string
		trouble map[string]string
		more    []string
		kind    string
		says    []string
	}{
		{"runaway", map[string]string{"kernel.all.cpu.user": "rate=1200 noise=0.1", "proc.psinfo.utime[99]": "rate=980000000", "proc.psinfo.stime[99]": "rate=1000000",
			"proc.memory.rss[99]": "level=4000"}, []string{looper}, "runaway", []string{"looper (pid 99", "98 % of a core", "from 03:10:0"}},
		{"memory", map[string]string{"mem.util.available": "level=12000000 drift=-60000", "swap.pagesout": "rate=3000", "proc.psinfo.utime[99]": "rate=50000000",
			"proc.psinfo.stime[99]": "rate=1000000", "proc.memory.rss[99]": "level=10000 drift=60000"}, []string{looper}, "memory",
			[]string{"looper (pid 99", "of all memory", "swapping out 3000 pages a second"}},
		{"swap alone", map[string]string{"swap.pagesin": "rate=6000"}, nil, "swap.in", []string{"6000 pages a second", "calm: 0"}},
		{"thermal", map[string]string{"thermal.pressure.level": "2"}, nil, "thermal", []string{"throttled itself against heat", "level 2"}},
		{"births", map[string]string{"proc.started": "rate=220"}, exits("spawned", "exit_0", 605, 1, 100), "births", []string{"220 processes began each second", "spawned", "init (pid 1)"}},
		{"crash loop", nil, exits("service", "exit_3", 610, 4, 30), "crash loop", []string{"service failed and was started again", "30 times", "every 4 s", "exit 3", "init (pid 1)"}},
		{"crash", nil, exits("editor", "signal_11_core", 700, 1, 1), "death", []string{"editor (pid 1000)", "03:11:40"}},
		{"volume fills", map[string]string{"filesys.full[/]": "level=40 drift=0.25"}, nil, "volume", []string{"volume / filled up: 40 %", "at that pace full in"}},
		{"volume full", map[string]string{"filesys.full[/]": "level=97 drift=0.016"}, nil, "volume", []string{"volume / filled up", "100 % at"}},
		{"hung disk", map[string]string{"disk.dev.inflight[sda]": "3", "disk.dev.total[sda]": "rate=0", "disk.dev.avactive[sda]": "rate=1000", "kernel.all.blocked": "2"}, nil,
			"hung disk", []string{"disk sda hung: 3 requests", "none finished"}},
		{"busy disk", map[string]string{"disk.dev.total[sda]": "rate=900", "disk.dev.avactive[sda]": "rate=990"}, nil, "busy disk", []string{"disk sda was 99 % busy"}},
		{"flood", map[string]string{"network.interface.in.packets[eth0]": "rate=90000"}, nil, "network", []string{"network eth0", "90 k packets a second came in"}},
		{"link", map[string]string{"network.interface.running[eth0]": "0"}, nil, "link", []string{"network eth0 lost or got its link 2 times"}},
		{"descriptors", map[string]string{"proc.fd.count[70]": "level=9000"}, nil, "growth", []string{"worker (pid 70)", "9000 open files"}},
		{"a limit that was not recorded", map[string]string{"proc.fd.count[70]": "level=4078"}, nil, "growth", []string{"worker (pid 70) came to hold 4078 open files", "a limit of 4096 is likely"}},
		{"killed for memory", nil, append(exits("victim", "signal_9", 690, 1, 1), "event 690s memory pressure | the kernel killed a process for lack of memory | count=1"),
			"memory pressure", []string{"the kernel killed a process for lack of memory", "victim (pid 1000)"}},
		{"clock", nil, []string{"event 690s clock step | the clock was set forward by 1h"}, "clock step", []string{"set forward by 1h"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := archive(t, c.trouble, c.more...)
			for how, r := range map[string]Request{"window": {Window: window}, "at": {At: minute(11.6)}, "all": {}} {
				answer := ask(t, a, r)
				first := answer.Lines[0]
				if !answer.Found || first.Kind != c.kind {
					t.Errorf("%s: found %v, %+v", how, answer.Found, answer.Lines)
					continue
				}
				for _, says := range c.says {
					if !strings.Contains(first.Text, says) {
						t.Errorf("%s: no %q in %q", how, says, first.Text)
					}
				}
			}
		})
	}
}

// Where nothing happened it says so, in one line.
func TestCalm(t *testing.T) {
	a := archive(t, nil)
	for how, r := range map[string]Request{"window": {Window: window}, "at": {At: minute(11)}, "all": {}, "early": {Window: query.Window{From: minute(0), To: minute(2)}}} {
		answer := ask(t, a, r)
		if answer.Found || len(answer.Lines) != 1 || answer.Lines[0].Kind != "nothing" || !strings.HasPrefix(answer.Lines[0].Text, "nothing out of the ordinary") {
			t.Errorf("%s: %+v", how, answer.Lines)
		}
	}
}

// Commands of a script that say no by ending with 1 are no crash loop, however long
// they do.
func TestNoIsNoCrash(t *testing.T) {
	for n, found := range map[int]bool{9: false, 60: false} {
		answer := ask(t, archive(t, nil, exits("grep", "exit_1", 610, 1, n)...), Request{Window: window})
		if answer.Found != found {
			t.Errorf("%d times: %+v", n, answer.Lines)
		}
	}
}

// What is before and after the recording is told to be.
func TestOutside(t *testing.T) {
	a := archive(t, nil)
	for at, says := range map[float64]string{-30: "the recording begins at 03:00:00", 300: "the recording ended at 03:20:00"} {
		answer := ask(t, a, Request{At: minute(at)})
		if answer.Found || !strings.Contains(answer.Lines[0].Text, says) {
			t.Errorf("%v: %+v", at, answer.Lines)
		}
	}
}

// The calm stretch is one before the trouble, and none of it.
func TestCalmStretch(t *testing.T) {
	a := archive(t, map[string]string{"kernel.all.cpu.user": "rate=1900"})
	answer := ask(t, a, Request{Window: window})
	if c := answer.Calm; c.To == 0 || c.To > window.From+int64(time.Second) {
		t.Errorf("calm from %v to %v", time.Unix(0, c.From).UTC(), time.Unix(0, c.To).UTC())
	}
}

// What a process did and how it ended is one line.
func TestEndIsToldOnce(t *testing.T) {
	grows := map[string]string{"mem.util.available": "level=12000000 drift=-60000", "proc.psinfo.utime[99]": "rate=50000000", "proc.psinfo.stime[99]": "rate=1000000",
		"proc.memory.rss[99]": "level=10000 drift=60000"}
	killed := "event 780s process exit | looper ended: signal 9 | indom=process key=99 pid=99 name=looper parent=1 how=signal_9"
	answer := ask(t, archive(t, grows, looper, killed), Request{At: minute(12)})
	if text := answer.Lines[0].Text; answer.Lines[0].Kind != "memory" || !strings.Contains(text, "it ended at 03:13:00: signal 9 and did not come back") {
		t.Errorf("%s", text)
	}
	for _, l := range answer.Lines[1:] {
		if l.Kind == "death" {
			t.Errorf("its end is told again: %s", l.Text)
		}
	}
}

// Where the worst minutes show nothing, all of the recording is looked at.
func TestTheWholeRecording(t *testing.T) {
	// The server ends before the disk does more than usual, which is no trouble.
	server := map[string]string{"proc.psinfo.utime[99]": "rate=2000000", "proc.psinfo.stime[99]": "rate=1000000", "proc.memory.rss[99]": "level=4000"}
	killed := "event 780s process exit | looper ended: signal 9 | indom=process key=99 pid=99 name=looper parent=1 how=signal_9"
	later := []string{looper}
	for _, part := range []struct{ from, to, form string }{{"20m1s", "26m", "rate=20"}, {"26m1s", "30m", "rate=95"}, {"30m1s", "40m", "rate=20"}} {
		later = append(later, fmt.Sprintf("every 1s %s %s fast", part.from, part.to))
		for _, d := range quiet {
			if form := d.form; d.class == "fast" {
				if d.metric == "disk.dev.avactive[sda]" {
					form = part.form
				}
				later = append(later, "  "+d.metric+" "+form)
			}
		}
	}
	answer := ask(t, archive(t, server, append(later, killed)...), Request{})
	if !answer.Found || answer.Lines[0].Kind != "death" || answer.How != "the whole recording" {
		t.Errorf("%s: %+v", answer.How, answer.Lines[0])
	}
	if answer := ask(t, archive(t, nil, later...), Request{}); answer.Found || answer.Window.From != minute(0) {
		t.Errorf("nothing happened, and it says of the time from %d: %+v", answer.Window.From, answer.Lines[0])
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Ask(ctx, archive(t, nil), Request{Host: "B1"}); err != context.Canceled {
		t.Errorf("%v", err)
	}
	if _, err := Ask(context.Background(), archive(t, nil), Request{Host: "nobody"}); err == nil {
		t.Error("a host that was not recorded is answered for")
	}
}

// Causes come before what they explain, which is told in their lines.
func TestRank(t *testing.T) {
	const slack = 10
	hog := &finding{kind: "memory", cause: true, topic: "memory", explains: []string{"memory", "swap"}, since: 100, until: 300, weight: 0.5, text: "hog grew"}
	late := &finding{kind: "memory", cause: true, topic: "memory", explains: []string{"memory", "swap"}, since: 250, until: 300, weight: 0.6, text: "late grew"}
	swap := &finding{kind: "swap", topic: "swap", since: 150, until: 300, weight: 0.8, text: "it swapped", brief: "swapping"}
	disk := &finding{kind: "disk", topic: "disk", since: 150, until: 300, weight: 0.4, text: "disk was busy", brief: "disk busy"}
	faint := &finding{kind: "faint", topic: "x", weight: 0.1, text: "hardly anything"}
	got := rank([]*finding{swap, late, faint, disk, hog}, slack, func(_, _ *finding) bool { return true })
	var texts []string
	for _, f := range got {
		texts = append(texts, f.text)
	}
	want := "hog grew; swapping | late grew | disk was busy"
	if s := strings.Join(texts, " | "); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
	if len(rank(nil, slack, nil)) != 0 {
		t.Error("something of nothing")
	}
}

// A stretch bridges what was not read, and ends where all is well for longer.
func TestEpisodes(t *testing.T) {
	for _, c := range []struct {
		name     string
		x        string // one letter a slot: . calm, # trouble, blank not read
		gap      int
		from, to int
	}{
		{"one", "..........######..........", 1, 10, 16},
		{"bridged", "..........###..###........", 1, 10, 18},
		{"two", "..........##.....#####....", 1, 17, 22},
		{"polled", ".    .    #    #    .    .", 5, 10, 16},
		{"none", "..........................", 1, -1, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &question{field: &field{width: 1e9, n: len(c.x)}, w: query.Window{From: 8e9, To: int64(len(c.x)) * 1e9}, calm: query.Window{From: 0, To: 8e9}}
			one := &course{gap: c.gap, signal: &signal{}}
			for _, r := range c.x {
				one.x = append(one.x, map[rune]float64{'.': 0.1, '#': 5, ' ': nan}[r])
			}
			e := q.find(one, 1, func(x float64) float64 { return x })
			switch {
			case e == nil && c.from >= 0:
				t.Error("not found")
			case e != nil && (e.from != c.from || e.to != c.to):
				t.Errorf("from %d to %d, want %d to %d", e.from, e.to, c.from, c.to)
			}
		})
	}
}

var nan = math.NaN()
