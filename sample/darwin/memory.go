package darwin

import (
	"time"

	"tachograph/sample"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/metric"
)

// vmColumn is a metric from vm_statistics64: the sum of some fields, which
// are counts of pages.
type vmColumn struct {
	metric string
	fields []*decode.Field
	// kbytes says that the metric is that many pages in kilobytes.
	kbytes bool
}

func vmCount(metric string, f *decode.Field) vmColumn { return vmColumn{metric, one(f), false} }
func vmSpace(metric string, fs ...*decode.Field) vmColumn {
	return vmColumn{metric, fs, true}
}
func one(f *decode.Field) []*decode.Field { return []*decode.Field{f} }

var vmColumns = []vmColumn{
	vmSpace("mem.freemem", decode.VMFreeCount),
	vmSpace("mem.active", decode.VMActiveCount),
	vmSpace("mem.inactive", decode.VMInactiveCount),
	vmSpace("mem.util.free", decode.VMFreeCount),
	vmSpace("mem.util.active", decode.VMActiveCount),
	vmSpace("mem.util.inactive", decode.VMInactiveCount),
	vmSpace("mem.util.wired", decode.VMWireCount),
	vmSpace("mem.util.compressed", decode.VMCompressorPageCount),
	vmSpace("mem.util.used", decode.VMWireCount, decode.VMActiveCount, decode.VMInactiveCount, decode.VMCompressorPageCount),
	vmCount("mem.pages.freemem", decode.VMFreeCount),
	vmCount("mem.pages.active", decode.VMActiveCount),
	vmCount("mem.pages.inactive", decode.VMInactiveCount),
	vmCount("mem.pages.wired", decode.VMWireCount),
	vmCount("mem.pages.reactivated", decode.VMReactivations),
	vmCount("mem.pages.faults", decode.VMFaults),
	vmCount("mem.pages.cow_faults", decode.VMCowFaults),
	vmCount("mem.pages.zero_filled", decode.VMZeroFillCount),
	vmCount("mem.pageins", decode.VMPageins),
	vmCount("mem.pageouts", decode.VMPageouts),
	vmCount("mem.compressions", decode.VMCompressions),
	vmCount("mem.decompressions", decode.VMDecompressions),
	vmCount("mem.compressor.pages", decode.VMCompressorPageCount),
	vmCount("mem.compressor.uncompressed_pages", decode.VMTotalUncompressedPagesInCompressor),
	// Swap traffic, where PCP reports file traffic.
	vmCount("swap.pagesin", decode.VMSwapins),
	vmCount("swap.pagesout", decode.VMSwapouts),
}

// value is the metric in an answer; false if the kernel's revision of the
// struct ends before it.
func (c *vmColumn) value(answer []byte, pageSize uint64) (uint64, bool) {
	var sum uint64
	for _, f := range c.fields {
		v, ok := f.Uint(answer)
		if !ok {
			return 0, false
		}
		sum += v
	}
	if c.kbytes {
		// Pages are a multiple of 1024 bytes.
		sum *= pageSize >> 10
	}
	return sum, true
}

// olderThan reports whether an answer was given before another: whether a
// counter in it is behind.
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

// fillMemory sets the single row of f. beyond is why what the answer is too
// short for is absent.
func fillMemory(f *sample.Frame, answer []byte, pageSize uint64, beyond metric.Reason) {
	row := f.Row(nil)
	for col := range vmColumns {
		if v, ok := vmColumns[col].value(answer, pageSize); ok {
			f.SetUint(row, col, v)
		} else {
			f.SetMissing(row, col, beyond)
		}
	}
}

// An answer of host_statistics64 may be repeated for as long as this.
const repeatWindow = time.Second

// freshness tells repeated answers from fresh ones.
type freshness struct {
	answer []byte
	since  int64 // continuous clock when these bytes were seen at the latest
}

// stale reports whether answer, asked for and received at two instants of the
// continuous clock, may be an older answer of the kernel's. A kernel that is
// asked too often repeats the last answer of the current window. So the same
// bytes within one window say nothing, while the same bytes after a whole
// window are a machine that stands still.
func (r *freshness) stale(answer []byte, asked, received int64) bool {
	if string(r.answer) == string(answer) {
		return asked-r.since < int64(repeatWindow)
	}
	r.answer = append(r.answer[:0], answer...)
	r.since = received
	return false
}

// truePageSize corrects a page size by what the memory holds: a program that
// runs translated on Apple silicon is told 4096 while the kernel counts pages
// of 16384.
func truePageSize(told, pages, memory uint64) uint64 {
	const apple = 16384
	near := func(size uint64) bool { return pages*size <= memory && pages*size >= memory-memory/4 }
	if told != apple && !near(told) && near(apple) {
		return apple
	}
	return told
}
