package darwin

import (
	"tachograph/sample"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// steadyTries is how often to read a list that changed while the kernel wrote it. On a busy
// server each list may have changed; then the last is used.
const steadyTries = 3

// tcpList is the kernel's list of TCP connections, with the other sources of their number.
type tcpList struct {
	pcbs, counted *node
	round         uint64
	withheld      metric.Reason
}

// openTCPList returns nil if this kernel has no list.
func openTCPList() *tcpList {
	pcbs := optional(tcpListSysctl, 64<<10)
	if pcbs == nil {
		return nil
	}
	return &tcpList{pcbs: pcbs, counted: optional(tcpCountedSysctl, 8), withheld: metric.ReasonFor(tcpListWithheld)}
}

// read reads the list; reason is why it is not a list of all connections.
func (l *tcpList) read() (list decode.TCPList, reason metric.Reason) {
	for range steadyTries {
		l.round++
		if !l.pcbs.read(l.round) {
			return list, l.pcbs.reason
		}
		ok := false
		if list, ok = decode.ReadTCPList(l.pcbs.answer, nil); !ok {
			return list, badAnswer
		}
		if list.Steady {
			break
		}
	}
	if listWithheld(list.Rows, list.Told) || listWithheld(list.Rows, l.count()) || listWithheld(list.Rows, l.room()) {
		return list, l.withheld
	}
	return list, metric.Present
}

// count returns how many connections the kernel counts; 0 if it does not say.
func (l *tcpList) count() uint64 {
	if l.counted == nil || !l.counted.read(l.round) {
		return 0
	}
	n, _ := decode.SysctlBits(l.counted.answer, metric.U32)
	return n
}

// room returns the number of connections for which the kernel says a buffer must have room.
func (l *tcpList) room() uint64 {
	size, errno := sys.Sysctl(l.pcbs.mib, nil)
	if errno != 0 {
		return 0
	}
	return decode.TCPListRoom(size)
}

type tcpconnSource struct {
	rows *rows.Table
	list *tcpList

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
	if s.list = openTCPList(); s.list == nil {
		unsupported(s.rows.Group, "this kernel has no sysctl "+tcpListSysctl)
	}
	return nil
}

func (s *tcpconnSource) Read(c *sample.Context, frames []*sample.Frame) error {
	if s.last.due(c.Now()) {
		var list decode.TCPList
		list, s.reason = s.list.read()
		s.counts.counts = list.Counts
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
