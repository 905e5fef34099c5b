package main

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/query/querytest"
)

// told is a follower that delivers what a test tells it.
type told struct{ items chan archive.Item }

func (f *told) Next(ctx context.Context) (archive.Item, error) {
	select {
	case it, ok := <-f.items:
		if !ok {
			return it, follow.ErrClosed
		}
		return it, nil
	case <-ctx.Done():
		return archive.Item{}, ctx.Err()
	}
}

func (f *told) Position() follow.Position { return follow.Position{Archive: "1"} }
func (f *told) Close() error              { return nil }

// A small machine that is told of tick by tick.
var (
	toldHost  = metric.Host{ID: "h", Name: "host", Platform: "linux"}
	toldInfo  = &archive.Info{ID: "1", Host: toldHost, BootID: "b", TimeZone: "UTC", Live: true, Intervals: metric.Intervals{metric.Fast: time.Second, metric.Process: 5 * time.Second}}
	toldLoad  = &metric.Desc{Name: "k.load", Type: metric.U64, Sem: metric.Instant, Class: metric.Fast}
	toldBytes = &metric.Desc{Name: "n.bytes", Type: metric.U64, Sem: metric.Counter, Units: metric.Bytes, Indom: "net", Class: metric.Fast}
	toldNew   = &metric.Desc{Name: "n.new", Type: metric.U64, Sem: metric.Instant, Indom: "net", Class: metric.Fast}
	toldCores = &metric.Desc{Name: "h.cores", Type: metric.U64, Sem: metric.Discrete, Class: metric.Static}
	kernelOf  = &metric.Group{Name: "k", Metrics: []*metric.Desc{toldLoad}}
	netOf     = &metric.Group{Name: "n", Indom: "net", Metrics: []*metric.Desc{toldBytes}}
	newOf     = &metric.Group{Name: "new", Indom: "net", Metrics: []*metric.Desc{toldNew}}
	coresOf   = &metric.Group{Name: "h", Metrics: []*metric.Desc{toldCores}}
)

// toldTick is the tick of a second, with so much in each of the groups.
func toldTick(second int64, blocks ...*metric.Block) archive.Item {
	at := metric.Stamp{Wall: testNow.UnixNano() + second*1e9, Awake: 1e12 + second*1e9, Cont: 1e12 + second*1e9}
	for _, b := range blocks {
		b.At = at
	}
	return archive.Item{Archive: toldInfo, Tick: &metric.Tick{Class: metric.Fast, At: at, Blocks: blocks}}
}

func toldBlock(g *metric.Group, x uint64, names ...string) *metric.Block {
	b := &metric.Block{Group: g, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{x}}}}
	if g.Indom == "" {
		return b
	}
	b.Rows, b.Cols[0].Bits = nil, nil
	for i, name := range names {
		b.Rows = append(b.Rows, &metric.Instance{Key: name, Name: name, Rev: 1})
		b.Cols[0].Bits = append(b.Cols[0].Bits, x+uint64(i))
	}
	return b
}

// aSecond is one in which nothing comes.
var aSecond = archive.Item{}

func init() {
	// What minds signals is started by the first who wants any, and may not belong to
	// one test.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGURG)
	signal.Stop(signals)
}

// follows runs a command that is told of items, each a moment after the one before.
func follows(t *testing.T, line string, items ...archive.Item) (stdout, stderr string, status int) {
	t.Helper()
	return followsOn(t, 0, line, items...)
}

// followsOn does so on a terminal of so many columns; of none, without one.
func followsOn(t *testing.T, width int, line string, items ...archive.Item) (stdout, stderr string, status int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var o, e bytes.Buffer
		began := time.Now()
		f := &told{items: make(chan archive.Item)}
		a := newApp(&o, &e, func() time.Time { return testNow.Add(time.Since(began)) })
		a.Open = func(...string) (reader, error) {
			part := &querytest.Part{Info: *toldInfo, Catalog: []*metric.Desc{toldLoad, toldBytes, toldCores}}
			part.Ticks = []*metric.Tick{toldTick(-1, toldBlock(kernelOf, 4), toldBlock(netOf, 100, "en0")).Tick}
			return memory{querytest.New(part)}, nil
		}
		a.width, a.height, a.progress = width, width/3, width > 0
		a.follows = func(follow.Options, ...string) (follower, error) { return f, nil }
		var cancel context.CancelFunc
		a.ctx, cancel = context.WithCancel(t.Context())
		done := make(chan int)
		go func() { done <- a.run(append(words(line), "--archive", ".", "--utc")) }()
		past := toldTick(-1, toldBlock(kernelOf, 4), toldBlock(netOf, 100, "en0"))
		past.Standing = true
		for _, it := range append([]archive.Item{past, {Present: true}}, items...) {
			if it == aSecond {
				time.Sleep(time.Second)
				continue
			}
			f.items <- it
			synctest.Wait()
			time.Sleep(settle)
		}
		synctest.Wait()
		cancel()
		status = <-done
		stdout, stderr = o.String(), e.String()
	})
	return stdout, stderr, status
}

