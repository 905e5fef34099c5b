package said

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/klog"
	"tachograph/sample/metric"
	"tachograph/sample/report"
	"tachograph/sample/software"
	"tachograph/sample/systemd"
)

// scripted says what a test has it say.
type scripted struct {
	facts []Fact
	err   error
	since time.Time
}

func (s *scripted) look(_ metric.Stamp, since time.Time, found func(Fact)) error {
	s.since = since
	for _, f := range s.facts {
		found(f)
	}
	s.facts = nil
	return s.err
}

func (*scripted) close() {}

// rig reads a source, with a clock of its own.
type rig struct {
	t      *testing.T
	now    metric.Stamp
	source *Source
	events []metric.Event
	frame  *sample.Frame
}

var begin0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newRig(t *testing.T, whose Whose, readers ...reader) *rig {
	r := &rig{t: t, now: metric.Stamp{Wall: begin0.UnixNano(), Awake: int64(time.Hour), Cont: int64(2 * time.Hour)}}
	r.source = newSource(catalog.Linux, begin0, whose, readers...)
	r.frame = sample.NewFrame(r.source.group, func(*metric.Desc) bool { return true })
	return r
}

func (r *rig) read(after time.Duration) map[string]uint64 {
	r.t.Helper()
	r.now.Wall, r.now.Awake, r.now.Cont = r.now.Wall+int64(after), r.now.Awake+int64(after), r.now.Cont+int64(after)
	r.events = nil
	c := &sample.Context{Now: func() metric.Stamp { return r.now }, Emit: func(e metric.Event) { r.events = append(r.events, e) }}
	if err := r.source.Read(c, []*sample.Frame{r.frame}); err != nil {
		r.t.Fatal(err)
	}
	values := make(map[string]uint64)
	b := r.frame.Block()
	for i, d := range b.Group.Metrics {
		values[strings.TrimPrefix(d.Name, "system.report.")] = b.Cols[i].Bits[0]
	}
	return values
}

// An event about a process has its key and its owners, and is stamped with its own time.
func TestEventsOfProcesses(t *testing.T) {
	s := &scripted{facts: []Fact{{Kind: metric.EventCrash, At: begin0.Add(-time.Minute), Text: "x crashed", PID: 7}, {Kind: metric.EventHang, At: begin0, Text: "y", PID: 8}}}
	r := newRig(t, func(f *Fact) (Who, bool) {
		return Who{"7/1", []metric.Label{{Name: "service", Value: "x.service"}}}, f.PID == 7 && f.At.Equal(begin0.Add(-time.Minute))
	}, s)
	got := r.read(0)
	if got["crashes"] != 1 || got["hangs"] != 1 || got["suppressed"] != 0 {
		t.Errorf("%v", got)
	}
	e := r.events[0]
	if e.Indom != "process" || e.Key != "7/1" || e.Label("service") != "x.service" || e.Label("pid") != "7" || e.At.Cont != int64(2*time.Hour-time.Minute) {
		t.Errorf("%+v", e)
	}
	if e := r.events[1]; e.Indom != "" || e.Key != "" || e.Label("pid") != "8" {
		t.Errorf("%+v", e)
	}
	if got := r.read(time.Second); len(r.events) != 0 || got["crashes"] != 1 {
		t.Errorf("%v, %v", got, r.events)
	}
}

// What happened before the boot has only the wall clock. A panic has ended a boot, and is reported
// in the next one.
func TestBeforeTheBoot(t *testing.T) {
	at := func(ago time.Duration) metric.Stamp { return metric.Stamp{Wall: begin0.Add(-ago).UnixNano()} }
	r := newRig(t, nil, &scripted{facts: []Fact{
		{Kind: metric.EventPanic, At: begin0.Add(-3 * time.Hour), Text: "panic"}, {Kind: metric.EventPanic, At: begin0, Text: "panic"},
		{Kind: metric.EventCrash, At: begin0.Add(-2*time.Hour - 1), Text: "x crashed"},
	}})
	r.read(0)
	for i, want := range []metric.Stamp{at(3 * time.Hour), at(2*time.Hour + time.Millisecond), at(2*time.Hour + 1)} {
		if r.events[i].At != want {
			t.Errorf("event %d at %+v, want %+v", i, r.events[i].At, want)
		}
	}
}

