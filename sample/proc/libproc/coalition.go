package libproc

import (
	"encoding/binary"

	"tachograph/sample/darwin/decode"
)

const (
	// ResourceCoalition is the type of the coalitions that have a usage: launchd makes one for
	// each app and each service that it starts.
	ResourceCoalition = 0
	coalitionRecord   = 16
	// UsageSize is the size of coalition_resource_usage up to the last field that is known.
	// Older kernels have less of it, newer ones more.
	UsageSize = 360
)

func coalition(name string, off int) *decode.Field {
	return field("coalition_resource_usage", name, off, 8, false)
}

// From coalition_info_resource_usage. Times are Mach ticks. Kernels before macOS 15 end before
// ane_mach_time. What gpu_time counts is not known for Apple's processors.
var (
	CoalitionBegan = coalition("tasks_started", 0)
	CoalitionEnded = coalition("tasks_exited", 8)
	CoalitionTime  = coalition("cpu_time", 24)

	_ = []*decode.Field{
		coalition("interrupt_wakeups", 32),
		coalition("platform_idle_wakeups", 40),
		coalition("bytesread", 48),
		coalition("byteswritten", 56),
		coalition("energy", 88),
		coalition("logical_immediate_writes", 96),
		coalition("logical_deferred_writes", 104),
		coalition("logical_invalidated_writes", 112),
		coalition("logical_metadata_writes", 120),
		coalition("energy_billed_to_me", 160),
		coalition("energy_billed_to_others", 168),
		coalition("cpu_ptime", 176),
		coalition("cpu_instructions", 248),
		coalition("cpu_cycles", 256),
		coalition("ane_mach_time", 304),
		coalition("ane_energy_nj", 312),
		coalition("phys_footprint", 320),
		coalition("gpu_energy_nj", 328),
	}
	// coalitionSwapins came with macOS 26, after the headers that were measured.
	coalitionSwapins = decode.Struct("coalition_resource_usage").U64("swapins", 352)
)

// Coalitions calls each with the resource coalitions in an answer to proc_listcoalitions, and
// with how many processes of each live.
func Coalitions(list []byte, each func(id uint64, living uint32)) {
	for ; len(list) >= coalitionRecord; list = list[coalitionRecord:] {
		if binary.LittleEndian.Uint32(list[8:]) == ResourceCoalition {
			each(binary.LittleEndian.Uint64(list), binary.LittleEndian.Uint32(list[12:]))
		}
	}
}

// untouched is what no counter shows: words that still have it were not written by the kernel.
const untouched = 0xa5a5a5a5a5a5a5a5

var blank = func() (b [UsageSize]byte) {
	for i := range b {
		b[i] = 0xa5
	}
	return b
}()

// Blank prepares a buffer for an answer whose length the kernel does not tell.
func Blank(b *[UsageSize]byte) { *b = blank }

// Answered returns the part of a buffer that the kernel has written since Blank.
func Answered(b *[UsageSize]byte) []byte {
	n := len(b)
	for n > 0 && binary.LittleEndian.Uint64(b[n-8:]) == untouched {
		n -= 8
	}
	return b[:n]
}
