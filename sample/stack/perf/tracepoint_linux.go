package perf

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tracepoint hears what passes one of the kernel's tracepoints, on all processors.
type Tracepoint struct {
	// Format describes the fields, as the kernel writes it.
	Format string
	events events
	taken  []byte
	order  []span
}

// tracepointPages is the size of a ring: some thousands of records. All rings together have at
// most tracepointAll.
const tracepointPages, tracepointAll = 64, 1024

// OpenTracepoint starts to hear a tracepoint, such as "sock/inet_sock_set_state": of the records
// that the kernel's filter lets through. It reads tracefs where that is mounted.
func OpenTracepoint(name, filter string) (t *Tracepoint, err error) {
	t = new(Tracepoint)
	id, format, err := tracepoint(name)
	if err != nil {
		return nil, err
	}
	t.Format = format
	cpus, err := processors()
	if err != nil {
		return nil, err
	}
	pages := tracepointPages // a power of two
	for pages > leastPages && pages*len(cpus) > tracepointAll {
		pages /= 2
	}
	for _, cpu := range cpus {
		if err = t.open(id, filter, cpu, pages); err != nil {
			t.Close()
			return nil, fmt.Errorf("perf events: %w", err)
		}
	}
	return t, nil
}

// tracefs is where the kernel describes its tracepoints.
var tracefs = []string{"/sys/kernel/tracing/events/", "/sys/kernel/debug/tracing/events/"}

// tracepoint returns the number of a tracepoint and the description of its fields.
func tracepoint(name string) (id uint64, format string, err error) {
	for _, dir := range tracefs {
		var text, number []byte
		if text, err = os.ReadFile(dir + name + "/format"); err != nil {
			continue
		}
		if number, err = os.ReadFile(dir + name + "/id"); err == nil {
			id, err = strconv.ParseUint(strings.TrimSpace(string(number)), 10, 32)
			format = string(text)
			break
		}
	}
	if err != nil {
		return 0, "", fmt.Errorf("the kernel's tracepoints cannot be read: %w", err)
	}
	return id, format, nil
}

func (t *Tracepoint) open(id uint64, filter string, cpu, pages int) error {
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{
		Type: unix.PERF_TYPE_TRACEPOINT, Config: id, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: 1,
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_RAW,
		Bits:        unix.PerfBitDisabled | unix.PerfBitUseClockID, Clockid: unix.CLOCK_MONOTONIC,
	}, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == unix.ENODEV {
		return nil // switched off meanwhile
	}
	if err != nil {
		return err
	}
	err = setFilter(fd, filter)
	if err == nil {
		err = t.events.makeRing(fd, cpu, pages)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	return unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0)
}

// setFilter has the kernel let through only the records that fit.
func setFilter(fd int, filter string) error {
	text, err := unix.BytePtrFromString(filter)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_SET_FILTER, uintptr(unsafe.Pointer(text))); errno != 0 {
		return errno
	}
	return nil
}

// Each passes what came since the last call to each, the oldest first: the process on whose
// behalf the kernel acted, 0 for none, and the fields.
func (t *Tracepoint) Each(each func(pid int32, fields []byte)) {
	t.taken, t.order = t.taken[:0], t.order[:0]
	for i := range t.events.rings {
		from := len(t.taken)
		t.taken = t.events.rings[i].drain(t.taken)
		for rec, rest := next(t.taken[from:]); rec != nil; rec, rest = next(rest) {
			if _, time, _, ok := traced(rec); ok {
				t.order = append(t.order, span{time, from, from + len(rec)})
			}
			from += len(rec)
		}
	}
	slices.SortStableFunc(t.order, func(a, b span) int {
		switch {
		case a.time < b.time:
			return -1
		case a.time > b.time:
			return 1
		}
		return 0
	})
	for _, p := range t.order {
		pid, _, fields, _ := traced(t.taken[p.from:p.to])
		each(max(0, pid), fields)
	}
}

// Close ends it.
func (t *Tracepoint) Close() { t.events.close() }
