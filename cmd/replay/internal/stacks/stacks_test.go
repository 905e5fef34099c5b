package stacks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/stacks"
	"tachograph/cmd/replay/internal/stacks/stackstest"
	"tachograph/sample/stack"
	"tachograph/store"
	"tachograph/store/query"
)

// read is the profile of an archive's stacks.
func read(t *testing.T, r stacks.Request, seconds ...[]stack.Sample) *stacks.Profile {
	t.Helper()
	return readFile(t, stackstest.Write(t, seconds...), r)
}

func readFile(t *testing.T, path string, r stacks.Request) *stacks.Profile {
	t.Helper()
	a, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return stacks.Read(a, r)
}

func folded(t *testing.T, p *stacks.Profile, by stacks.By, state stacks.State) string {
	t.Helper()
	var b strings.Builder
	if err := p.WriteFolded(&b, by, state); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const incident = `indexer (612);__libc_start_main;main;flush 2
indexer (612);__libc_start_main;main;flush;write;ksys_write;io_schedule 196
indexer (612);__libc_start_main;main;indexer::parse;engine::Scanner::scan 140
indexer (612);__libc_start_main;main;indexer::parse;engine::Scanner::scan;libengine.so+0x900 20
indexer (612);__libc_start_main;main;indexer::parse;malloc 38
bash (90);wait4;do_wait 198
`

func TestRead(t *testing.T) {
	path := stackstest.Write(t, stackstest.Incident()...)
	all := readFile(t, path, stacks.Request{})
	if got := folded(t, all, stacks.ByProcess, stacks.Any); got != incident {
		t.Errorf("the stacks are\n%swant\n%s", got, incident)
	}
	if all.Host.Name != "vm" || all.Unnamed != 1 || all.Lost != 0 {
		t.Errorf("host %s, %d without a name, %d lost", all.Host.Name, all.Unnamed, all.Lost)
	}
	const running = `main (612);__libc_start_main;main;indexer::parse;engine::Scanner::scan 75
main (612);__libc_start_main;main;indexer::parse;engine::Scanner::scan;libengine.so+0x900 10
main (612);__libc_start_main;main;indexer::parse;malloc 14
`
	second := readFile(t, path, stacks.Request{
		Window: query.Window{From: stackstest.At(2e9).Wall},
		Of:     func(t *stacks.Thread) bool { return t.TID == "612" },
	})
	if got := strings.ReplaceAll(folded(t, second, stacks.ByProcess, stacks.Running), "indexer (612)", "main (612)"); got != running {
		t.Errorf("in the second second the thread runs\n%swant\n%s", got, running)
	}
	if got := folded(t, all, stacks.ByThread, stacks.Waiting); !strings.HasPrefix(got, "bash (90);thread (90);wait4;do_wait 198\nindexer (612);writer (613);__libc_start_main;") {
		t.Errorf("by thread they wait\n%s", got)
	}
}

// A function of an interpreter is the same at all its lines. One of that name in another file, or
// that begins at another line, is another.
func TestInterpreted(t *testing.T) {
	python := func(file string, start, line int) stack.Frame {
		return stack.Frame{Name: "run", File: "/srv/" + file, Start: start, Line: line}
	}
	s := func(f stack.Frame) stack.Sample {
		return stack.Sample{Thread: stack.Thread{PID: 7, Command: "python3", TID: 7}, Frames: stackstest.Frames(python("main.py", 1, 9), f), Count: 1}
	}
	p := read(t, stacks.Request{}, []stack.Sample{s(python("a.py", 5, 6)), s(python("a.py", 5, 7)), s(python("a.py", 8, 9)), s(python("b.py", 5, 6))})
	var got []string
	for _, h := range p.Hottest(stacks.Any) {
		got = append(got, fmt.Sprint(p.FunctionText(h.Function), " ", h.Self, " ", h.Total))
	}
	slices.Sort(got)
	if want := "run (a.py:5) 2 2; run (a.py:8) 1 1; run (b.py:5) 1 1; run (main.py:1) 0 4"; strings.Join(got, "; ") != want {
		t.Errorf("%s, want %s", strings.Join(got, "; "), want)
	}
	if tree := p.Tree(stacks.ByNothing, stacks.Any); len(tree.Children) != 1 || len(tree.Children[0].Children) != 3 {
		t.Errorf("%d functions call %d", len(tree.Children), len(tree.Children[0].Children))
	}
	for i := range p.Places {
		if at := &p.Places[i]; at.Line < 6 || at.Line > 9 {
			t.Errorf("%+v", at)
		}
	}
}

// What has no name in the archive is looked up by the identity of its file: of a frame that
// called another, the instruction before the one that it returns to.
func TestSymbols(t *testing.T) {
	app := stackstest.App
	deep := []stack.Sample{{Thread: stack.Thread{PID: 1, Command: "a"}, Count: 1,
		Frames: stackstest.Frames(stackstest.In(app, 0x200, ""), stackstest.In(app, 0x300, ""), stackstest.In(stackstest.Libc, 0x300, ""))}}
	p := read(t, stacks.Request{Symbols: func(m *stack.Image, at uint64) (name, file string, line int, ok bool) {
		return fmt.Sprintf("_ZN1f4g%03xEi", at), "f.cc", int(at), m.ID == app.ID
	}}, deep)
	if got, want := folded(t, p, stacks.ByNothing, stacks.Any), "f::g1ff;f::g2ff;libc.so.6+0x300 1\n"; got != want {
		t.Errorf("with symbols %q, want %q", got, want)
	}
}

// What one session could name, a later one names as well, and it is one branch: by the
// identity of the image, wherever that lay and whether its path was known. Another place, and
// another image of the same path, have no name by that.
func TestNamesOfOtherSessions(t *testing.T) {
	app := stackstest.App
	bare := &stack.Image{ID: app.ID, Base: 0x1000}
	updated := &stack.Image{Path: app.Path, ID: "another", Base: app.Base}
	one := func(frames ...stack.Frame) stack.Sample {
		return stack.Sample{Thread: stack.Thread{PID: 1, Command: "a"}, Count: 1, Frames: stackstest.Frames(frames...)}
	}
	named := one(stackstest.In(app, 0x3f24, "main"), stackstest.In(app, 0x4010, "compute"))
	later := []stack.Sample{
		one(stackstest.In(bare, 0x3f24, ""), stackstest.In(bare, 0x4010, "")),
		one(stackstest.In(bare, 0x3f24, ""), stackstest.In(bare, 0x4014, "")),
		one(stackstest.In(updated, 0x3f24, "")),
	}
	path := stackstest.Write(t, []stack.Sample{named}, later)
	for from, want := range map[int64]string{
		0:                       "main;compute 2\nmain;indexer+0x4014 1\nindexer+0x3f24 1\n",
		stackstest.At(2e9).Wall: "main;compute 1\nmain;0x4014 1\nindexer+0x3f24 1\n",
	} {
		p := readFile(t, path, stacks.Request{Window: query.Window{From: from}})
		got := strings.Split(strings.TrimSuffix(folded(t, p, stacks.ByNothing, stacks.Any), "\n"), "\n")
		wants := strings.Split(strings.TrimSuffix(want, "\n"), "\n")
		slices.Sort(got)
		slices.Sort(wants)
		if !slices.Equal(got, wants) {
			t.Errorf("from %d: %q, want %q", from, got, wants)
		}
	}
}

// A walk along a process's stack names functions and knows the image's path; a stackshot of the
// same program, loaded elsewhere, may know neither. Both are the same functions.
func TestWalkAndStackshot(t *testing.T) {
	const id, cache = "AABBCCDD-0011-2233-4455-66778899AABB", "11111111-2222-3333-4444-555555555555"
	walked := &stack.Image{Path: "/Applications/App.app/Contents/MacOS/App", ID: id, Base: 0x104a30000, Cache: true, CacheID: cache, CacheSlide: 0x4c4000}
	shot := &stack.Image{ID: id, Base: 0x104a30000 + 0x1000000, Cache: true, CacheID: cache, CacheSlide: 0x4c4000 + 0x1000000}
	frames := func(m *stack.Image, main, parse, load string) []stack.Frame {
		return stackstest.Frames(stackstest.In(m, 0x3f10, main), stackstest.In(m, 0x4010, parse), stackstest.In(m, 0x5010, load))
	}
	names := map[uint64]string{0x3f1f: "main", 0x401f: "_ZN3app5parseEi", 0x5020: "$s3app4load4fromySS_tF"}
	other := frames(shot, "", "", "")
	for i := range other { // other places in the same functions
		other[i].Address += 0x10
	}
	thread := stack.Thread{PID: 7, Command: "app"}
	p := read(t, stacks.Request{Symbols: func(m *stack.Image, at uint64) (name, file string, line int, ok bool) {
		if m.ID != id || m.Base-m.CacheSlide != walked.Base-walked.CacheSlide || m.CacheID != cache {
			t.Errorf("asked for %+v", m)
		}
		return names[at], "", 0, names[at] != ""
	}}, []stack.Sample{
		{Thread: thread, Count: 3, Frames: frames(walked, "main", "__ZN3app5parseEi", "_$s3app4load4fromySS_tF")},
		{Thread: thread, Count: 2, Frames: other},
	})
	if got, want := folded(t, p, stacks.ByNothing, stacks.Any), "main;app::parse;app.load(from:) 5\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if len(p.Functions) != 3 || p.Unnamed != 0 {
		t.Errorf("%+v", p.Functions)
	}
}

