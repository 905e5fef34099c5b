package darwin

import (
	"time"

	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

// memoryRows returns the table of the metrics from vm_statistics64.
func memoryRows() *rows.Table {
	return rows.New("vmstat", rows.Select(metric.NoIndom, "host_statistics64 HOST_VM_INFO64 "), 0, nil)
}

// pages is an answer and the page size. The rows of some metrics multiply by it.
type pages struct {
	rows.Struct
	size uint64
}

func pagesOf(t *rows.Table, arch string) pages {
	return pages{Struct: rows.Struct{Members: t.Members(arch, "pagesize")}}
}

func (p *pages) Leaf(i int) rows.Value {
	if p.Members[i].Field == nil {
		return rows.Value{Bits: p.size}
	}
	return p.Struct.Leaf(i)
}

// olderThan reports whether an answer was given before another: whether one of its counters is
// behind.
func olderThan(answer, other []byte) bool {
	for _, f := range []*decode.Field{decode.VMFaults, decode.VMZeroFillCount, decode.VMPageins, decode.VMCowFaults} {
		a, ok := f.Uint(answer)
		b, ok2 := f.Uint(other)
		if ok && ok2 && a < b {
			return true
		}
	}
	return false
}

// repeatWindow is how long the kernel may repeat an answer of host_statistics64.
const repeatWindow = time.Second

// freshness distinguishes repeated answers from fresh ones.
type freshness struct {
	answer []byte
	since  int64 // continuous clock when these bytes were first received
}

// stale reports whether answer, asked for and received at two instants of the continuous clock,
// may be an older answer of the kernel. A kernel that is asked too often repeats the last answer
// of the current window. So the same bytes within one window prove nothing, while the same bytes
// after a whole window mean that nothing changed.
func (r *freshness) stale(answer []byte, asked, received int64) bool {
	if string(r.answer) == string(answer) {
		return asked-r.since < int64(repeatWindow)
	}
	r.answer = append(r.answer[:0], answer...)
	r.since = received
	return false
}

// truePageSize corrects a page size by the size of the memory: on Apple silicon a translated
// program gets 4096 while the kernel counts pages of 16384.
func truePageSize(told, pages, memory uint64) uint64 {
	const apple = 16384
	near := func(size uint64) bool { return pages*size <= memory && pages*size >= memory-memory/4 }
	if told != apple && !near(told) && near(apple) {
		return apple
	}
	return told
}
