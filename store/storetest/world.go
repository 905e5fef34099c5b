package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"tachograph/sample/metric"
)

// A World makes ticks at random: instances come, go, come back and are renamed, values of all
// types stay the same, grow, jump and are absent, and the wall clock steps.
type World struct {
	R      *rand.Rand
	Class  metric.Class
	groups []*worldGroup
	now    metric.Stamp
	next   uint64
}

type worldGroup struct {
	g     *metric.Group
	live  []*metric.Instance
	gone  []*metric.Instance
	cells map[*metric.Instance][]metric.Value
}

var worldReasons = []metric.Reason{metric.NotRead, metric.Permission, metric.Stale, metric.ReasonFor("no such luck"), metric.ReasonFor("errno 99")}

// NewWorld returns a world; the same seed makes the same ticks.
func NewWorld(seed uint64) *World {
	w := &World{R: rand.New(rand.NewPCG(seed, 1)), Class: metric.Class(seed % 5)}
	w.now = metric.Stamp{Wall: 1700000000e9 + int64(seed), Awake: 5e9, Cont: 7e9}
	types := []metric.Type{metric.I32, metric.U32, metric.I64, metric.U64, metric.F32, metric.F64, metric.String}
	for g := range 1 + w.R.IntN(4) {
		gr := &metric.Group{Name: fmt.Sprintf("g%d", g)}
		if w.R.IntN(3) > 0 {
			gr.Indom = fmt.Sprintf("dom%d", g)
		}
		for c := range 1 + w.R.IntN(9) {
			t := types[w.R.IntN(len(types))]
			sem := metric.Semantics(w.R.IntN(3))
			gr.Metrics = append(gr.Metrics, &metric.Desc{Name: fmt.Sprintf("g%d.m%d", g, c), Type: t, Sem: sem, Indom: gr.Indom})
		}
		wg := &worldGroup{g: gr, cells: make(map[*metric.Instance][]metric.Value)}
		if gr.Indom == "" {
			wg.live = []*metric.Instance{nil}
		}
		w.groups = append(w.groups, wg)
	}
	return w
}

func (w *World) value(d *metric.Desc, old metric.Value, fresh bool) metric.Value {
	v := old
	v.Type = d.Type
	switch k := w.R.IntN(100); {
	case k < 60 && !fresh:
		return v
	case k < 63:
		return metric.Value{Type: d.Type, Miss: worldReasons[w.R.IntN(len(worldReasons))]}
	}
	v.Miss = metric.Present
	switch d.Type {
	case metric.String:
		v.Str = []string{"", "a", "running", "sleeping\x00\xff", fmt.Sprint("s", w.R.IntN(50))}[w.R.IntN(5)]
	case metric.F32:
		v.Bits = uint64([]uint32{0, 1 << 31, 0x7fc00001, math.Float32bits(float32(w.R.IntN(100)) / 4), w.R.Uint32()}[w.R.IntN(5)])
	case metric.F64:
		v.Bits = []uint64{0, 1 << 63, 0x7ff8000000000001, math.Float64bits(float64(w.R.IntN(1000)) / 100), w.R.Uint64()}[w.R.IntN(5)]
	default:
		switch w.R.IntN(6) {
		case 0:
			v.Bits = w.R.Uint64() >> w.R.IntN(64)
		case 1:
			v.Bits = -w.R.Uint64() >> w.R.IntN(64)
		case 2:
			v.Bits = []uint64{0, math.MaxUint64, 1 << 63, 1<<63 - 1, math.MaxUint32}[w.R.IntN(5)]
		default:
			v.Bits += uint64(w.R.IntN(1000))
		}
		switch d.Type {
		case metric.I32:
			v.Bits = uint64(int64(int32(v.Bits)))
		case metric.U32:
			v.Bits = uint64(uint32(v.Bits))
		}
	}
	return v
}

// Tick makes the next tick; some groups may be left out of it.
func (w *World) Tick() *metric.Tick {
	step := int64(1e9) + int64(w.R.IntN(3e5))
	w.now.Cont += step
	w.now.Awake += step
	w.now.Wall += step
	switch w.R.IntN(50) {
	case 0:
		w.now.Wall -= int64(w.R.IntN(1e12))
	case 1:
		w.now.Cont += 3600e9
		w.now.Wall += 3600e9
	}
	t := &metric.Tick{Class: w.Class, At: w.now}
	for _, wg := range w.groups {
		if w.R.IntN(30) == 0 {
			continue
		}
		t.Blocks = append(t.Blocks, w.block(wg))
	}
	return t
}

func (w *World) block(wg *worldGroup) *metric.Block {
	if wg.g.Indom != "" {
		w.population(wg)
	}
	b := &metric.Block{Group: wg.g, At: w.now, Rows: append([]*metric.Instance(nil), wg.live...)}
	if w.R.IntN(3) == 0 {
		off := int64(w.R.IntN(1e6))
		b.At.Wall += off
		b.At.Cont += off
		b.At.Awake += off + int64(w.R.IntN(100))
	}
	b.Cols = make([]metric.Column, len(wg.g.Metrics))
	for c, d := range wg.g.Metrics {
		col := &b.Cols[c]
		for _, in := range wg.live {
			cells := wg.cells[in]
			fresh := cells == nil
			if fresh {
				cells = make([]metric.Value, len(wg.g.Metrics))
				wg.cells[in] = cells
			}
			v := w.value(d, cells[c], fresh)
			cells[c] = v
			col.Push(v)
		}
		present := true
		for _, m := range col.Miss {
			present = present && m == metric.Present
		}
		if present && w.R.IntN(2) == 0 {
			col.Miss = nil
		}
	}
	return b
}

func (w *World) population(wg *worldGroup) {
	for w.R.IntN(4) == 0 {
		w.next++
		in := &metric.Instance{ID: w.next, Key: fmt.Sprint(w.next, " ", w.R.IntN(1e6)), Name: fmt.Sprintf("%06d sh", w.next)}
		if w.R.IntN(3) == 0 {
			in.Labels = []metric.Label{{Name: "user", Value: fmt.Sprint(w.R.IntN(3))}}
		}
		wg.live = append(wg.live, in)
	}
	for len(wg.live) > 0 && w.R.IntN(5) == 0 {
		i := w.R.IntN(len(wg.live))
		wg.gone = append(wg.gone, wg.live[i])
		wg.live = append(wg.live[:i], wg.live[i+1:]...)
	}
	if len(wg.gone) > 0 && w.R.IntN(8) == 0 {
		i := w.R.IntN(len(wg.gone))
		wg.live = append(wg.live, wg.gone[i])
		wg.gone = append(wg.gone[:i], wg.gone[i+1:]...)
	}
	if len(wg.live) > 0 && w.R.IntN(6) == 0 {
		in := wg.live[w.R.IntN(len(wg.live))]
		in.Name += "x"
		in.Rev++
	}
	if len(wg.live) > 1 && w.R.IntN(6) == 0 {
		w.R.Shuffle(len(wg.live), func(i, j int) { wg.live[i], wg.live[j] = wg.live[j], wg.live[i] })
	}
}