func TestDemangled(t *testing.T) {
	for s, want := range map[string]string{
		"":                                       "",
		"main":                                   "main",
		"_main":                                  "_main",
		"runtime.goexit":                         "runtime.goexit",
		"_ZN3foo3barEiPKc":                       "foo::bar",
		"__ZN3foo3barEiPKc":                      "foo::bar",
		"_ZNSt6vectorIiE4pushEi":                 "std::vector<int>::push",
		"_RNvCs1234_7mycrate3foo":                "mycrate::foo",
		"_ZN4core3fmt5write17h0123456789abcdefE": "core::fmt::write",
		"$s4main3fooyyF":                         "main.foo()",
		"_Zbroken":                               "_Zbroken",
		"_Z" + strings.Repeat("N", 5000):         "_Z" + strings.Repeat("N", 5000),
	} {
		if got := stacks.Demangled(s); got != want {
			t.Errorf("%.40q is %.40q, want %.40q", s, got, want)
		}
	}
}

// A function that calls itself counts once for each sample.
func TestHottest(t *testing.T) {
	f, g := stackstest.In(stackstest.App, 1, "f"), stackstest.In(stackstest.App, 2, "g")
	th := stack.Thread{PID: 1, Command: "a"}
	p := read(t, stacks.Request{}, []stack.Sample{
		{Thread: th, Count: 3, Frames: stackstest.Frames(f, g, f, g)},
		{Thread: th, Count: 2, Frames: stackstest.Frames(f), State: stack.Waiting},
	})
	var got []string
	for _, h := range p.Hottest(stacks.Any) {
		got = append(got, fmt.Sprintf("%s %d %d %d", p.Functions[h.Function].Name, h.Self, h.Total, h.Running))
	}
	if s := strings.Join(got, ", "); s != "g 3 3 3, f 2 5 0" {
		t.Errorf("hottest are %s", s)
	}
	if hot := p.Hottest(stacks.Waiting); len(hot) != 1 || hot[0].Self != 2 {
		t.Errorf("of those that wait: %v", hot)
	}
}

