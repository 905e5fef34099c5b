package darwin

import (
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// hostVMInfo64 is the flavour of host statistics about memory. Newer kernels
// may fill more words than the 38 of today.
const (
	hostVMInfo64 = 4
	vmWords      = 64
)

// memorySource asks host_statistics64 once a round.
type memorySource struct {
	host     sys.Host
	group    *metric.Group
	pageSize uint64

	words  [vmWords]uint32
	answer []byte
	last   reading
	reason metric.Reason
	fresh  freshness
}

func newMemorySource() *memorySource {
	return &memorySource{host: sys.OpenHost(), answer: make([]byte, 0, 4*vmWords)}
}

func (s *memorySource) Name() string            { return "vmstat" }
func (s *memorySource) Groups() []*metric.Group { return []*metric.Group{s.group} }
func (s *memorySource) Close() error            { return s.host.Close() }

func (s *memorySource) Refresh() error {
	names := make([]string, len(vmColumns))
	for i, c := range vmColumns {
		names[i] = c.metric
	}
	s.group = catalog.Group(catalog.Darwin, "vmstat", names...)
	told, err := sys.SysctlUint("hw.pagesize")
	if err != nil {
		unsupported(s.group, err.Error())
		return nil
	}
	pages, _ := sys.SysctlUint("vm.pages")
	memory, _ := sys.SysctlUint("hw.memsize")
	s.pageSize = truePageSize(told, pages, memory)
	s.last = reading{}
	return nil
}

func (s *memorySource) Read(c *sample.Context, frames []*sample.Frame) error {
	if now := c.Now(); s.last.due(now) {
		s.ask(now)
	}
	for _, f := range frames {
		f.Reset(s.last.at)
		if s.reason != metric.Present {
			f.MissRow(f.Row(nil), s.reason)
			continue
		}
		fillMemory(f, s.answer, s.pageSize)
	}
	return nil
}

func (s *memorySource) ask(now metric.Stamp) {
	s.reason = metric.Present
	n, err := s.host.Statistics64(hostVMInfo64, s.words[:])
	if err != nil {
		s.reason = reasonFor(err)
		return
	}
	s.answer = decode.Words(s.answer, s.words[:n])
	if s.fresh.stale(s.answer, now.Cont, Now().Cont) {
		s.reason = metric.Stale
	}
}
