package engine

import (
	"runtime/metrics"

	"tachograph/sample"
)

// Runtime says of this process what the first of SelfGroups tells.
type Runtime struct {
	samples []metrics.Sample
}

// NewRuntime makes one; it may be used by one goroutine at a time.
func NewRuntime() *Runtime {
	return &Runtime{[]metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/sched/goroutines:goroutines"},
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/gc/heap/live:bytes"},
	}}
}

// Fill puts into a row of the first of SelfGroups what the process uses.
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

// FillErrors puts into such a row how many errors there were.
func FillErrors(f *sample.Frame, row int, n uint64) { f.SetUint(row, selfErrors, n) }

// FillSource puts what became of reading a source into a row of the group of
// SelfGroups that has the sources as instances.
func FillSource(f *sample.Frame, row int, s *SourceStatus) {
	f.SetUint(row, sourceReads, s.Reads)
	f.SetUint(row, sourceErrors, s.Errors)
	f.SetUint(row, sourceTimeouts, s.Timeouts)
	f.SetUint(row, sourceDuration, uint64(s.Total))
	f.SetUint(row, sourcePartial, s.Partial)
}