func toldEvent(second int64, kind metric.EventKind, text string, labels ...string) archive.Item {
	it := toldTick(second)
	e := &metric.Event{At: it.Tick.At, Kind: kind, Text: text}
	for i := 0; i < len(labels); i += 2 {
		e.Labels = append(e.Labels, metric.Label{Name: labels[i], Value: labels[i+1]})
	}
	return archive.Item{Archive: toldInfo, Event: e}
}

// load is a second's tick with a load only.
func load(second int64) archive.Item { return toldTick(second, toldBlock(kernelOf, uint64(second))) }

// cores is what is read once when a recorder starts, in a second.
func cores(second int64, n uint64) archive.Item {
	it := toldTick(second, toldBlock(coresOf, n))
	it.Tick.Class = metric.Static
	return it
}

// booted is it after the machine has booted: its continuous clock stands at the second.
func booted(it archive.Item, second int64) archive.Item {
	info := *toldInfo
	info.ID, info.BootID = "2", "b2"
	it.Archive, it.Tick.At.Awake, it.Tick.At.Cont = &info, second*1e9, second*1e9
	return stamped(it, it.Tick.At)
}

// setBack is it where the clock was set back by some seconds before.
func setBack(it archive.Item, seconds int64) archive.Item {
	at := it.Tick.At
	at.Wall -= seconds * 1e9
	return stamped(it, at)
}

// stamped is it, read at another time.
func stamped(it archive.Item, at metric.Stamp) archive.Item {
	it.Tick.At = at
	for _, b := range it.Tick.Blocks {
		b.At = at
	}
	return it
}