// A core dump that is in the journal has no second event because its file is there, though the file
// is there first, and only files that are new have one.
func TestCoreDumps(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "var/lib/systemd/coredump")
	os.MkdirAll(dir, 0o755)
	boot := strings.Repeat("0", 32)
	at := func(seconds int) time.Time { return begin0.Add(time.Duration(seconds) * time.Second) }
	now := 0
	dump := func(comm string, pid, second int) {
		os.WriteFile(filepath.Join(dir, fmt.Sprintf("core.%s.0.%s.%d.%d", comm, boot, pid, at(second).UnixMicro())), nil, 0o644)
		os.Chtimes(dir, at(now), at(now))
	}
	d := newDumps(root)
	look := func(second int, want string) {
		t.Helper()
		now = second
		got := ""
		if err := d.look(metric.Stamp{Wall: at(now).UnixNano()}, begin0, func(f Fact) { got += f.label("name") + " " }); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	entry := func(pid, second int) {
		j := &journal{dumps: d}
		j.entry(&systemd.Entry{Kind: systemd.Coredump, Facts: &systemd.Facts{Crash: &systemd.Crash{PID: pid, At: at(second)}}})
	}
	dump("old", 1, -3600)
	dump("a", 2, 1)
	look(5, "a ") // nobody reads a journal
	d.read = true
	dump("b", 3, 2) // in the same tick as the look, of a crash before another that is known
	dump("c", 4, 4)
	look(15, "")
	entry(4, 4)
	look(20, "")
	look(301, "")
	look(303, "b ")
	dump("d", 5, 310)
	entry(5, 310)
	look(315, "")
	dump("e", 6, 320)
	d.more = true // its entry may be among those that were not read
	look(700, "")
	d.more = false
	look(701, "e ")
	look(1000, "")
}

// Why a directory cannot be read is said until it can be, and what was there before has no second
// event then.
func TestDumpsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	os.Chtimes(dir, begin0, begin0)
	var refused error
	d := &dumps{folders: []dumpFolder{{path: dir, list: func(string) ([]dumped, error) {
		if refused != nil {
			return nil, refused
		}
		return []dumped{{fact: Fact{Text: "panic"}, path: "a", at: begin0}}, nil
	}}}}
	changed := 0
	look := func(want int) error {
		t.Helper()
		got := 0
		err := d.look(metric.Stamp{Wall: begin0.Add(time.Hour).UnixNano()}, begin0.Add(-time.Second), func(Fact) { got++ })
		if got != want {
			t.Errorf("%d events, want %d", got, want)
		}
		return err
	}
	change := func(err error) {
		refused = err
		changed++
		at := begin0.Add(time.Duration(changed) * time.Minute)
		os.Chtimes(dir, at, at)
	}
	if err := look(1); err != nil {
		t.Error(err)
	}
	change(os.ErrPermission)
	for range 2 {
		if err := look(0); !errors.Is(err, os.ErrPermission) {
			t.Error(err)
		}
	}
	change(nil)
	if err := look(0); err != nil {
		t.Error(err)
	}
}

// A flood is a number of events a second in the long run, and the rest is counted by kind.
func TestFloods(t *testing.T) {
	flood := func(n int) []Fact {
		var all []Fact
		for i := range n {
			f := Fact{Kind: metric.EventKernel, At: begin0, Text: fmt.Sprint("line ", i)}
			f.add("rule", []string{"i/o error", "ata reset"}[i%2])
			all = append(all, f)
		}
		return all
	}
	s := &scripted{facts: flood(10_000)}
	r := newRig(t, nil, s)
	got := r.read(0)
	if got["kernel"] != 10_000 || got["suppressed"] != 10_000-atOnce || len(r.events) != atOnce+2 {
		t.Errorf("%v, %d events", got, len(r.events))
	}
	if e := r.events[atOnce]; e.Label("more") != fmt.Sprint((10_000-atOnce)/2) || e.Label("rule") == "" {
		t.Errorf("%+v", e)
	}
	n := 0
	for range 60 {
		s.facts = flood(1000)
		r.read(10 * time.Second)
		n += len(r.events) - 2
	}
	if n != 600*perSecond {
		t.Errorf("%d events in ten minutes, want %d", n, 600*perSecond)
	}
}

func TestSinceAndNotice(t *testing.T) {
	s := &scripted{err: errors.New("the journal: permission denied")}
	r := newRig(t, nil, s)
	r.source.Since(begin0.Add(-time.Hour))
	r.source.Since(begin0.Add(time.Hour)) // later than it begins anyway
	r.read(0)
	if want := begin0.Add(-time.Hour); !s.since.Equal(want) || r.source.Notice() != "the journal: permission denied" {
		t.Errorf("since %s, %q", s.since, r.source.Notice())
	}
	s.err = nil
	if r.read(0); r.source.Notice() != "" {
		t.Error(r.source.Notice())
	}
}

