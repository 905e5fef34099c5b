package darwin

import (
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// hostVMInfo64 is the flavour of host statistics about memory. Its first
// revision has 24 words; newer kernels may fill more than the 38 of today.
const (
	hostVMInfo64 = 4
	vmFirstWords = 24
	vmWords      = 64
)

// memorySource asks host_statistics64 for both revisions of the struct, once a
// round each. The kernel keeps a budget of fresh answers per revision, which
// all programs share, and almost all of them ask for the newest. The first
// revision, which hardly anybody asks for, tells whether the newest was fresh.
type memorySource struct {
	host     sys.Host
	group    *metric.Group
	pageSize uint64

	words  [vmWords]uint32
	first  []byte
	answer []byte
	last   reading
	reason metric.Reason // why there is nothing
	beyond metric.Reason // why there is nothing beyond what answer has
	fresh  freshness
}

func newMemorySource() *memorySource {
	return &memorySource{host: sys.OpenHost(), first: make([]byte, 0, 4*vmFirstWords), answer: make([]byte, 0, 4*vmWords)}
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
		fillMemory(f, s.answer, s.pageSize, s.beyond)
	}
	return nil
}

func (s *memorySource) ask(now metric.Stamp) {
	s.reason, s.beyond = metric.Present, metric.Unsupported
	n, err := s.host.Statistics64(hostVMInfo64, s.words[:vmFirstWords])
	if err != nil {
		s.reason = reasonFor(err)
		return
	}
	s.first = decode.Words(s.first, s.words[:n])
	if s.fresh.stale(s.first, now.Cont, Now().Cont) {
		s.reason = metric.Stale
		return
	}
	n, err = s.host.Statistics64(hostVMInfo64, s.words[:])
	if err != nil {
		s.reason = reasonFor(err)
		return
	}
	s.answer = decode.Words(s.answer, s.words[:n])
	if olderThan(s.answer, s.first) {
		s.answer, s.beyond = append(s.answer[:0], s.first...), metric.Stale
	}
}
