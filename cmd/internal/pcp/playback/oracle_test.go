package playback

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/sample/metric"
	"tachograph/store/query/querytest"
)

// oracle says how things stood at a wall clock, by looking through everything.
func oracle(parts []*querytest.Part, wall int64, name string) string {
	const none = "not read"
	var in *querytest.Part
	last := int64(0)
	for _, p := range parts {
		for _, t := range p.Ticks {
			if t.At.Wall <= wall && t.At.Wall >= last {
				in, last = p, t.At.Wall
			}
		}
	}
	if in == nil || wall-last > 10e9 {
		return none
	}
	for _, e := range in.Events {
		begin := e.At.Wall
		if from, err := time.Parse(time.RFC3339, e.Label("from")); err == nil {
			begin = from.UnixNano()
		}
		if e.Breaks() && begin >= last && begin <= wall {
			return none
		}
	}
	for _, t := range slices.Backward(in.Ticks) {
		if t.At.Wall > wall {
			continue
		}
		for _, b := range t.Blocks {
			c := slices.IndexFunc(b.Group.Metrics, func(d *metric.Desc) bool { return d.Name == name })
			if c < 0 {
				continue
			}
			if every := in.Info.Intervals[t.Class]; every != 0 && every != metric.Once && wall-t.At.Wall > max(10e9, 3*int64(every)) {
				return none
			}
			return shown(&pcpserve.View{Blocks: []*metric.Block{b}}, b.Group.Metrics[c])
		}
	}
	return none
}

// Whenever somebody looks, at any speed, what is played is what had been read.
func TestPlayedIsRead(t *testing.T) {
	parts, err := querytest.Parse(strings.NewReader(script))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"hinv.ncpu", "mem.physmem", "mem.util.used", "disk.all.total", "swap.used", "proc.memory.rss"}
	for seed, speed := range []float64{1, 7, 0.25, 100} {
		rnd := rand.New(rand.NewPCG(uint64(seed), 16))
		play(t, script, Options{Speed: speed}, func(th *theatre) {
			values := 0
			for th.now() < 850*time.Second {
				th.pass(time.Duration(rnd.ExpFloat64() * 3e9 / speed))
				now := th.now()
				if now > 830*time.Second {
					break // it is over
				}
				for _, name := range names {
					want := oracle(parts, at(now), name)
					d := th.desc(name)
					v, err := th.Fetch(context.Background(), []*metric.Desc{d})
					if err != nil {
						t.Fatal(err)
					}
					if got := shown(v, d); got != want {
						t.Errorf("speed %v, at %v: %s is %q, want %q", speed, now, name, got, want)
					}
					if want != "not read" {
						values++
					}
				}
				if t.Failed() {
					return
				}
			}
			if values < 100 {
				t.Errorf("speed %v: only %d values were there to compare", speed, values)
			}
		})
	}
}
