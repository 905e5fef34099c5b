package linux

import (
	"syscall"
	"time"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// self is the source of what the recorder costs its own host.
type self struct {
	statm *file
	page  uint64
	group *metric.Group
	began time.Time
	use   syscall.Rusage
	pages [2]uint64
}

// Columns of the group.
const (
	selfUser = iota
	selfSystem
	selfResident
	selfVirtual
	selfUptime
)

func newSelf(root string) (*self, error) {
	s := &self{statm: newFile(root + "/proc/self/statm"), page: uint64(syscall.Getpagesize()), began: time.Now()}
	return s, s.Refresh()
}

func (s *self) Name() string            { return "self" }
func (s *self) Groups() []*metric.Group { return []*metric.Group{s.group} }
func (s *self) Close() error            { s.statm.close(); return nil }

func (s *self) Refresh() error {
	s.group = catalog.Group(catalog.Linux, "self", "process.user_time_us", "process.system_time_us",
		"process.resident_size", "process.virtual_size", "process.uptime_secs")
	if _, err := s.statm.read(); err != nil {
		for _, d := range s.group.Metrics[selfResident : selfVirtual+1] {
			d.Unsupported = lacking("/proc/self/statm", err)
		}
	}
	return nil
}

func (s *self) Read(c *sample.Context, frames []*sample.Frame) error {
	useErr := syscall.Getrusage(syscall.RUSAGE_SELF, &s.use)
	data, statmErr := s.statm.read()
	known := statmErr == nil && words(data, s.pages[:]) == len(s.pages)
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
		row := f.Row(nil)
		if useErr == nil {
			f.SetUint(row, selfUser, uint64(s.use.Utime.Nano()/1000))
			f.SetUint(row, selfSystem, uint64(s.use.Stime.Nano()/1000))
		} else {
			f.SetMissing(row, selfUser, why(useErr))
			f.SetMissing(row, selfSystem, why(useErr))
		}
		if known {
			f.SetUint(row, selfVirtual, s.pages[0]*s.page)
			f.SetUint(row, selfResident, s.pages[1]*s.page)
		} else {
			f.SetMissing(row, selfVirtual, why(statmErr))
			f.SetMissing(row, selfResident, why(statmErr))
		}
		f.SetFloat(row, selfUptime, time.Since(s.began).Seconds())
	}
	return nil
}
