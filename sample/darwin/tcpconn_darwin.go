package darwin

import (
	"tachograph/sample"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

// steadyTries is how often a list that changed while the kernel wrote it is
// read again. A busy server's may never stand still; then the last is taken.
const steadyTries = 3

type tcpconnSource struct {
	rows  *rows.Table
	pcbs  *node
	round uint64

	last   reading
	counts tcpCounts
	reason metric.Reason
}

func newTCPConnSource() *tcpconnSource { return &tcpconnSource{} }

func (s *tcpconnSource) Name() string            { return "tcpconn" }
func (s *tcpconnSource) Groups() []*metric.Group { return []*metric.Group{s.rows.Group} }
func (s *tcpconnSource) Close() error            { return nil }

func (s *tcpconnSource) Refresh() error {
	s.rows = tcpconnRows()
	s.counts = tcpCountsOf(s.rows)
	if s.pcbs = optional(tcpListSysctl, 64<<10); s.pcbs == nil {
		unsupported(s.rows.Group, "this kernel has no sysctl "+tcpListSysctl)
	}
	return nil
}

func (s *tcpconnSource) Read(c *sample.Context, frames []*sample.Frame) error {
	if s.last.due(c.Now()) {
		s.reason = s.count()
	}
	if s.reason != metric.Present {
		missAll(frames, s.last.at, s.reason)
		return nil
	}
	for _, f := range frames {
		f.Reset(s.last.at)
		s.rows.Fill(f, f.Row(nil), 0, &s.counts)
	}
	return nil
}

// count reads the list; the reason is why it could not.
func (s *tcpconnSource) count() metric.Reason {
	for range steadyTries {
		s.round++
		if !s.pcbs.read(s.round) {
			return s.pcbs.reason
		}
		counts, steady, ok := decode.TCPStateCounts(s.pcbs.answer)
		if !ok {
			return badAnswer
		}
		if s.counts.counts = counts; steady {
			break
		}
	}
	return metric.Present
}
