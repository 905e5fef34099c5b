package digest

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// system makes chunks of an archive: a level and a counter of three disks, and what change makes
// of the ticks. A tick has the number that it has in the archive.
func system(t testing.TB, n int, change func(tick int, b *metric.Block)) (chunks [][]byte, desc func(uint32) *metric.Desc) {
	t.Helper()
	g := &metric.Group{Name: "disks", Indom: "disk", Metrics: []*metric.Desc{
		{Name: "disk.dev.used", Type: metric.F64, Sem: metric.Instant, Indom: "disk"},
		{Name: "disk.dev.read", Type: metric.U64, Sem: metric.Counter, Indom: "disk", Falls: metric.MayRestart},
		{Name: "disk.dev.size", Type: metric.U64, Sem: metric.Discrete, Indom: "disk"},
	}}
	var disks []*metric.Instance
	for i := range 3 {
		disks = append(disks, &metric.Instance{ID: uint64(i + 1), Rev: 1, Key: fmt.Sprint("sd", i), Name: fmt.Sprint("disk ", i)})
	}
	tick := 0
	for range n {
		b := chunk.NewBuilder(metric.Fast)
		for range 200 {
			wall := int64(tick+1) * 1e9
			at := metric.Stamp{Wall: wall, Cont: wall, Awake: wall}
			block := &metric.Block{At: at, Group: g, Rows: append([]*metric.Instance(nil), disks...), Cols: make([]metric.Column, 3)}
			for i := range disks {
				block.Cols[0].Bits = append(block.Cols[0].Bits, math.Float64bits(math.Sin(float64(tick*(i+1)))))
				block.Cols[1].Bits = append(block.Cols[1].Bits, uint64(tick*tick*(i+1)))
				block.Cols[2].Bits = append(block.Cols[2].Bits, uint64(1000*(i+1)))
			}
			if change != nil {
				change(tick, block)
			}
			if err := b.Append(&metric.Tick{At: at, Class: metric.Fast, Blocks: []*metric.Block{block}}); err != nil {
				t.Fatal(err)
			}
			tick++
		}
		s, err := b.Seal(numberIn(g))
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, s.Data)
	}
	return chunks, descIn(g)
}

func wholeOf(chunks [][]byte, desc func(uint32) *metric.Desc) *WholeWriter {
	w := NewWholeWriter(desc)
	for _, b := range chunks {
		w.Add(b)
	}
	return w
}

// TestWholeIsTheSumOfItsValues compares what a Whole says with one pass over all values.
func TestWholeIsTheSumOfItsValues(t *testing.T) {
	chunks, desc := system(t, 4, nil)
	whole, err := ParseWhole(wholeOf(chunks, desc).Record())
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.Groups) != 1 || len(whole.Groups[0].Instances) != 3 || len(whole.Groups[0].Metrics) != 3 || len(whole.Sums) != 4 {
		t.Fatalf("%+v", whole)
	}
	var conts []int64
	for tick := range 800 {
		conts = append(conts, int64(tick+1)*1e9)
	}
	for k, m := range whole.Groups[0].Metrics {
		for i, got := range m.Series {
			var bits []uint64
			for tick := range 800 {
				bits = append(bits, []uint64{math.Float64bits(math.Sin(float64(tick * (i + 1)))), uint64(tick * tick * (i + 1)), uint64(1000 * (i + 1))}[k])
			}
			want, _ := chunk.SummarizeValues(desc(m.Number), conts, bits, nil)
			if got.Count != want.Count || got.FirstBits != want.First || got.LastBits != want.Last || got.Min != want.Min || got.Max != want.Max ||
				got.First.Cont != 1e9 || got.Last.Cont != 800e9 || got.Longest != 1e9 || got.Increase != want.Increase || got.Steepest != want.Steepest ||
				math.Abs(got.Sum-want.Sum) > 1e-9*math.Abs(want.Sum)+1e-9 || math.Abs(got.Weighted-want.Weighted) > 1e-6 { // chunks round it
				t.Errorf("metric %d of disk %d: %+v, the values say %+v", k, i, got, want)
			}
		}
	}
}