func TestFollowPrints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, line  string
		items       []archive.Item
		out, stderr string
		status      int
	}{
		{"a table", "values k.load -f", []archive.Item{load(1), load(20)}, `TIME                     METRIC       VALUE
2026-11-20 03:30:01      k.load           1
2026-11-20 03:30:20      k.load          20
`, "", cli.Failed},
		{"rates from the first on, and what appears later", "rates n.* -f", []archive.Item{
			toldTick(0, toldBlock(netOf, 300, "en0")),
			toldTick(1, toldBlock(netOf, 400, "en0", "a much longer name")),
			toldTick(2, toldBlock(netOf, 600, "en0", "\x1b[2J")),
			toldTick(3, toldBlock(newOf, 7, "en0")),
		}, `TIME                     METRIC   INSTANCE        RATE
2026-11-20 03:30:00      n.bytes  en0          200 B/s
2026-11-20 03:30:01      n.bytes  en0          100 B/s
2026-11-20 03:30:01      n.bytes  a much longer name           -
2026-11-20 03:30:02      n.bytes  en0                    200 B/s
2026-11-20 03:30:02      n.bytes  \x1b[2J                      -
2026-11-20 03:30:03      n.new    en0                          7
`, "", cli.Failed},
		{"nothing comes", "values k.load -f --format csv", []archive.Item{load(1), aSecond, aSecond, aSecond, aSecond, aSecond, aSecond, aSecond, load(8), load(9)}, `time,metric,instance,value
2026-11-20T03:30:01.000000000Z,k.load,,1
2026-11-20T03:30:08.000000000Z,k.load,,8
2026-11-20T03:30:09.000000000Z,k.load,,9
`, `replay: the last sample is of 2026-11-20 03:30:01 UTC, 4 s ago: is the recorder running?
replay: recording goes on
`, cli.Failed},
		{"the recorder stops", "values k.load -f --format csv", []archive.Item{load(1), toldEvent(2, metric.EventStop, "the recorder stopped"), aSecond, aSecond, aSecond, aSecond, aSecond, aSecond, load(8)}, `time,metric,instance,value
2026-11-20T03:30:01.000000000Z,k.load,,1
2026-11-20T03:30:08.000000000Z,k.load,,8
`, `replay: the recorder stopped at 2026-11-20 03:30:02 UTC; waiting for it
replay: recording goes on
`, cli.Failed},
		{"for some seconds", "values k.load -f --for 3s --format csv", []archive.Item{load(1), load(2), load(3), load(4)}, `time,metric,instance,value
2026-11-20T03:30:01.000000000Z,k.load,,1
2026-11-20T03:30:02.000000000Z,k.load,,2
2026-11-20T03:30:03.000000000Z,k.load,,3
`, "", cli.Yes},
		{"the clock is set back", "values k.load -f --format csv", []archive.Item{load(5), load(6), load(2), load(3)}, `time,metric,instance,value
2026-11-20T03:30:05.000000000Z,k.load,,5
2026-11-20T03:30:06.000000000Z,k.load,,6
2026-11-20T03:30:02.000000000Z,k.load,,2
2026-11-20T03:30:03.000000000Z,k.load,,3
`, "", cli.Failed},
		{"what was read before what is shown is recorded behind it", "values k.load/h.cores -f --format csv", []archive.Item{cores(1, 2), load(2), load(4), cores(3, 4), load(5), cores(5, 5), load(6)}, `time,metric,instance,value
2026-11-20T03:30:02.000000000Z,k.load/h.cores,,1
2026-11-20T03:30:04.000000000Z,k.load/h.cores,,2
2026-11-20T03:30:05.000000000Z,k.load/h.cores,,1.25
2026-11-20T03:30:06.000000000Z,k.load/h.cores,,1.2
`, "", cli.Failed},
		{"the clock is set back below an expression", "values k.load/h.cores -f --format csv", []archive.Item{cores(1, 2), load(12), setBack(load(14), 10), setBack(cores(13, 7), 10), setBack(load(16), 10)}, `time,metric,instance,value
2026-11-20T03:30:12.000000000Z,k.load/h.cores,,6
2026-11-20T03:30:04.000000000Z,k.load/h.cores,,7
2026-11-20T03:30:06.000000000Z,k.load/h.cores,,2.2857142857142856
`, "", cli.Failed},
		{"the machine boots and its clock is behind", "values k.load/h.cores -f --format csv", []archive.Item{cores(1, 2), load(12), booted(cores(2, 4), 1), booted(load(4), 3), booted(cores(3, 8), 2), booted(load(6), 5)}, `time,metric,instance,value
2026-11-20T03:30:12.000000000Z,k.load/h.cores,,6
2026-11-20T03:30:04.000000000Z,k.load/h.cores,,1
2026-11-20T03:30:06.000000000Z,k.load/h.cores,,0.75
`, "", cli.Failed},
		{"events", "events -f", []archive.Item{toldEvent(1, metric.EventProcessStart, "x began"), toldEvent(1, metric.EventBoot, "the machine was started"), toldEvent(2, metric.EventBoot, "the machine was started"), toldEvent(3, metric.EventMount, "a volume \x1b[2J"),
			toldEvent(4, metric.EventCrash, "crash: nginx (pid 80) died"), toldEvent(5, metric.EventProcessExit, "x ended", "how", "signal 9", "name", "x", "pid", "7"),
			toldEvent(5, metric.EventMemory, "the kernel killed a process")}, `TIME                     KIND           TEXT
2026-11-20 03:30:01      boot           the machine was started
2026-11-20 03:30:03      mount          a volume \x1b[2J
2026-11-20 03:30:04      crash          nginx (pid 80) died
2026-11-20 03:30:05      memory pressure  the kernel killed a process: x (pid 7)
`, "", cli.Failed},
		{"lost", "events -f --format json", []archive.Item{{Archive: toldInfo, Lost: follow.ErrGone}}, "", "replay: something was recorded and cannot be read: " + follow.ErrGone.Error() + "\n", cli.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, said, status := follows(t, c.line, c.items...)
			if out != c.out || said != c.stderr || status != c.status {
				t.Errorf("status %d, on stderr\n%s\n%s", status, said, firstDifference(c.out, out))
			}
		})
	}
}

func TestFollowRefuses(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"values kernel.all.load -f --archive testdata/mac.txt":     "finished: nothing will be added to testdata/mac.txt",
		"events -f testdata/mac.txt":                               "finished: nothing will be added to testdata/mac.txt",
		"top -f --archive testdata/mac.txt":                        "finished: nothing will be added to testdata/mac.txt",
		"top -f --from start --archive testdata/mac.txt":           "leave --from out",
		"values k --for 3s --archive testdata/mac.txt":             "--for says how long to --follow",
		"top --interval 3s --archive testdata/mac.txt":             "--interval says how often",
		"values k -f --for 3s --to now --archive testdata/mac.txt": "give one of them",
	} {
		if out, said, status := replay(openText, words(line)...); status != cli.Failed || out != "" || !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: status %d, %q, %q", line, status, out, said)
		}
	}
	out, said, status := replay(openText, words("values kernel.all.load --follow --from start --archive testdata/mac.txt --format csv")...)
	want, _, _ := replay(openText, words("values kernel.all.load --from start --archive testdata/mac.txt --format csv")...)
	if out != want || want == "" || status != cli.Yes || !strings.Contains(said, "nothing will be added") {
		t.Errorf("of a finished archive, status %d: %s\n%s", status, said, firstDifference(want, out))
	}
}
