package darwin

// The values of a disk, by the names that its driver keeps them under.
const (
	diskReads = iota
	diskWrites
	diskReadBytes
	diskWriteBytes
	diskReadLatency
	diskWriteLatency
	diskReadTime
	diskWriteTime
	diskReadErrors
	diskWriteErrors
	diskReadRetries
	diskWriteRetries
	// The rest is derived: blocks of the disk's own size.
	diskReadBlocks
	diskWriteBlocks
	diskValues

	diskKeys = diskReadBlocks
)

var diskKeyNames = [diskKeys]string{
	diskReads:        "Operations (Read)",
	diskWrites:       "Operations (Write)",
	diskReadBytes:    "Bytes (Read)",
	diskWriteBytes:   "Bytes (Write)",
	diskReadLatency:  "Latency Time (Read)",
	diskWriteLatency: "Latency Time (Write)",
	diskReadTime:     "Total Time (Read)",
	diskWriteTime:    "Total Time (Write)",
	diskReadErrors:   "Errors (Read)",
	diskWriteErrors:  "Errors (Write)",
	diskReadRetries:  "Retries (Read)",
	diskWriteRetries: "Retries (Write)",
}

// diskColumn is a metric of one disk and of all together: the sum of some
// values, in kilobytes where shift is 10.
type diskColumn struct {
	name  string // without "disk.dev." or "disk.all."
	parts []int
	shift uint
}

var diskColumns = []diskColumn{
	{"read", []int{diskReads}, 0},
	{"write", []int{diskWrites}, 0},
	{"total", []int{diskReads, diskWrites}, 0},
	{"read_bytes", []int{diskReadBytes}, 10},
	{"write_bytes", []int{diskWriteBytes}, 10},
	{"total_bytes", []int{diskReadBytes, diskWriteBytes}, 10},
	{"blkread", []int{diskReadBlocks}, 0},
	{"blkwrite", []int{diskWriteBlocks}, 0},
	{"blktotal", []int{diskReadBlocks, diskWriteBlocks}, 0},
	{"read_time", []int{diskReadLatency}, 0},
	{"write_time", []int{diskWriteLatency}, 0},
	{"total_time", []int{diskReadLatency, diskWriteLatency}, 0},
	{"total_read_time", []int{diskReadTime}, 0},
	{"total_write_time", []int{diskWriteTime}, 0},
	{"read_errors", []int{diskReadErrors}, 0},
	{"write_errors", []int{diskWriteErrors}, 0},
	{"read_retries", []int{diskReadRetries}, 0},
	{"write_retries", []int{diskWriteRetries}, 0},
}

// diskReading is what a driver told; has says which values it had.
type diskReading struct {
	v   [diskValues]uint64
	has [diskValues]bool
}

// blocks derives the block counts.
func (r *diskReading) blocks(size uint64) {
	if size == 0 {
		return
	}
	r.v[diskReadBlocks], r.has[diskReadBlocks] = r.v[diskReadBytes]/size, r.has[diskReadBytes]
	r.v[diskWriteBlocks], r.has[diskWriteBlocks] = r.v[diskWriteBytes]/size, r.has[diskWriteBytes]
}

// value is a column of a reading; false if the driver lacks a part of it.
func (c *diskColumn) value(r *diskReading) (uint64, bool) {
	var sum uint64
	for _, p := range c.parts {
		if !r.has[p] {
			return 0, false
		}
		sum += r.v[p]
	}
	return sum >> c.shift, true
}