// TestWholeLeavesOutWhatItCannotSay tries what must be judged by the values.
func TestWholeLeavesOutWhatItCannotSay(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(tick int, b *metric.Block)
		want   []uint32
	}{
		{"nothing", nil, []uint32{0, 1, 2}},
		{"a counter fell", func(tick int, b *metric.Block) {
			if tick >= 300 {
				b.Cols[1].Bits[1] = uint64(tick)
			}
		}, []uint32{0, 2}},
		{"a counter fell between two chunks", func(tick int, b *metric.Block) {
			if tick >= 400 {
				b.Cols[1].Bits[0] = uint64(tick - 400)
			}
		}, []uint32{0, 2}},
		{"a value is missing", func(tick int, b *metric.Block) {
			if tick == 77 {
				b.Cols[0].Miss = []metric.Reason{metric.Present, metric.NotRead, metric.Present}
			}
		}, []uint32{1, 2}},
		{"another name", func(tick int, b *metric.Block) {
			if tick >= 500 {
				b.Rows[1] = &metric.Instance{ID: 2, Rev: 2, Key: "sd1", Name: "renamed"}
			}
		}, nil},
		{"a disk goes", func(tick int, b *metric.Block) {
			if tick >= 350 {
				b.Rows = b.Rows[:2]
				for k := range b.Cols {
					b.Cols[k].Bits = b.Cols[k].Bits[:2]
				}
			}
		}, []uint32{0, 1, 2}},
	} {
		chunks, desc := system(t, 3, test.change)
		var got []uint32
		if record := wholeOf(chunks, desc).Record(); record != nil {
			whole, err := ParseWhole(record)
			if err != nil {
				t.Fatal(test.name, err)
			}
			for _, m := range whole.Groups[0].Metrics {
				got = append(got, m.Number)
			}
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: metrics %v, want %v", test.name, got, test.want)
		}
	}
}

// TestWholesThatLie changes records; Check must notice each change, but not a metric that is left
// out.
func TestWholesThatLie(t *testing.T) {
	chunks, desc := system(t, 3, nil)
	w := wholeOf(chunks, desc)
	for name, lie := range map[string]func(*Whole){
		"":                      func(*Whole) {},
		"-a metric is left out": func(w *Whole) { w.Groups[0].Metrics = w.Groups[0].Metrics[1:] },
		"-instances in another order": func(w *Whole) {
			g := &w.Groups[0]
			slices.Reverse(g.Instances)
			for k := range g.Metrics {
				for i := range g.Metrics[k].Series {
					g.Metrics[k].Series[i].Instance = 2 - i
				}
			}
		},
		"another chunk":              func(w *Whole) { w.Sums[1]++ },
		"a value":                    func(w *Whole) { w.Groups[0].Metrics[1].Series[0].LastBits++ },
		"a sum":                      func(w *Whole) { w.Groups[0].Metrics[0].Series[2].Sum += 1 },
		"a time":                     func(w *Whole) { w.Groups[0].Metrics[0].Series[1].Last.Wall++ },
		"a name":                     func(w *Whole) { w.Groups[0].Instances[0].Name += "x" },
		"a class":                    func(w *Whole) { w.Groups[0].Metrics[0].Class++ },
		"a series is left out":       func(w *Whole) { w.Groups[0].Metrics[0].Series = w.Groups[0].Metrics[0].Series[1:] },
		"a domain that is not there": func(w *Whole) { w.Groups[0].Indom += "x" },
	} {
		made, err := ParseWhole(w.Record())
		if err != nil {
			t.Fatal(err)
		}
		lie(made)
		right := name == "" || name[0] == '-'
		if err := w.Check(made.marshal()); (err == nil) != right {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// FuzzParseWhole decodes hostile records.
func FuzzParseWhole(f *testing.F) {
	chunks, desc := system(f, 3, nil)
	f.Add(wholeOf(chunks, desc).Record())
	f.Fuzz(func(t *testing.T, in []byte) {
		w, err := ParseWhole(in)
		if err != nil {
			return
		}
		for _, g := range w.Groups {
			for _, m := range g.Metrics {
				for _, s := range m.Series {
					if s.Instance < 0 || s.Instance >= len(g.Instances) {
						t.Fatalf("instance %d of %d", s.Instance, len(g.Instances))
					}
				}
			}
		}
		if again, err := ParseWhole(w.marshal()); err != nil || fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", w) {
			t.Fatalf("%+v came back as %+v: %v", w, again, err)
		}
	})
}
