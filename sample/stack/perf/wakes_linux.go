package perf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wake starts to hear who wakes the threads. A filter cannot be changed: each ring belongs to an
// event that is never started, and those that are write into it, so that others with another
// filter can take their place.
func (m *switches) wake(threads []int32, pages int) error {
	id, format, err := tracepoint("sched/sched_waking")
	if err != nil {
		return err
	}
	var ok bool
	if m.fields, ok = readWakeFields(format); !ok {
		return fmt.Errorf("the kernel's tracepoint sched:sched_waking has other fields")
	}
	m.waking = unix.PerfEventAttr{
		Type: unix.PERF_TYPE_TRACEPOINT, Config: id, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: 1,
		Sample_type: sampleOfSwitches | unix.PERF_SAMPLE_RAW,
		Bits:        unix.PerfBitDisabled | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID, Clockid: unix.CLOCK_MONOTONIC,
		Sample_max_stack: uint16(m.events.depth),
	}
	for i := range m.events.rings {
		cpu := m.events.rings[i].cpu
		fd, err := unix.PerfEventOpen(&m.waking, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return err
		}
		if err := m.wakes.makeRing(fd, cpu, pages); err != nil {
			unix.Close(fd)
			return err
		}
	}
	m.filter = filterOf(threads)
	return m.letThrough(m.filter)
}

// letThrough has the wakes that fit a filter written into the rings, in place of others.
func (m *switches) letThrough(filter string) error {
	before := m.wakes.fds
	defer func() {
		for _, fd := range before {
			unix.Close(fd)
		}
	}()
	m.wakes.fds = nil
	for i := range m.wakes.rings {
		r := &m.wakes.rings[i]
		fd, err := unix.PerfEventOpen(&m.waking, -1, r.cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return err
		}
		m.wakes.fds = append(m.wakes.fds, fd)
		if err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, r.fd); err == nil {
			err = setFilter(fd, filter)
		}
		if err == nil {
			err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// filterOf lets through the wakes of threads: of these, or, if they are many, of all that are
// not older.
func filterOf(threads []int32) string {
	if len(threads) > mostFiltered {
		return "pid >= " + strconv.Itoa(int(slices.Min(threads)))
	}
	var text []string
	for _, tid := range slices.Sorted(slices.Values(threads)) {
		text = append(text, "pid == "+strconv.Itoa(int(tid)))
	}
	return strings.Join(text, " || ")
}

// follow has the wakes of other threads let through, because the process has others now, at most
// once a second.
func (m *switches) follow(threads []int32) {
	if len(m.wakes.rings) == 0 || len(threads) == 0 {
		return
	}
	filter, now := filterOf(threads), monotonic()
	if filter == m.filter || now-m.filtered < 1e9 {
		return
	}
	m.filter, m.filtered = filter, now
	if err := m.letThrough(filter); err != nil {
		m.s.statistics.WaitsWhy = "who ended waits is not always known: " + err.Error()
	}
}