func TestNear(t *testing.T) {
	some := stackstest.Incident()[0]
	a, err := store.Open(stackstest.Write(t, some, some, nil, nil, nil, nil, nil, nil, nil, nil, some, some, some))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, c := range []struct{ at, from, to int64 }{
		{1, 1, 2}, {-500, 1, 2}, {6, 1, 2}, {7, 11, 13}, {12, 11, 13}, {600, 11, 13}, {-600, 0, 0}, {614, 0, 0},
	} {
		w, ok := stacks.Near(a, "host-vm", stackstest.At(0).Wall+c.at*1e9, 600e9)
		if from, to := (w.From-stackstest.At(0).Wall)/1e9, (w.To-stackstest.At(0).Wall)/1e9; ok != (c.to != 0) || ok && (from != c.from || to != c.to) {
			t.Errorf("near %d s: %d to %d, %v; want %d to %d", c.at, from, to, ok, c.from, c.to)
		}
	}
	if _, ok := stacks.Near(a, "another", stackstest.At(0).Wall, 600e9); ok {
		t.Error("another host has stacks")
	}
}

// Go's own tool for profiles reads them, with the same numbers.
func TestPprof(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("go is not installed")
	}
	p := read(t, stacks.Request{}, stackstest.Incident()...)
	path := filepath.Join(t.TempDir(), "profile.pb.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WritePprof(f, "vm", stacks.Any); err != nil {
		t.Fatal(err)
	}
	f.Close()
	pprof := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(tool, append(append([]string{"tool", "pprof", "-symbolize=none"}, args...), path)...)
		cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	got := pprof("-top")
	for _, line := range []string{"Type: samples", "Showing nodes accounting for 594, 100% of 594 total",
		"140 23.57% 89.90%        160 26.94%  engine::Scanner::scan", "20  3.37% 99.66%         20  3.37%  libengine.so+0x900", "2  0.34%   100%        198 33.33%  flush"} {
		if !strings.Contains(got, line) {
			t.Errorf("go tool pprof -top does not say %q:\n%s", line, got)
		}
	}
	if got := pprof("-top", "-sample_index=waiting", "-tagfocus=thread=writer"); !strings.Contains(got, "Showing nodes accounting for 196, ") {
		t.Errorf("of the writer's waiting:\n%s", got)
	}
	if got := pprof("-raw"); !strings.Contains(got, "/opt/indexer/lib/libengine.so e0e1e2 [FN]") || !strings.Contains(got, "_ZN6engine7Scanner4scanERKSs") {
		t.Errorf("raw:\n%s", got)
	}
	if f, err = os.Create(path); err != nil {
		t.Fatal(err)
	}
	if err := read(t, stacks.Request{}, stackstest.Waits()...).WritePprof(f, "vm", stacks.Waited); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if got := pprof("-top", "-cum"); !strings.Contains(got, "Type: waited") || !strings.Contains(got, "of 8600ms total") || !strings.Contains(got, "4100ms 47.67%  await_worker") {
		t.Errorf("of the time waited:\n%s", got)
	}
	if got := pprof("-raw"); !strings.Contains(got, "waiting/count waited/nanoseconds") || !strings.Contains(got, "waker:[worker-3 (703) of ledger (700): syscall < finish < run]") {
		t.Errorf("of the time waited:\n%s", got)
	}
}

