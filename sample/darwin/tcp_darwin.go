package darwin

import (
	"math"
	"os"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// tcpSource reads the TCP statistics and tells a refusal from a measurement.
type tcpSource struct {
	group *metric.Group
	facts *metric.Group
	stats *node
	flag  *node
	pcbs  *node
	least *node // the shortest timeout
	round uint64
	known bool
	// withheld is the reason in force, empty while the gate is open.
	withheld string
	reason   metric.Reason
}

func newTCPSource() *tcpSource { return &tcpSource{} }

func (s *tcpSource) Name() string            { return "tcp" }
func (s *tcpSource) Groups() []*metric.Group { return []*metric.Group{s.group, s.facts} }
func (s *tcpSource) Close() error            { return nil }

func (s *tcpSource) Refresh() error {
	names := make([]string, len(tcpColumns))
	for i, c := range tcpColumns {
		names[i] = c.metric
	}
	s.group = catalog.Group(catalog.Darwin, "tcp", names...)
	names = names[:0]
	for _, f := range tcpFacts {
		names = append(names, f.metric)
	}
	s.facts = catalog.Group(catalog.Darwin, "tcp facts", names...)
	if s.least = optional(tcpShortestSysctl, 8); s.least == nil {
		s.facts.Metrics[colTCPShortest].Unsupported = "this kernel has no sysctl " + tcpShortestSysctl
	}
	s.stats, s.flag, s.pcbs = optional("net.inet.tcp.stats", 2048), optional(tcpGateSysctl, 8), optional(tcpListSysctl, 0)
	if s.stats == nil {
		unsupported(s.group, "this kernel has no sysctl net.inet.tcp.stats")
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

// Notice tells what keeps values from us, and how to change it; empty when
// there is nothing to tell.
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
	if f := frameOf(frames, s.facts); f != nil {
		s.readFacts(f, at)
	}
	f := frameOf(frames, s.group)
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
	for col := range tcpColumns {
		sum, ok := uint64(0), true
		for _, field := range tcpColumns[col].fields {
			v, has := field.Uint(s.stats.answer)
			sum, ok = sum+v, ok && has
		}
		if ok {
			f.SetUint(row, col, sum&math.MaxUint32)
		} else {
			f.SetMissing(row, col, metric.Unsupported)
		}
	}
	return nil
}

// readFacts fills in what is never withheld.
func (s *tcpSource) readFacts(f *sample.Frame, at metric.Stamp) {
	f.Reset(at)
	row := f.Row(nil)
	for col := range tcpFacts {
		f.SetUint(row, col, uint64(tcpFacts[col].value))
	}
	if !f.Wants(colTCPShortest) {
		return
	}
	if !s.least.read(s.round) {
		f.SetMissing(row, colTCPShortest, s.least.reason)
	} else if v, ok := decode.SysctlBits(s.least.answer, metric.I32); ok {
		f.SetUint(row, colTCPShortest, v)
	} else {
		f.SetMissing(row, colTCPShortest, badAnswer)
	}
}

// decide finds out whether the answer is a refusal, and says so once each time
// that changes.
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

// gateClosed reads the switch. It is asked only about an answer of zeros.
func (s *tcpSource) gateClosed() bool {
	if s.flag == nil || !allZero(s.stats.answer) || !s.flag.read(s.round) {
		return false
	}
	v, ok := decode.SysctlBits(s.flag.answer, metric.U32)
	return ok && v != 0
}

func (s *tcpSource) established() bool {
	if s.pcbs == nil || !s.pcbs.read(s.round) {
		return false
	}
	counts, _, ok := decode.TCPStateCounts(s.pcbs.answer)
	return ok && counts[decode.TCPEstablished] > 0
}
