package darwin

import (
	"os"
	"runtime"
	"strings"

	"tachograph/sample"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// tcpSource reads the TCP statistics and distinguishes a refusal from a measurement.
type tcpSource struct {
	rows   *rows.Table
	facts  *rows.Table
	stats  *node
	answer rows.Struct
	flag   *node
	list   *tcpList
	round  uint64
	known  bool
	// withheld is the reason in force, empty while the gate is open.
	withheld string
	reason   metric.Reason
}

func newTCPSource() *tcpSource { return &tcpSource{} }

func (s *tcpSource) Name() string            { return "tcp" }
func (s *tcpSource) Groups() []*metric.Group { return []*metric.Group{s.rows.Group, s.facts.Group} }
func (s *tcpSource) Close() error            { return nil }

func (s *tcpSource) Refresh() error {
	s.rows, s.facts = tcpRows(), tcpFactRows()
	s.answer.Members, s.answer.Short = s.rows.Members(runtime.GOARCH), metric.Unsupported
	s.stats, s.flag, s.list = optional(tcpStatsSysctl, 2048), optional(tcpGateSysctl, 8), openTCPList()
	if s.stats == nil {
		unsupported(s.rows.Group, "this kernel has no sysctl "+tcpStatsSysctl)
	}
	return nil
}

// optional resolves a name that may be missing.
func optional(name string, size int) *node {
	mib, err := sys.Lookup(name)
	if err != nil {
		return nil
	}
	return newNode(name, mib, size)
}

// Notice says why the kernel withholds values, and how to change it; empty if it withholds none.
func (s *tcpSource) Notice() string {
	if s.withheld == "" {
		return ""
	}
	return "network.tcp.* is " + s.withheld + ". To let every program read it now: " + TCPGateCommands[0] +
		"; and at every boot: " + strings.Join(TCPGateCommands[1:], " && ")
}

func (s *tcpSource) Read(c *sample.Context, frames []*sample.Frame) error {
	s.round++
	at := c.Now()
	if f := frameOf(frames, s.facts.Group); f != nil {
		f.Reset(at)
		s.facts.Fill(f, f.Row(nil), 0, nil)
	}
	f := frameOf(frames, s.rows.Group)
	if f == nil {
		return nil
	}
	if !s.stats.read(s.round) {
		missAll([]*sample.Frame{f}, at, s.stats.reason)
		return nil
	}
	s.decide(c, at)
	f.Reset(at)
	row := f.Row(nil)
	if s.withheld != "" {
		f.MissRow(row, s.reason)
		return nil
	}
	s.answer.Answer = s.stats.answer
	s.rows.Fill(f, row, 0, &s.answer)
	return nil
}

// decide finds out whether the answer is a refusal, and emits an event each time that changes.
func (s *tcpSource) decide(c *sample.Context, at metric.Stamp) {
	why := tcpRefused(s.stats.answer, s.gateClosed(), os.Geteuid() == 0, s.established)
	if s.known && why == s.withheld {
		return
	}
	text := ""
	switch s.withheld = why; {
	case why != "":
		s.reason = metric.ReasonFor(why)
		text = s.Notice()
	case s.known:
		text = "the kernel lets us read the TCP statistics again: network.tcp.* is recorded"
	}
	s.known = true
	if text != "" {
		c.Emit(metric.Event{At: at, Kind: metric.EventTCPGate, Text: text})
	}
}

// gateClosed reads the gate's sysctl. It does so only for an answer of zeros.
func (s *tcpSource) gateClosed() bool {
	if s.flag == nil || !allZero(s.stats.answer) || !s.flag.read(s.round) {
		return false
	}
	v, ok := decode.SysctlBits(s.flag.answer, metric.U32)
	return ok && v != 0
}

// established reports whether there are connections, if the kernel's list shows that.
func (s *tcpSource) established() (some, known bool) {
	if s.list == nil {
		return false, false
	}
	list, reason := s.list.read()
	return list.Counts[decode.TCPEstablished] > 0, reason == metric.Present
}
