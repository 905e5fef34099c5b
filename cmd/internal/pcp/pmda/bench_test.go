package pmda

import (
	"context"
	"testing"
	"time"

	"tachograph/sample/metric"
)

// chosen are at most n metrics that this machine has and that ok accepts.
func chosen(m *Machine, n int, ok func(*metric.Desc) bool) (list []*metric.Desc) {
	for _, d := range m.Catalog().Descs {
		if d.Unsupported == "" && d.Formula == "" && ok(d) && len(list) < n {
			list = append(list, d)
		}
	}
	return list
}

func ofTheSystem(d *metric.Desc) bool { return d.Indom != "process" && d.Indom != "thread" }

// What a fetch takes, and what of it reading takes: the rest is what package demand and
// this one add.
func BenchmarkFetch(b *testing.B) {
	for _, c := range []struct {
		name string
		want func(*metric.Desc) bool
	}{
		{"system", ofTheSystem},
		{"load", func(d *metric.Desc) bool { return d.Name == "kernel.all.load" }},
		{"processes", func(d *metric.Desc) bool { return d.Indom == "process" }},
		{"process.utime", func(d *metric.Desc) bool { return d.Name == "proc.psinfo.utime" }},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := thisMachine(b)
			want := chosen(m, 250, c.want)
			var reading time.Duration
			b.ReportAllocs()
			for b.Loop() {
				for _, d := range want {
					m.reader.Forget(d)
				}
				for _, cost := range m.reader.Read(context.Background(), want).Costs {
					reading += cost.Took
				}
			}
			b.ReportMetric(float64(len(want)), "metrics")
			b.ReportMetric(float64(reading.Nanoseconds())/float64(b.N), "reading-ns/op")
		})
	}
	// Nothing is read: all of it is young.
	b.Run("shared", func(b *testing.B) {
		m := thisMachine(b)
		want := chosen(m, 250, func(d *metric.Desc) bool { return d.MinInterval() >= time.Second && ofTheSystem(d) })
		b.ReportAllocs()
		for b.Loop() {
			if _, err := m.Fetch(context.Background(), want); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(want)), "metrics")
	})
}
