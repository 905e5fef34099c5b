package recent_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/query"
	"tachograph/store/recent"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
)

// A deed is what a recorder does at a millisecond: it reads a class, or begins another
// archive.
type deed struct {
	at    int64
	class metric.Class
	level uint64 // what it reads of the level that is read once
	turns bool
}

// A level that is read once in an archive holds until it is read in the next one of the
// boot, however late that is, and whatever window is asked about.
func TestLevelsHoldOverATurn(t *testing.T) {
	fast := func(list ...int64) (out []deed) {
		for _, at := range list {
			out = append(out, deed{at: at, class: metric.Fast})
		}
		return out
	}
	once := func(at int64, level uint64) []deed { return []deed{{at: at, class: metric.Static, level: level}} }
	process := func(at int64) []deed { return []deed{{at: at, class: metric.Process}} }
	turn := []deed{{at: 1000, turns: true}}
	before := slices.Concat(once(0, 2), fast(10, 110, 210))
	for _, c := range []struct {
		name  string
		deeds []deed
		want  string // the level at each tick of the rest
	}{
		{"it is read at once", slices.Concat(turn, once(1005, 4), fast(1010, 1110)), "4 4"},
		{"it is read late", slices.Concat(turn, fast(1010, 1110, 1210), once(1250, 4), fast(1310)), "2 2 2 4"},
		{"something else was read first", slices.Concat(turn, process(1005), fast(1150, 1250, 1350), once(1400, 4), fast(1450)), "2 2 2 4"},
		{"something else was read first, and is written behind", slices.Concat(turn, fast(1150, 1240), process(1005), fast(1350), once(1400, 4), fast(1450)), "2 2 2 4"},
		{"ticks are late", slices.Concat(turn, fast(1010, 1700, 1710, 3000), once(3001, 4), fast(3100)), "2 2 2 2 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLevels(t)
			for _, d := range slices.Concat(before, c.deeds) {
				l.do(d)
			}
			r, err := store.Open(l.dir)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			want := "2 2 2 " + c.want
			if got := l.text(l.followed); got != want {
				t.Errorf("who followed was told %s, want %s", got, want)
			}
			for i, from := range l.ticks {
				for _, to := range []int64{0, l.ticks[len(l.ticks)-1], from, l.ticks[min(i+2, len(l.ticks)-1)]} {
					all := make(map[int64]string)
					l.ask(r, query.Window{From: from, To: to}, all)
					for _, at := range l.ticks[i:] {
						if (to == 0 || at <= to) && all[at] != l.followed[at] {
							t.Errorf("of %d ms is said %q to who asks from %d to %d, and %q to who follows", l.ms(at), all[at], l.ms(from), l.ms(to), l.followed[at])
						}
					}
				}
			}
		})
	}
}

// levels is a machine that is recorded, and what who follows is told of it.
type levels struct {
	t        *testing.T
	dir      string
	clock    *proof.Clock
	w        *recording.Writer
	info     *archive.Info
	recent   *recent.Archive
	archives int
	shown    int64
	ticks    []int64
	followed map[int64]string // at each tick
}

const levelsBegin = int64(1_790_000_000e9)

func newLevels(t *testing.T) *levels {
	l := &levels{t: t, dir: t.TempDir(), clock: proof.NewClock(metric.Stamp{Wall: levelsBegin, Awake: 900e9, Cont: 900e9}),
		recent: recent.New(recent.Keep{Ticks: 5, NoEvents: true}), followed: make(map[int64]string)}
	l.archive()
	var err error
	if l.w, err = recording.Create(recording.Options{Dir: l.dir, Host: l.info.Host, BootID: l.info.BootID, TimeZone: "UTC", Recorder: "test",
		Catalog: catalog(), Intervals: l.info.Intervals, Seal: time.Minute, Sync: time.Hour, Now: l.clock.Now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.w.Close() })
	return l
}

func (l *levels) ms(wall int64) int64 { return (wall - levelsBegin) / 1e6 }

// archive is another archive.
func (l *levels) archive() {
	l.archives++
	every := metric.Intervals{metric.Fast: 100 * time.Millisecond, metric.Process: 100 * time.Millisecond, metric.Static: metric.Once}
	host := metric.Host{ID: "h", Name: "host", OS: "Linux", Platform: "linux"}
	l.info = &archive.Info{ID: fmt.Sprint("archive ", l.archives), Host: host, BootID: "boot", TimeZone: "UTC", Intervals: every, Live: true}
}

func (l *levels) do(d deed) {
	at := metric.Stamp{Wall: levelsBegin + d.at*1e6, Awake: 900e9 + d.at*1e6, Cont: 900e9 + d.at*1e6}
	if at.Wall > l.clock.Now().Wall {
		l.clock.Set(at)
	}
	if d.turns {
		if _, err := l.w.Rotate("test"); err != nil {
			l.t.Fatal(err)
		}
		l.archive()
		return
	}
	block := &metric.Block{Group: fixed, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{d.level}}}}
	switch d.class {
	case metric.Fast:
		block.Group = &metric.Group{Name: "kernel", Metrics: kernel.Metrics[3:4]}
		block.Cols[0].Bits[0] = math.Float64bits(1)
	case metric.Process:
		block = &metric.Block{Group: procs, At: at, Cols: make([]metric.Column, len(procs.Metrics))}
	}
	tick := &metric.Tick{Class: d.class, At: at, Blocks: []*metric.Block{block}}
	if err := l.w.Append(tick); err != nil {
		l.t.Fatal(err)
	}
	l.recent.Tick(l.info, tick)
	if d.class == metric.Fast {
		l.ticks = append(l.ticks, at.Wall)
		l.ask(l.recent, query.Window{From: l.shown + 1, To: at.Wall}, l.followed)
		l.shown = at.Wall
	}
}

// ask asks what the level is at the ticks of a window.
func (l *levels) ask(a query.Archive, w query.Window, into map[int64]string) {
	e, err := query.Compile(a, nil, "fix.ncpu / (k.level / 1 KB)")
	if err != nil {
		l.t.Fatal(err)
	}
	for s, err := range query.Evaluate(a, e, query.Request{Window: w, Mode: query.Shown}) {
		if err != nil {
			l.t.Fatal(err)
		}
		for i, wall := range s.Wall {
			if into[wall] = "-"; s.Value(i).Miss == metric.Present {
				into[wall] = fmt.Sprint(s.Value(i).Number())
			}
		}
	}
}

func (l *levels) text(said map[int64]string) (text string) {
	for i, at := range l.ticks {
		if i > 0 {
			text += " "
		}
		text += said[at]
	}
	return text
}
