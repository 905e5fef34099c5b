package darwin

import (
	"errors"
	"runtime"
	"slices"

	"tachograph/sample"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// hostVMInfo64 is the flavour of host statistics about memory. Its first revision has 24 words.
// The catalog's metrics are in the first 38, which every kernel since macOS 10.9 has; macOS 26
// logs each call that asks for more than its kernel has. Mach's interface returns 256 at most.
const (
	hostVMInfo64 = 4
	vmFirstWords = 24
	vmWords      = 38
	vmMostWords  = 256
)

// memorySource asks host_statistics64 for both revisions of the struct, each once a round. The
// kernel keeps a budget of fresh answers per revision, which all programs share, and almost all
// programs ask for the newest. The first revision, which hardly any program asks for, shows
// whether the newest was fresh.
//
// A kernel that repeats its newest revision whatever the request (macOS 27) refuses shorter
// requests and says how long the revision is. From then on the source asks only for that,
// because the first revision has no budget of its own there.
type memorySource struct {
	host sys.Host
	rows *rows.Table

	words  []uint32
	told   int // length in words of the revision that the kernel repeats, once it has said so; else 0
	first  []byte
	pages  pages
	last   reading
	newAt  metric.Stamp  // when the content of pages was new; zero if the kernel repeats something else
	reason metric.Reason // why there are no values
	fresh  freshness
}

func newMemorySource() *memorySource {
	return &memorySource{host: sys.OpenHost(), words: make([]uint32, vmWords), first: make([]byte, 0, 4*vmWords)}
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
	words, err := s.statistics(vmFirstWords)
	if err != nil {
		s.reason = reasonFor(err)
		return
	}
	s.first = decode.Words(s.first, words)
	if s.fresh.stale(s.first[:min(len(s.first), 4*vmFirstWords)], now.Cont, Now().Cont) {
		s.reason = metric.Stale
		return
	}
	s.pages.Short, s.newAt = metric.Unsupported, metric.Stamp{}
	if s.told == 0 {
		if words, err = s.statistics(vmWords); err != nil {
			s.reason = reasonFor(err)
			return
		}
	}
	p := &s.pages
	p.Answer, s.newAt = decode.Words(p.Answer, words), now
	if olderThan(p.Answer, s.first) {
		p.Answer, p.Short = append(p.Answer[:0], s.first...), metric.Stale
	}
}

// statistics asks for the newest revision that has at most so many words, or for the revision
// that the kernel has said it repeats.
func (s *memorySource) statistics(most int) ([]uint32, error) {
	if s.told > 0 {
		most = s.told
	}
	n, err := s.host.Statistics64(hostVMInfo64, s.words[:most])
	if errors.Is(err, sys.MigArrayTooLarge) && n > most && n <= vmMostWords {
		s.told = n
		s.words = slices.Grow(s.words[:0], n)[:n]
		n, err = s.host.Statistics64(hostVMInfo64, s.words)
	}
	if err != nil {
		return nil, err
	}
	return s.words[:n], nil
}