// What is written is what speedscope's schema asks for, and the weights are the samples.
func TestSpeedscope(t *testing.T) {
	p := read(t, stacks.Request{}, stackstest.Incident()...)
	for by, profiles := range map[stacks.By]int{stacks.ByNothing: 1, stacks.ByProcess: 2, stacks.ByThread: 3} {
		var b bytes.Buffer
		if err := p.WriteSpeedscope(&b, "vm", "test", by, stacks.Any); err != nil {
			t.Fatal(err)
		}
		// The schema's properties of what is required, and no others.
		var file struct {
			Schema, Exporter, Name string
			ActiveProfileIndex     int
			Shared                 struct {
				Frames []struct {
					Name, File string
					Line, Col  int
				}
			}
			Profiles []struct {
				Type, Name, Unit     string
				StartValue, EndValue float64
				Samples              [][]int
				Weights              []float64
			}
		}
		strict := json.NewDecoder(strings.NewReader(strings.Replace(b.String(), "$schema", "schema", 1)))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&file); err != nil {
			t.Fatal(err)
		}
		if file.Schema != "https://www.speedscope.app/file-format-schema.json" || len(file.Profiles) != profiles {
			t.Errorf("schema %s, %d profiles", file.Schema, len(file.Profiles))
		}
		sum := 0.0
		for _, one := range file.Profiles {
			if one.Type != "sampled" || one.Unit != "none" || one.StartValue != 0 || len(one.Samples) != len(one.Weights) {
				t.Errorf("a profile is %+v", one)
			}
			before := sum
			for i, s := range one.Samples {
				sum += one.Weights[i]
				for _, n := range s {
					if n < 0 || n >= len(file.Shared.Frames) {
						t.Fatalf("frame %d of %d", n, len(file.Shared.Frames))
					}
				}
			}
			if sum-before != one.EndValue {
				t.Errorf("%s ends at %g, its weights at %g", one.Name, one.EndValue, sum-before)
			}
		}
		if sum != 594 {
			t.Errorf("by %s there are %g samples", by, sum)
		}
	}
}

