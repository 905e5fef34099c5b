package engine

import (
	"runtime/metrics"

	"tachograph/sample"
)

// Runtime fills the first of SelfGroups for this process.
type Runtime struct {
	samples []metrics.Sample
}

// NewRuntime makes a Runtime, which one goroutine at a time may use.
func NewRuntime() *Runtime {
	return &Runtime{[]metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/sched/goroutines:goroutines"},
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/gc/heap/live:bytes"},
	}}
}

// Fill sets what the process uses in a row of the first of SelfGroups.
func (r *Runtime) Fill(f *sample.Frame, row int, usage func() Usage) {
	if usage != nil {
		u := usage()
		f.SetUint(row, selfUser, uint64(u.User.Microseconds()))
		f.SetUint(row, selfSystem, uint64(u.System.Microseconds()))
		f.SetUint(row, selfResident, uint64(u.Resident>>10))
	}
	metrics.Read(r.samples)
	f.SetUint(row, selfHeap, r.samples[0].Value.Uint64()>>10)
	f.SetUint(row, selfGoroutines, r.samples[1].Value.Uint64())
	f.SetUint(row, selfCollections, r.samples[2].Value.Uint64())
	f.SetUint(row, selfCollector, uint64(r.samples[3].Value.Float64()*1e6))
	f.SetUint(row, selfLive, r.samples[4].Value.Uint64()>>10)
}

// FillErrors sets the number of errors in such a row.
func FillErrors(f *sample.Frame, row int, n uint64) { f.SetUint(row, selfErrors, n) }

// FillSource sets the statistics of a source in a row of the SelfGroups group whose instances
// are the sources.
func FillSource(f *sample.Frame, row int, s *SourceStatus) {
	f.SetUint(row, sourceReads, s.Reads)
	f.SetUint(row, sourceErrors, s.Errors)
	f.SetUint(row, sourceTimeouts, s.Timeouts)
	f.SetUint(row, sourceDuration, uint64(s.Total))
	f.SetUint(row, sourcePartial, s.Partial)
}
