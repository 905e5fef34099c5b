package darwin

import (
	"runtime"

	"tachograph/sample"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
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
	host sys.Host
	rows *rows.Table

	words  [vmWords]uint32
	first  []byte
	pages  pages
	last   reading
	newAt  metric.Stamp  // when what is in pages was new; none if the kernel repeats something else
	reason metric.Reason // why there is nothing
	fresh  freshness
}

func newMemorySource() *memorySource {
	return &memorySource{host: sys.OpenHost(), first: make([]byte, 0, 4*vmFirstWords)}
}

func (s *memorySource) Name() string            { return "vmstat" }
func (s *memorySource) Groups() []*metric.Group { return []*metric.Group{s.rows.Group} }
func (s *memorySource) Close() error            { return s.host.Close() }

func (s *memorySource) Refresh() error {
	s.rows = memoryRows()
	s.pages = pagesOf(s.rows, runtime.GOARCH)
	s.pages.Answer = make([]byte, 0, 4*vmWords)
	told, err := sys.SysctlUint("hw.pagesize")
	if err != nil {
		unsupported(s.rows.Group, err.Error())
		return nil
	}
	pages, _ := sys.SysctlUint("vm.pages")
	memory, _ := sys.SysctlUint("hw.memsize")
	s.pages.size = truePageSize(told, pages, memory)
	s.last, s.newAt = reading{}, metric.Stamp{}
	return nil
}

func (s *memorySource) Read(c *sample.Context, frames []*sample.Frame) error {
	if now := c.Now(); s.last.due(now) {
		s.ask(now)
	}
	for _, f := range frames {
		at, reason := s.last.at, s.reason
		if reason == metric.Stale && c.Repeated && s.newAt != (metric.Stamp{}) {
			at, reason = s.newAt, metric.Present
		}
		f.Reset(at)
		row := f.Row(nil)
		if reason != metric.Present {
			f.MissRow(row, reason)
			continue
		}
		s.rows.Fill(f, row, 0, &s.pages)
	}
	return nil
}

func (s *memorySource) ask(now metric.Stamp) {
	s.reason = metric.Present
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
	s.pages.Short, s.newAt = metric.Unsupported, metric.Stamp{}
	n, err = s.host.Statistics64(hostVMInfo64, s.words[:])
	if err != nil {
		s.reason = reasonFor(err)
		return
	}
	p := &s.pages
	p.Answer, s.newAt = decode.Words(p.Answer, s.words[:n]), now
	if olderThan(p.Answer, s.first) {
		p.Answer, p.Short = append(p.Answer[:0], s.first...), metric.Stale
	}
}