// What threads waited for stands below the function that they waited in, unless that is
// called so.
func TestWaits(t *testing.T) {
	waiting := func(tid uint64, wait string, count uint32, inner string) stack.Sample {
		return stack.Sample{Thread: stack.Thread{PID: 7, Process: "7", Command: "app", TID: tid}, State: stack.Waiting, Wait: wait, Count: count,
			Frames: stackstest.Frames(stackstest.In(stackstest.App, 0x1000, "main"), stackstest.In(stackstest.App, 0x2000, inner))}
	}
	running := waiting(1, "", 2, "trap")
	running.State = stack.Running
	p := read(t, stacks.Request{}, []stack.Sample{
		waiting(1, "mach port receive 0x1203", 3, "trap"), waiting(2, "mach port receive 0x1203", 4, "trap"), waiting(3, "user lock held by thread 2", 5, "trap"),
		running, waiting(4, "futex", 6, "futex"), waiting(5, "", 1, "trap"),
	})
	for state, want := range map[stacks.State]string{
		stacks.Any:     "21 app (7); 21   main; 15   ├ trap; 7   │ ├ waits: mach port receive 0x1203; 5   │ └ waits: user lock held by thread 2; 6   └ futex",
		stacks.Waiting: "19 app (7); 19   main; 13   ├ trap; 7   │ ├ waits: mach port receive 0x1203; 5   │ └ waits: user lock held by thread 2; 6   └ futex",
		stacks.Running: "2 app (7); 2   main; 2   trap",
	} {
		var got []string
		for _, l := range p.Tree(stacks.ByProcess, state).Outline(0) {
			name := "others"
			if l.Others == 0 {
				name = p.Name(l.Node)
			}
			got = append(got, fmt.Sprintf("%d %s%s", l.Count, l.Lead, name))
		}
		if got := strings.Join(got, "; "); got != want {
			t.Errorf("%s:\n%s, want\n%s", state, got, want)
		}
	}
}

const measured = `ledger (700);main;await_worker;syscall;do_futex;futex_do_wait 4100000000
ledger (700);main;take_lock;syscall;do_futex;futex_do_wait 100000000
ledger (700);run;store;fsync;ext4_sync_file;folio_wait_writeback 4000000000
ledger (700);poll_loop;nanosleep;hrtimer_nanosleep 400000000
`

// Measured waits are a tree of their own, and change no other.
func TestMeasuredWaits(t *testing.T) {
	p := read(t, stacks.Request{}, stackstest.Waits()...)
	if got := folded(t, p, stacks.ByProcess, stacks.Waited); got != measured || p.Waits() != stacks.Waited {
		t.Errorf("%s are\n%swant\n%s", p.Waits(), got, measured)
	}
	before := readFile(t, stackstest.WriteBefore(t, stackstest.Waits()...), stacks.Request{})
	if before.Waits() != stacks.Waiting || before.Sum(stacks.Waited) != 0 {
		t.Errorf("without the column, %s are %d", before.Waits(), before.Sum(stacks.Waited))
	}
	for _, state := range []stacks.State{stacks.Any, stacks.Running, stacks.Waiting} {
		if with, without := folded(t, p, stacks.ByThread, state), folded(t, before, stacks.ByThread, state); with != without || with == "" {
			t.Errorf("%s with measured waits\n%swithout\n%s", state, with, without)
		}
	}
	// A process of which the clock saw waits, and nothing more, is not left out.
	second := stackstest.Waits()
	second[0] = append(second[0], stackstest.Incident()[0]...)
	if mixed := read(t, stacks.Request{}, second...); mixed.Waits() != stacks.Waiting {
		t.Errorf("waits of some processes are %s", mixed.Waits())
	}
	root := p.Tree(stacks.ByProcess, stacks.Any)
	if n := root.Children[0]; n.Waited != 8_600_000_000 || n.Count != p.Sum(stacks.Any) {
		t.Errorf("the tree of samples has %d ns waited and %d samples", n.Waited, n.Count)
	}
}

