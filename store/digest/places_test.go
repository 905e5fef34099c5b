package digest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// crowd makes chunks of processes: some live long, one of them is renamed in each chunk, one is
// away for a while, and the others come and go.
func crowd(t testing.TB, n int) (chunks [][]byte) {
	t.Helper()
	g := &metric.Group{Name: "process", Indom: "process", Metrics: []*metric.Desc{{Name: "proc.psinfo.utime", Type: metric.U64, Sem: metric.Counter, Indom: "process"}}}
	var lasting []*metric.Instance
	for i := range 70 {
		lasting = append(lasting, &metric.Instance{ID: uint64(i + 1), Rev: 1, Key: fmt.Sprintf("%d/%d", 100+i, i), Name: fmt.Sprintf("%06d p%d", 100+i, i%3),
			Labels: []metric.Label{{Name: "start", Value: fmt.Sprint(i)}}})
	}
	tick := 0
	for range n {
		b := chunk.NewBuilder(metric.Process)
		for range 30 {
			tick++
			at := metric.Stamp{Wall: int64(tick) * 1e9, Cont: int64(tick) * 1e9}
			if tick%20 == 0 {
				renamed := *lasting[7]
				renamed.Rev++
				renamed.Name = fmt.Sprintf("000107 worker/%d", tick)
				lasting[7] = &renamed
			}
			var rows []*metric.Instance
			for i, in := range lasting {
				if i != 9 || tick%45 < 30 {
					rows = append(rows, in)
				}
			}
			for k := range 8 {
				pid := 200 + (tick+k)*17%500 // Pids are used again.
				rows = append(rows, &metric.Instance{ID: uint64(1000 + tick + k), Rev: 1, Key: fmt.Sprintf("%d/%d", pid, 100+tick+k), Name: fmt.Sprintf("%06d short", pid)})
			}
			blk := &metric.Block{At: at, Group: g, Rows: rows, Cols: []metric.Column{{Bits: make([]uint64, len(rows))}}}
			if err := b.Append(&metric.Tick{At: at, Class: metric.Process, Blocks: []*metric.Block{blk}}); err != nil {
				t.Fatal(err)
			}
		}
		s, err := b.Seal(numberIn(g))
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, s.Data)
	}
	return chunks
}

func placesOfChunks(t testing.TB, chunks [][]byte) (*WholeWriter, []byte) {
	t.Helper()
	w := NewWholeWriter(func(uint32) *metric.Desc { return nil })
	for _, b := range chunks {
		w.Add(b)
	}
	record := w.Places()
	if record == nil {
		t.Fatal("there is no record", w.err)
	}
	return w, record
}

func open(t testing.TB, b []byte) *chunk.Group {
	t.Helper()
	c, err := chunk.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return c.Groups[0]
}

// described returns what an instance says, without its row.
func described(in *chunk.Instance) string { return fmt.Sprint(in.Key, in.Names, in.Runs) }

// TestAGuideFindsWhatASearchFinds asks chunks with and without a guide for every key of all
// chunks, and for what texts have in common.
func TestAGuideFindsWhatASearchFinds(t *testing.T) {
	chunks := crowd(t, 5)
	_, record := placesOfChunks(t, chunks)
	places, err := ParsePlaces(record)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{"1/1": true, "none": true, "": true}
	for _, b := range chunks {
		if err := open(t, b).Keys(func(_ int, key []byte) { keys[string(key)] = true }); err != nil {
			t.Fatal(err)
		}
	}
	framed := func(frame string) func(string) bool { return func(f string) bool { return f == frame } }
	named := func(part string) func(*chunk.Instance) bool {
		return func(in *chunk.Instance) bool {
			return slices.ContainsFunc(in.Names, func(n chunk.Naming) bool { return strings.Contains(n.Name, part) })
		}
	}
	questions := map[string]struct {
		s     *chunk.Sought
		meant func(in *chunk.Instance) bool
	}{
		"pid":         {&chunk.Sought{Traits: []chunk.Trait{{Ends: []chunk.Ending{{Value: 107, First: true}}}}, Labels: []string{"pid"}}, named("000107 ")},
		"another pid": {&chunk.Sought{Traits: []chunk.Trait{{Ends: []chunk.Ending{{Value: 217, First: true}}}}, Labels: []string{"pid"}}, named("000217 ")},
		"name":        {&chunk.Sought{Traits: []chunk.Trait{{Frame: framed("\x00 short")}}}, named("short")},
		"former name": {&chunk.Sought{Traits: []chunk.Trait{{Frame: framed("\x00 worker/\x00")}}}, named("worker/20")},
		"nobody":      {&chunk.Sought{Traits: []chunk.Trait{{Frame: framed("nobody")}}}, named("nobody")},
		"all":         {&chunk.Sought{Traits: []chunk.Trait{{}}}, named("")},
		"by label":    {&chunk.Sought{Traits: []chunk.Trait{{Frame: framed("nobody")}}, Labels: []string{"start"}}, named("")},
	}
	for n, b := range chunks {
		lead := func() chunk.Guide { return places.Guide(metric.Process, uint32(n), 0) }
		for key := range keys {
			led, alone := open(t, b), open(t, b)
			led.Lead(lead)
			have, err := led.Find(key)
			want, err2 := alone.Find(key)
			if have != want || err != nil || err2 != nil {
				t.Fatalf("chunk %d: %q is in row %d (%v), the guide says %d (%v)", n, key, want, err2, have, err)
			}
			if want < 0 {
				continue
			}
			a, err := led.Instance(have)
			b, err2 := alone.Instance(want)
			if err != nil || err2 != nil || described(a) != described(b) {
				t.Fatalf("chunk %d, key %q: %+v (%v), not %+v (%v)", n, key, a, err, b, err2)
			}
		}
		for what, q := range questions {
			led, alone := open(t, b), open(t, b)
			led.Lead(lead)
			have := make(map[string]bool)
			if err := led.Seek(q.s, func(in *chunk.Instance) { have[fmt.Sprint(in.Key, in.Names)] = true }); err != nil {
				t.Fatal(err)
			}
			want := 0
			if err := alone.Seek(q.s, func(in *chunk.Instance) {
				want++
				if q.meant(in) && !have[fmt.Sprint(in.Key, in.Names)] {
					t.Errorf("chunk %d, %s: the guide leaves out %s %v", n, what, in.Key, in.Names)
				}
			}); err != nil {
				t.Fatal(err)
			}
			if len(have) > want+1 {
				t.Errorf("chunk %d, %s: the guide has %d instances, a search %d: %v", n, what, len(have), want, slices.Sorted(maps.Keys(have)))
			}
		}
	}
}

