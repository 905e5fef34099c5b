package darwin

import (
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/metric"
)

const tcpListSysctl = "net.inet.tcp.pcblist64"

// tcpStates are the metrics that count connections by state, in one pass over
// the list of control blocks, which any caller may read.
var tcpStates = []struct {
	metric string
	state  int
}{
	{"network.tcp.currestab", decode.TCPEstablished},
	{"network.tcpconn.established", decode.TCPEstablished},
	{"network.tcpconn.syn_sent", decode.TCPSynSent},
	{"network.tcpconn.syn_recv", decode.TCPSynReceived},
	{"network.tcpconn.fin_wait1", decode.TCPFinWait1},
	{"network.tcpconn.fin_wait2", decode.TCPFinWait2},
	{"network.tcpconn.time_wait", decode.TCPTimeWait},
	{"network.tcpconn.close", decode.TCPClosed},
	{"network.tcpconn.close_wait", decode.TCPCloseWait},
	{"network.tcpconn.last_ack", decode.TCPLastAck},
	{"network.tcpconn.listen", decode.TCPListen},
	{"network.tcpconn.closing", decode.TCPClosing},
}

// steadyTries is how often a list that changed while the kernel wrote it is
// read again. A busy server's may never stand still; then the last is taken.
const steadyTries = 3

type tcpconnSource struct {
	group *metric.Group
	pcbs  *node
	round uint64

	last   reading
	counts [decode.TCPStates]uint32
	reason metric.Reason
}

func newTCPConnSource() *tcpconnSource { return &tcpconnSource{} }

func (s *tcpconnSource) Name() string            { return "tcpconn" }
func (s *tcpconnSource) Groups() []*metric.Group { return []*metric.Group{s.group} }
func (s *tcpconnSource) Close() error            { return nil }

func (s *tcpconnSource) Refresh() error {
	names := make([]string, len(tcpStates))
	for i, c := range tcpStates {
		names[i] = c.metric
	}
	s.group = catalog.Group(catalog.Darwin, "tcpconn", names...)
	if s.pcbs = optional(tcpListSysctl, 64<<10); s.pcbs == nil {
		unsupported(s.group, "this kernel has no sysctl "+tcpListSysctl)
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
		row := f.Row(nil)
		for col, st := range tcpStates {
			f.SetUint(row, col, uint64(s.counts[st.state]))
		}
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
		if s.counts = counts; steady {
			break
		}
	}
	return metric.Present
}