// An app that updated itself is reported, unless an installer has written it down.
func TestUpdatesOfApps(t *testing.T) {
	a := &apps{func() []software.Change {
		return []software.Change{software.Update(begin0, "Chrome", "131", "132"), software.Update(begin0, "Xcode", "16.0", "16.1")}
	}, &installHistory{versions: map[string]string{"Xcode": "16.1", "Chrome": "90"}}}
	var got []string
	for range 2 {
		a.look(metric.Stamp{}, begin0, func(f Fact) { got = append(got, f.Text+" "+f.label("source")+" "+f.label("is")) })
		a.updates = nil
	}
	if want := []string{"Chrome 131 → 132 (app bundle) app bundle 132"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// show writes facts as a golden file has them.
func show(b *strings.Builder, facts ...Fact) {
	for _, f := range facts {
		fmt.Fprintf(b, "  %s: %s\n", f.Kind, f.Text)
		if f.PID != 0 {
			fmt.Fprintf(b, "    pid %d\n", f.PID)
		}
		for _, l := range f.Label {
			fmt.Fprintf(b, "    %s = %s\n", l.Name, l.Value)
		}
	}
}

// TestSentences shows what becomes of each report of package report's tests, of lines and entries.
func TestSentences(t *testing.T) {
	var b strings.Builder
	files, err := filepath.Glob("../report/testdata/*.*")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d reports, %v", len(files), err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := report.Parse(f, filepath.Base(name))
		f.Close()
		if r == nil {
			continue
		}
		fmt.Fprintf(&b, "%s\n", filepath.Base(name))
		show(&b, reported(&report.Located{Report: r, Path: name})...)
	}
	var lines klog.Reader
	for _, text := range []string{
		"oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/shop.slice,task_memcg=/shop.slice/cart.service,task=cart,pid=4711,uid=33",
		"Memory cgroup out of memory: Killed process 4711 (cart) total-vm:2048kB, anon-rss:1024kB, file-rss:4kB",
		"worker[99]: segfault at 10 ip 000055d0c0a01139 sp 00007ffd0 error 4 in worker[55d0c0a01000+1000]",
		"INFO: task jbd2/sda1-8:312 blocked for more than 122 seconds.",
		"I/O error, dev sdb, sector 123 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
		"EXT4-fs (sda1): Remounting filesystem read-only",
		"r8169 0000:02:00.0 eth0: Link is Up - 1Gbps/Full - flow control off",
	} {
		if found, ok := lines.Read(klog.Line{Kernel: true, Level: 4, Text: text}); ok {
			fmt.Fprintf(&b, "%s\n", text)
			show(&b, line("kernel", found, begin0))
		}
	}
	j := &journal{}
	for _, e := range []systemd.Entry{
		{Kind: systemd.UnitFailed, Facts: &systemd.Facts{Unit: "nginx.service", Result: "exit-code"}},
		{Kind: systemd.UnitRestart, Facts: &systemd.Facts{Unit: "nginx.service", Restarts: 3}},
		{Kind: systemd.UnitOOMD, Facts: &systemd.Facts{Unit: "app.slice"}},
		{Kind: systemd.Coredump, Facts: &systemd.Facts{Unit: "nginx.service", Crash: &systemd.Crash{PID: 9, SignalName: "SIGSEGV", Comm: "nginx", Package: "nginx", Version: "1.28", Stack: []string{"ngx_http_handler (nginx + 0x10)"}}}},
		{Kind: systemd.UnitStarted, Facts: &systemd.Facts{Unit: "nginx.service"}},
		{Message: "a plain entry"},
	} {
		fmt.Fprintf(&b, "entry of kind %d\n", e.Kind)
		if f, ok := j.entry(&e); ok {
			show(&b, f)
		}
	}
	b.WriteString("changes\n")
	for _, c := range []software.Change{
		{Verb: software.Changed, Package: "nginx", Was: "1.26.3-1", Is: "1.28.0-1"}, {Verb: software.Installed, Package: "curl", Is: "8"},
		{Verb: software.Removed, Package: "curl", Was: "8"}, {Verb: software.Reinstalled, Package: "curl", Was: "8", Is: "8"},
	} {
		show(&b, change("dpkg", c))
	}
	const golden = "testdata/sentences.txt"
	if os.Getenv("TACHO_UPDATE") != "" {
		os.MkdirAll("testdata", 0o755)
		os.WriteFile(golden, []byte(b.String()), 0o644)
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != b.String() {
		t.Errorf("%s has changed, or %v: TACHO_UPDATE=1 writes it\n%s", golden, err, b.String())
	}
}

func TestNamesOfReportsWithoutTheHost(t *testing.T) {
	for name, want := range map[string]string{
		"Safari-2026-02-08-225816.ips":                                       "Safari-2026-02-08-225816.ips",
		"fileproviderd_2026-02-08-225816_Annas-Mac.cpu_resource.diag":        "fileproviderd_2026-02-08-225816.cpu_resource.diag",
		"fileproviderd_2026-02-08-225816_anna.example.com.cpu_resource.diag": "fileproviderd_2026-02-08-225816.cpu_resource.diag",
		"x_2026-02-08-225816_Annas_Mac.hang":                                 "x_2026-02-08-225816.hang",
		"shutdown_stall_2026-02-08-225816_Annas-Mac.shutdownStall":           "shutdown_stall_2026-02-08-225816.shutdownStall",
		"JetsamEvent-2026-02-08-225816.ips":                                  "JetsamEvent-2026-02-08-225816.ips",
	} {
		if got := withoutHost(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
