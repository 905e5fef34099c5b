package pdu

import (
	"testing"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// values returns a result with 64-bit metrics and the same number of instances of each.
func values(metrics, instances int) *Result {
	r := &Result{}
	ids := make([]uint32, instances)
	for i := range ids {
		ids[i] = uint32(i)
	}
	for i := range metrics {
		r.Sets = append(r.Sets, Set{PMID: metric.NewPMID(500, 1, uint32(i)), Type: pcp.U64, Instances: ids, Bits: make([]uint64, instances)})
	}
	return r
}

// BenchmarkResult writes an answer, and reads one.
func BenchmarkResult(b *testing.B) {
	for name, r := range map[string]*Result{"250 metrics": values(250, 1), "40 metrics of 1000 processes": values(40, 1000)} {
		wire := Append(nil, 0, r)
		b.Run("write "+name, func(b *testing.B) {
			b.SetBytes(int64(len(wire)))
			b.ReportAllocs()
			for b.Loop() {
				wire = Append(wire[:0], 0, r)
			}
		})
		b.Run("read "+name, func(b *testing.B) {
			b.SetBytes(int64(len(wire)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Parse(wire); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
