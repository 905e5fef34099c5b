package live

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/replay/internal/serve/selection"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/storetest"
)

// errOver is that a tape has been played.
var errOver = errors.New("that was all")

// playback is what a client is sent of a recording that is played to it tick by
// tick, and what that takes.
type playback struct {
	frames, bytes, framed, values int
	snapshot                      int
	clock                         [2]int64 // wall clocks of the first and the last tick
	took                          time.Duration
}

func (p *playback) send(m *tachographv1.SubscribeResponse) error {
	n := proto.Size(m)
	if m.Snapshot || p.frames == 0 {
		p.snapshot += n
		if !m.More {
			p.frames = 1
		}
		return nil
	}
	p.frames++
	p.bytes += n
	p.framed += n + 5 // the head of a message of gRPC
	p.values += len(m.Gaps) + len(m.Texts)
	for _, a := range m.Absences {
		p.values += len(a.Gaps)
	}
	return nil
}

// skip is how many items a client comes after: when a recorder begins it finds out
// within half a minute what there is.
const skip = 200

// play plays what next delivers to a client that wants metrics.
func (p *playback) play(b *testing.B, metrics []*metric.Desc, next func() (archive.Item, follow.Position, error)) {
	f := &feed{enc: newEncoder(wish{metrics: metrics}), send: func(m *tachographv1.SubscribeResponse, _ int) error { return p.send(m) }}
	a := newAssembler(nil)
	begun := false
	for n := 0; ; n++ {
		it, pos, err := next()
		if errors.Is(err, errOver) {
			return
		}
		if err != nil {
			b.Fatal(err)
		}
		s := a.take(&it, pos)
		began := time.Now()
		if !begun {
			if it.Present || n > skip {
				if err := f.begin(s.State, pos, nil); err != nil {
					b.Fatal(err)
				}
				p.clock[0], begun = s.At.Wall, true
			}
			continue
		}
		if err := f.take(s); err != nil {
			b.Fatal(err)
		}
		p.took += time.Since(began)
		p.clock[1] = s.At.Wall
	}
}

func (p *playback) report(b *testing.B) {
	seconds := float64(p.clock[1]-p.clock[0]) / 1e9
	b.ReportMetric(float64(p.bytes)/float64(p.values), "B/value")
	b.ReportMetric(float64(p.framed)/float64(p.values), "B/value-framed")
	b.ReportMetric(float64(p.framed)/seconds, "B/s")
	b.ReportMetric(float64(p.values)/seconds, "values/s")
	b.ReportMetric(float64(p.snapshot), "B-snapshot")
	b.ReportMetric(float64(p.took.Microseconds())/seconds/1e4, "%core")
	b.ReportMetric(0, "ns/op")
}

// What a subscriber is sent of an archive, which TACHO_SUBSCRIBE names: the 250
// metrics of a telemetry service of the Mac, and everything.
func BenchmarkArchive(b *testing.B) {
	dir := os.Getenv("TACHO_SUBSCRIBE")
	if dir == "" {
		b.Skip("TACHO_SUBSCRIBE names no archive")
	}
	r, err := store.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	info := *r.Archives()[len(r.Archives())-1]
	known := selection.New(&info, r.Metrics())
	r.Close()
	for name, want := range map[string]*tachographv1.Selection{
		"telemetry":  {Categories: catalog.TelemetryCategories()},
		"everything": {},
	} {
		b.Run(name, func(b *testing.B) {
			chosen, err := known.Choose(want, false)
			if err != nil {
				b.Fatal(err)
			}
			for range b.N {
				from, err := OldestPosition(dir)
				if err != nil {
					b.Fatal(err)
				}
				f, err := follow.Open(follow.Options{From: from}, dir)
				if err != nil {
					b.Fatal(err)
				}
				var p playback
				p.play(b, chosen.Metrics, func() (archive.Item, follow.Position, error) {
					it, err := f.Next(context.Background())
					if err == nil && it.Present {
						err = errOver
					}
					return it, f.Position(), err
				})
				f.Close()
				p.report(b)
				b.ReportMetric(float64(len(chosen.Metrics)), "metrics")
			}
		})
	}
}

