package journal

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/storetest"
)

// openDataset opens the dataset, or skips the benchmark if there is none.
func openDataset(b *testing.B) *storetest.Dataset {
	path, err := storetest.Find()
	if errors.Is(err, storetest.ErrNone) {
		b.Skip(err)
	}
	d, err := storetest.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// BenchmarkSize reports how many bytes a journal takes per value, with all its parts and
// generations of 15 minutes. It compares every value that comes back.
func BenchmarkSize(b *testing.B) {
	for _, every := range []int{1, 5, 10} {
		b.Run(fmt.Sprintf("process%ds", every), func(b *testing.B) {
			for b.Loop() {
				d := openDataset(b)
				file := &memFile{}
				w := NewWriter(file, Header{}, nil)
				var r *Reader
				var err error
				var values, size int64
				for i := 0; ; i++ {
					sys, proc, eof := d.Next()
					if eof == io.EOF {
						break
					}
					if eof != nil {
						b.Fatal(eof)
					}
					if i%900 == 0 {
						size += w.Size()
						file = &memFile{}
						w = NewWriter(file, Header{}, w.Encoder())
						if w.Flush() != nil {
							b.Fatal("cannot write")
						}
						if r, err = NewReader(file, nil, nil); err != nil {
							b.Fatal(err)
						}
					}
					ticks := []*metric.Tick{sys}
					if i%every == 0 {
						ticks = append(ticks, proc)
					}
					for _, t := range ticks {
						if err := w.Tick(t); err != nil {
							b.Fatal(err)
						}
						values += int64(t.Values())
						rec, err := r.Next()
						if err != nil {
							b.Fatal(err)
						}
						if err := sameTick(t, rec.Tick); err != nil {
							b.Fatal(err)
						}
					}
				}
				size += w.Size()
				d.Close()
				b.ReportMetric(float64(size)/float64(values), "B/value")
				b.ReportMetric(float64(size), "file-B")
				b.ReportMetric(float64(values), "values")
			}
		})
	}
}

// BenchmarkEncode and BenchmarkDecode use ten minutes of the dataset, in which processes
// come and go.
func BenchmarkEncode(b *testing.B) {
	ticks, values := tenMinutes(b)
	enc := NewEncoder()
	var body []byte
	b.ReportAllocs()
	for b.Loop() {
		enc.Reset()
		for _, t := range ticks {
			body, _ = enc.Tick(body[:0], t)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(values), "ns/value")
}

func BenchmarkDecode(b *testing.B) {
	ticks, values := tenMinutes(b)
	enc := NewEncoder()
	var bodies [][]byte
	for _, t := range ticks {
		body, err := enc.Tick(nil, t)
		if err != nil {
			b.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	var rec Record
	for b.Loop() {
		dec := NewDecoder(false, nil)
		for _, body := range bodies {
			if err := dec.Decode(body, &rec); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(values), "ns/value")
}

func tenMinutes(b *testing.B) (ticks []*metric.Tick, values int) {
	d := openDataset(b)
	defer d.Close()
	groups := map[*metric.Group]*metric.Group{}
	for range 600 {
		sys, proc, err := d.Next()
		if err != nil {
			b.Fatal(err)
		}
		for _, t := range []*metric.Tick{sys, proc} {
			values += t.Values()
			c := &metric.Tick{Class: t.Class, At: t.At}
			for _, x := range t.Blocks {
				if groups[x.Group] == nil {
					groups[x.Group] = x.Group
				}
				y := &metric.Block{Group: groups[x.Group], At: x.At, Rows: append([]*metric.Instance(nil), x.Rows...)}
				for _, col := range x.Cols {
					y.Cols = append(y.Cols, metric.Column{Bits: append([]uint64(nil), col.Bits...)})
				}
				c.Blocks = append(c.Blocks, y)
			}
			ticks = append(ticks, c)
		}
	}
	return ticks, values
}

// BenchmarkSteady is a machine on which no process comes or goes. This case must not
// allocate.
func BenchmarkSteady(b *testing.B) {
	for _, processes := range []int{360, 1200} {
		b.Run(fmt.Sprint(processes), func(b *testing.B) {
			t := steady(processes)
			enc := NewEncoder()
			var body []byte
			step := 0
			next := func() {
				step++
				for _, blk := range t.Blocks {
					for j := range blk.Cols {
						col := blk.Cols[j].Bits
						for r := (step + j) % 23; r < len(col); r += 23 {
							col[r] += uint64(r * step % 1000)
						}
					}
				}
				t.At.Cont += 1e9
				t.At.Wall += 1e9
				t.At.Awake += 1e9
				t.Blocks[0].At = t.At
				body, _ = enc.Tick(body[:0], t)
			}
			for range 100 {
				next()
			}
			b.ReportAllocs()
			for b.Loop() {
				next()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(t.Values()), "ns/value")
		})
	}
}

func steady(processes int) *metric.Tick {
	g := &metric.Group{Name: "proc", Indom: "process"}
	for j := range 16 {
		g.Metrics = append(g.Metrics, &metric.Desc{Name: fmt.Sprintf("proc.m%d", j), Type: metric.U64})
	}
	blk := &metric.Block{Group: g, Cols: make([]metric.Column, 16)}
	for i := range processes {
		blk.Rows = append(blk.Rows, &metric.Instance{ID: uint64(i), Key: fmt.Sprint(i), Name: fmt.Sprintf("%06d sh", i)})
	}
	for j := range blk.Cols {
		blk.Cols[j].Bits = make([]uint64, processes)
	}
	return &metric.Tick{Class: metric.Process, Blocks: []*metric.Block{blk}}
}

// BenchmarkFirst is the most expensive record: the first tick of a generation, which defines
// all groups and instances and holds all values.
func BenchmarkFirst(b *testing.B) {
	ticks, _ := tenMinutes(b)
	enc := NewEncoder()
	var body []byte
	b.Run("system", func(b *testing.B) {
		for b.Loop() {
			enc.Reset()
			body, _ = enc.Tick(body[:0], ticks[0])
		}
		b.ReportMetric(float64(len(body)), "B")
	})
	b.Run("process", func(b *testing.B) {
		for b.Loop() {
			enc.Reset()
			body, _ = enc.Tick(body[:0], ticks[1])
		}
		b.ReportMetric(float64(len(body)), "B")
	})
	b.Run("reset", func(b *testing.B) {
		for b.Loop() {
			enc.Reset()
		}
	})
}