// TestPlacesOfOtherChunks checks records against their chunks and against others.
func TestPlacesOfOtherChunks(t *testing.T) {
	chunks := crowd(t, 4)
	w, record := placesOfChunks(t, chunks)
	if err := w.CheckPlaces(record); err != nil {
		t.Error(err)
	}
	other, _ := placesOfChunks(t, crowd(t, 5))
	if err := other.CheckPlaces(record); err == nil {
		t.Error("a record of four chunks is taken for one of five")
	}
	for what, lie := range map[string]func(w *placesMaker){
		"two rows exchanged": func(w *placesMaker) { e := w.tables[1].early; e[3], e[4] = e[4], e[3] },
		"one left out":       func(w *placesMaker) { w.tables[2].early = w.tables[2].early[:20] },
		"another name":       func(w *placesMaker) { w.insts[5].Name = "000105 q" },
		"a former name lost": func(w *placesMaker) { w.tables[2].names = w.tables[2].names[:1] },
		"one name only":      func(w *placesMaker) { w.tables[2].early[7].several = !w.tables[2].early[7].several },
		"fewer late ones":    func(w *placesMaker) { w.tables[0].greatest-- },
		"a table too few":    func(w *placesMaker) { w.tables = w.tables[:3] },
	} {
		liar, _ := placesOfChunks(t, chunks)
		lie(&liar.places)
		if err := w.CheckPlaces(liar.Places()); err == nil {
			t.Errorf("%s: the lie is not found", what)
		}
	}
}

// FuzzParsePlaces asks guides of records from strangers.
func FuzzParsePlaces(f *testing.F) {
	chunks := crowd(f, 3)
	_, record := placesOfChunks(f, chunks)
	f.Add(record, "107/7")
	f.Add(record[:len(record)/2], "1")
	f.Fuzz(func(t *testing.T, b []byte, key string) {
		p, err := ParsePlaces(b)
		if err != nil {
			return
		}
		for n, b := range chunks {
			g := open(t, b)
			g.Lead(func() chunk.Guide { return p.Guide(metric.Process, uint32(n), 0) })
			if row, err := g.Find(key); err == nil && row >= 0 {
				if _, err := g.Instance(row); err != nil {
					t.Error(err)
				}
			}
			if err := g.Seek(&chunk.Sought{Traits: []chunk.Trait{{}}}, func(*chunk.Instance) {}); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestAWrongGuideIsLeft asks a guide that names rows which the chunk does not have.
func TestAWrongGuideIsLeft(t *testing.T) {
	chunks := crowd(t, 3)
	whole, _ := placesOfChunks(t, chunks)
	w := &whole.places
	for i := range 200 {
		w.insts = append(w.insts, &metric.Instance{Key: fmt.Sprintf("%d/7", 900+i), Name: "invented"})
		for k := range w.tables {
			w.tables[k].early = append(w.tables[k].early, earlyPlace{inst: uint32(len(w.insts) - 1)})
		}
	}
	places, err := ParsePlaces(whole.Places())
	if err != nil {
		t.Fatal(err)
	}
	g := open(t, chunks[1])
	g.Lead(func() chunk.Guide { return places.Guide(metric.Process, 1, 0) })
	if row, err := g.Find("901/7"); row >= 0 || err != nil {
		t.Fatalf("an invented instance is in row %d, %v", row, err)
	}
	all := 0
	if err := g.Seek(&chunk.Sought{Traits: []chunk.Trait{{}}}, func(*chunk.Instance) { all++ }); err != nil || all != g.Size {
		t.Fatalf("%d of %d instances are found, %v", all, g.Size, err)
	}
}
