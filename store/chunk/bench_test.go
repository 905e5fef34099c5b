package chunk

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/storetest"
)

// recording returns the first ticks of a dataset, for benchmarks to append.
func recording(b *testing.B, ticks int) (system, proc []*metric.Tick) {
	path, err := storetest.Find()
	if err != nil {
		b.Skip(err)
	}
	d, err := storetest.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	for range ticks {
		s, p, err := d.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		system = append(system, storetest.Clone(s))
		proc = append(proc, storetest.Clone(p))
	}
	return system, proc
}

func build(b *testing.B, ticks []*metric.Tick) *Builder {
	cb := NewBuilder(ticks[0].Class)
	for _, t := range ticks {
		if err := cb.Append(t); err != nil {
			b.Fatal(err)
		}
	}
	return cb
}

func perValue(b *testing.B, values int64) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(values), "ns/value")
}

func eachClass(b *testing.B, fn func(b *testing.B, ticks []*metric.Tick)) {
	system, proc := recording(b, 300)
	b.Run("system", func(b *testing.B) { fn(b, system) })
	b.Run("process", func(b *testing.B) { fn(b, proc) })
}

// BenchmarkAppend appends five minutes of ticks in memory, then calls Reset.
func BenchmarkAppend(b *testing.B) {
	eachClass(b, func(b *testing.B, ticks []*metric.Tick) {
		b.ReportAllocs()
		cb := NewBuilder(ticks[0].Class)
		values, n := int64(0), 0
		for b.Loop() {
			if n == len(ticks) {
				values += cb.Values()
				cb.Reset()
				n = 0
			}
			if err := cb.Append(ticks[n]); err != nil {
				b.Fatal(err)
			}
			n++
		}
		values += cb.Values()
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(values), "ns/value")
	})
}

// BenchmarkSteady appends a tick without changes again and again.
func BenchmarkSteady(b *testing.B) {
	eachClass(b, func(b *testing.B, ticks []*metric.Tick) {
		b.ReportAllocs()
		cb := NewBuilder(ticks[0].Class)
		if err := cb.Append(ticks[0]); err != nil {
			b.Fatal(err)
		}
		values := cb.Values()
		for b.Loop() {
			if cb.Ticks() == MaxTicks {
				b.Fatal("too many ticks for one chunk")
			}
			if err := cb.Append(ticks[0]); err != nil {
				b.Fatal(err)
			}
		}
		perValue(b, values)
	})
}

// BenchmarkSeal encodes five minutes.
func BenchmarkSeal(b *testing.B) {
	eachClass(b, func(b *testing.B, ticks []*metric.Tick) {
		cb := build(b, ticks)
		b.ReportAllocs()
		size := 0
		for b.Loop() {
			s, err := cb.Seal((&numbers{}).number)
			if err != nil {
				b.Fatal(err)
			}
			size = len(s.Data)
		}
		b.ReportMetric(float64(size)/float64(cb.Values()), "B/value")
		perValue(b, cb.Values())
	})
}

// BenchmarkOpen reads a directory.
func BenchmarkOpen(b *testing.B) {
	eachClass(b, func(b *testing.B, ticks []*metric.Tick) {
		s, err := build(b, ticks).Seal((&numbers{}).number)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := Open(bytes.NewReader(s.Data), int64(len(s.Data))); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDecode decodes five minutes into changes.
func BenchmarkDecode(b *testing.B) {
	eachClass(b, func(b *testing.B, ticks []*metric.Tick) {
		cb := build(b, ticks)
		s, err := cb.Seal((&numbers{}).number)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			c, err := Open(bytes.NewReader(s.Data), int64(len(s.Data)))
			if err != nil {
				b.Fatal(err)
			}
			for _, g := range c.Groups {
				if _, err := g.Instances(); err != nil {
					b.Fatal(err)
				}
				for col := range g.Columns {
					if err := g.Series(col, nil, func(int, *Series) error { return nil }); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		b.ReportMetric(float64(cb.Values())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
	})
}