// What a tick of the 250 metrics comes to when everything that moves by its nature
// has moved: each number by a length of its own, from one to twenty bits.
func BenchmarkAllMove(b *testing.B) {
	dir := os.Getenv("TACHO_SUBSCRIBE")
	if dir == "" {
		b.Skip("TACHO_SUBSCRIBE names no archive")
	}
	r, err := store.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	info := *r.Archives()[len(r.Archives())-1]
	chosen, err := selection.New(&info, r.Metrics()).Choose(&tachographv1.Selection{Categories: catalog.TelemetryCategories()}, false)
	r.Close()
	if err != nil {
		b.Fatal(err)
	}
	group := &metric.Group{Name: "all"}
	for _, d := range chosen.Metrics {
		if service, ok := catalog.FindTelemetry(d.Name); ok && d.Formula == "" && d.Indom == metric.NoIndom && d.Type != metric.String && service.Class == metric.Polled {
			group.Metrics = append(group.Metrics, d)
		}
	}
	block := &metric.Block{Group: group, Rows: []*metric.Instance{nil}, Cols: make([]metric.Column, len(group.Metrics))}
	for c := range block.Cols {
		block.Cols[c].Bits = []uint64{uint64(c) * 1e6}
	}
	for range b.N {
		var p playback
		rnd := rand.New(rand.NewPCG(1, 1))
		at := metric.Stamp{Wall: 1700000000e9, Cont: 86400e9}
		pos := follow.Position{Archive: info.ID}
		n := 0
		p.play(b, group.Metrics, func() (archive.Item, follow.Position, error) {
			if n++; n > 800 {
				return archive.Item{}, pos, errOver
			}
			step := int64(1e9) + rnd.Int64N(1e6)
			at.Wall, at.Cont = at.Wall+step, at.Cont+step
			pos.Ticks[metric.Fast] = at.Cont
			for c, d := range group.Metrics {
				bits := &block.Cols[c].Bits[0]
				by := 1 + uint64(rnd.Int64N(2<<(c%20)))
				if d.Type == metric.F64 {
					*bits = math.Float64bits(float64(n) + rnd.Float64())
				} else if d.Sem != metric.Counter && rnd.IntN(2) == 0 {
					*bits -= by
				} else {
					*bits += by
				}
			}
			block.At = at
			return archive.Item{Archive: &info, Tick: &metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{block}}}, pos, nil
		})
		p.report(b)
	}
}

// What a subscriber to everything is sent of the recorded workstation that
// TACHO_DATASET names, of which everything was read each second.
func BenchmarkDataset(b *testing.B) {
	path, err := storetest.Find()
	if err != nil {
		b.Skip(err)
	}
	for range b.N {
		d, err := storetest.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		info := testArchive("00112233445566778899aabbccddeeff", "boot")
		pos := follow.Position{Archive: info.ID}
		var p playback
		ticks := make(map[string]*metric.Desc)
		var metrics []*metric.Desc
		var queue []*metric.Tick
		learn := func() error {
			system, proc, err := d.Next()
			for _, t := range []*metric.Tick{system, proc} {
				if t == nil || err != nil {
					continue
				}
				own := &metric.Tick{Class: t.Class, At: t.At}
				for _, bl := range t.Blocks {
					own.Blocks = append(own.Blocks, bl.Clone())
					for _, m := range bl.Group.Metrics {
						if ticks[m.Name] == nil {
							ticks[m.Name] = m
							metrics = append(metrics, m)
						}
					}
				}
				queue = append(queue, own)
			}
			return err
		}
		for range 5 {
			if err := learn(); err != nil {
				b.Fatal(err)
			}
		}
		n := 0
		p.play(b, metrics, func() (archive.Item, follow.Position, error) {
			if n++; n > 1400 {
				return archive.Item{}, pos, errOver
			}
			for len(queue) == 0 {
				if err := learn(); err != nil {
					return archive.Item{}, pos, errOver
				}
			}
			t := queue[0]
			queue = queue[1:]
			pos.Ticks[t.Class] = t.At.Cont
			return archive.Item{Archive: info, Tick: t}, pos, nil
		})
		d.Close()
		p.report(b)
	}
}
