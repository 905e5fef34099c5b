// Package stackstest makes recordings of stacks, for the tests of those who read them.
package stackstest

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/stack"
	"tachograph/store/rewrite"
)

// Start is when sampling begins in recordings: 03:12:00 on the day of the other tests.
var Start = time.Date(2026, 11, 20, 3, 12, 0, 0, time.UTC)

// At is a time after Start on all clocks.
func At(after time.Duration) metric.Stamp {
	const boot = int64(time.Hour)
	return metric.Stamp{Wall: Start.Add(after).UnixNano(), Awake: boot + int64(after), Cont: boot + int64(after)}
}

// Write makes an archive of samples, a second of them after the other.
func Write(t testing.TB, seconds ...[]stack.Sample) string {
	t.Helper()
	return WriteOf(t, "vm", seconds...)
}

// WriteOf makes one of a host that is called so.
func WriteOf(t testing.TB, host string, seconds ...[]stack.Sample) string {
	t.Helper()
	return WriteBy(t, host, byPerf, seconds...)
}

// byPerf are the statistics of a sampling on Linux.
var byPerf = stack.Statistics{How: "perf", Missed: 2}

// WriteBy makes one whose sampling has these statistics, besides the number of samples.
func WriteBy(t testing.TB, host string, stats stack.Statistics, seconds ...[]stack.Sample) string {
	t.Helper()
	return write(t, host, stats, func(*metric.Tick) {}, seconds)
}

// WriteBefore makes one as recorders made it that did not measure waits.
func WriteBefore(t testing.TB, seconds ...[]stack.Sample) string {
	t.Helper()
	return write(t, "vm", byPerf, func(tick *metric.Tick) {
		for i, b := range tick.Blocks {
			if b.Group.Indom == stack.DomainStack {
				g, old := *b.Group, *b // the Book's own stay
				g.Metrics = g.Metrics[:2]
				old.Group, old.Cols = &g, b.Cols[:2]
				tick.Blocks[i] = &old
			}
		}
	}, seconds)
}

func write(t testing.TB, host string, stats stack.Statistics, change func(*metric.Tick), seconds [][]stack.Sample) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stacks.tacho")
	w, err := rewrite.Create(path, rewrite.About{
		Host: metric.Host{ID: "host-" + host, Name: host, OS: "Linux", Platform: "linux", Arch: "amd64"}, Boot: "boot-1", TimeZone: "UTC", ID: "5ac5",
		Created: Start.UnixNano(), Recorder: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	book := stack.NewBook(At(0))
	for i, samples := range seconds {
		for k := range samples {
			book.Add(&samples[k])
		}
		if tick := book.Tick(At(time.Duration(i+1) * time.Second)); tick != nil {
			one := *tick
			one.Blocks = slices.Clone(tick.Blocks)
			change(&one)
			tick = &one
			if err := w.Append(tick); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, samples := range seconds {
		for _, s := range samples {
			stats.Samples += int(s.Count)
		}
	}
	end := time.Duration(len(seconds)) * time.Second
	e := stats.Event(At(0), At(end), stack.Wish{Rate: 99, For: end}, "all processes", "indexer uses much CPU")
	if err := w.Event(&e); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Images of the incident.
var (
	App    = &stack.Image{Path: "/opt/indexer/bin/indexer", ID: "5c2f0a9bd1", Base: 0x55d000000000}
	Libc   = &stack.Image{Path: "/usr/lib/libc.so.6", ID: "0f4e1a", Base: 0x7f0000000000}
	Engine = &stack.Image{Path: "/opt/indexer/lib/libengine.so", ID: "e0e1e2", Base: 0x7f1000000000}
)

// Frames are a stack, written as it is read: the outermost first.
func Frames(outermost ...stack.Frame) []stack.Frame {
	inner := make([]stack.Frame, 0, len(outermost))
	for i := len(outermost) - 1; i >= 0; i-- {
		inner = append(inner, outermost[i])
	}
	return inner
}

// In is a frame.
func In(m *stack.Image, offset uint64, name string) stack.Frame {
	f := stack.Frame{Image: m, Address: offset, Name: name}
	if m != nil {
		f.Address += m.Base
	}
	return f
}

// Kernel is a frame of the kernel's.
func Kernel(name string) stack.Frame {
	return stack.Frame{Address: 0xffffffff81000000 + uint64(len(name)), Name: name, Kernel: true}
}

// Incident are two seconds of an indexer, three quarters of which scan in a library of C++,
// and a writer that waits for the disk; beside it a shell waits.
func Incident() [][]stack.Sample {
	indexer := stack.Thread{PID: 612, Process: "612/100", Command: "indexer", TID: 612}
	writer := stack.Thread{PID: 612, Process: "612/100", Command: "indexer", TID: 613, Name: "writer"}
	shell := stack.Thread{PID: 90, Process: "90/20", Command: "bash", TID: 90}
	main := []stack.Frame{In(Libc, 0x2100, "__libc_start_main"), In(App, 0x1000, "main")}
	with := func(f ...stack.Frame) []stack.Frame { return Frames(append(main[:2:2], f...)...) }
	parse := In(App, 0x1200, "_RNvCs1234_7indexer5parse")
	scan := In(Engine, 0x500, "_ZN6engine7Scanner4scanERKSs")
	second := func(scans, allocs, writes uint32) []stack.Sample {
		return []stack.Sample{
			{Thread: indexer, State: stack.Running, Frames: with(parse, scan), Count: scans},
			{Thread: indexer, State: stack.Running, Frames: with(parse, scan, In(Engine, 0x900, "")), Count: 10},
			{Thread: indexer, State: stack.Running, Frames: with(parse, In(Libc, 0x9a00, "malloc")), Count: allocs},
			{Thread: writer, State: stack.Waiting, Wait: "io_schedule", Count: writes,
				Frames: with(In(App, 0x1800, "flush"), In(Libc, 0x8800, "write"), Kernel("ksys_write"), Kernel("io_schedule"))},
			{Thread: writer, State: stack.Running, Frames: with(In(App, 0x1800, "flush")), Count: 1},
			{Thread: shell, State: stack.Waiting, Wait: "do_wait", Count: 99, End: stack.Broken, Frames: Frames(In(Libc, 0x7700, "wait4"), Kernel("do_wait"))},
		}
	}
	return [][]stack.Sample{second(65, 24, 98), second(75, 14, 98)}
}

// Later is the Incident, and two seconds later in which memory is what takes the time.
func Later() [][]stack.Sample {
	all := append(Incident(), Incident()...)
	for _, second := range all[2:] {
		second[0].Count, second[2].Count = second[2].Count, second[0].Count
	}
	return all
}