// The chain of who waited for whom ends where a thread waited for no other, or did not wait.
func TestBlame(t *testing.T) {
	thread := func(tid uint64, name string) stack.Thread {
		return stack.Thread{PID: 700, Process: "700/100", Command: "ledger", TID: tid, Name: name}
	}
	main, one, two := thread(700, ""), thread(701, "one"), thread(702, "two")
	waits := func(who stack.Thread, seconds float64, wait string, by *stack.Thread, call string) stack.Sample {
		s := stack.Sample{Thread: who, State: stack.Waiting, Wait: wait, Waited: uint64(seconds * 1e9), Frames: stackstest.Frames(stackstest.In(stackstest.App, 1, "run"),
			stackstest.In(stackstest.Libc, uint64(len(call)), call), stackstest.Kernel(wait))}
		if by != nil {
			s.Waker = &stack.Waker{Thread: *by}
		}
		return s
	}
	other := stack.Thread{PID: 800, Process: "800/9", Command: "journal", TID: 800}
	runs := stack.Sample{Thread: one, Count: 99, Frames: stackstest.Frames(stackstest.In(stackstest.App, 9, "compute"))}
	for name, c := range map[string]struct {
		samples []stack.Sample
		want    string
	}{
		"a call":              {[]stack.Sample{waits(main, 0.9, "folio_wait", nil, "fsync")}, "main of ledger (700) waited 900 ms for fsync"},
		"for a thread":        {[]stack.Sample{waits(main, 0.9, "futex", &one, "lock"), runs}, "main of ledger (700) waited 900 ms for one"},
		"which waits":         {[]stack.Sample{waits(main, 0.9, "futex", &one, "lock"), waits(one, 0.8, "futex", &two, "lock"), waits(two, 0.7, "folio_wait", nil, "fsync")}, "main of ledger (700) waited 900 ms for one, which waited 800 ms for two, which waited 700 ms for fsync"},
		"which sleeps":        {[]stack.Sample{waits(main, 0.9, "futex", &one, "lock"), waits(one, 0.8, "hrtimer_nanosleep", nil, "usleep")}, "main of ledger (700) waited 900 ms for one, which waited 800 ms for usleep"},
		"which waits little":  {[]stack.Sample{waits(main, 0.9, "futex", &one, "lock"), waits(one, 0.3, "folio_wait", nil, "fsync")}, "main of ledger (700) waited 900 ms for one"},
		"for each other":      {[]stack.Sample{waits(main, 0.9, "futex", &one, "lock"), waits(one, 0.8, "futex", &main, "lock")}, "main of ledger (700) waited 900 ms for one, which waited 800 ms for main"},
		"for another process": {[]stack.Sample{waits(main, 0.9, "unix_wait", &other, "recv")}, "main of ledger (700) waited 900 ms for main of journal (800)"},
		"main before others":  {[]stack.Sample{waits(main, 0.4, "folio_wait", nil, "fsync"), waits(one, 0.9, "futex", &two, "lock")}, "main of ledger (700) waited 400 ms for fsync"},
		"others":              {[]stack.Sample{waits(main, 0.9, "do_epoll_wait", &one, "epoll_wait"), waits(one, 0.5, "folio_wait", nil, "fsync")}, "one of ledger (700) waited 500 ms for fsync"},
		"nothing to do":       {[]stack.Sample{waits(main, 0.9, "do_epoll_wait", &one, "epoll_wait"), waits(one, 0.9, "mach port receive 0x1203", nil, "mach_msg")}, ""},
		"too little":          {[]stack.Sample{waits(main, 0.1, "folio_wait", nil, "fsync")}, ""},
		"not measured":        {[]stack.Sample{runs}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := read(t, stacks.Request{}, c.samples)
			b, ok := p.Blame()
			got := ""
			if ok {
				got = b.Sentence()
				if strings.Join(b.Command(), " ") != "stacks 700/100 --waiting --by thread" {
					t.Errorf("its command is %s", b.Command())
				}
			}
			if c.want != "" {
				c.want += "; stacks were sampled for 1 s"
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
