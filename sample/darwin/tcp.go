package darwin

import "tachograph/sample/darwin/decode"

// tcpColumn is a metric from the TCP statistics: the sum of some counters of
// 32 bits.
type tcpColumn struct {
	metric string
	fields []*decode.Field
}

var tcpColumns = []tcpColumn{
	{"network.tcp.activeopens", one(decode.TCPConnattempt)},
	{"network.tcp.passiveopens", one(decode.TCPAccepts)},
	{"network.tcp.attemptfails", one(decode.TCPConndrops)},
	{"network.tcp.estabresets", one(decode.TCPDrops)},
	{"network.tcp.insegs", one(decode.TCPRcvtotal)},
	{"network.tcp.outsegs", one(decode.TCPSndtotal)},
	{"network.tcp.retranssegs", one(decode.TCPSndrexmitpack)},
	{"network.tcp.outrsts", one(decode.TCPSndctrl)},
	{"network.tcp.incsumerrors", one(decode.TCPRcvbadsum)},
	{"network.tcp.inerrs", tcpInputErrors},
	{"network.tcp.inerrs.total", tcpInputErrors},
	{"network.tcp.inerrs.badsum", one(decode.TCPRcvbadsum)},
	{"network.tcp.inerrs.badoff", one(decode.TCPRcvbadoff)},
	{"network.tcp.inerrs.short", one(decode.TCPRcvshort)},
	{"network.tcp.inerrs.memdrop", one(decode.TCPRcvmemdrop)},
}

// tcpFacts are what the kernel does not count but obeys. All but the first are
// constants of its source: the method (Van Jacobson's, by its number in the TCP
// MIB), the longest timeout (64 s) and the most connections (no limit).
var tcpFacts = []struct {
	metric string
	value  int64
}{
	{metric: "network.tcp.rtomin"},
	{"network.tcp.rtoalgorithm", 4},
	{"network.tcp.rtomax", 64_000},
	{"network.tcp.maxconn", -1},
}

const (
	colTCPShortest = 0
	// tcpShortestSysctl is in ticks of TCP's own clock, which are milliseconds.
	tcpShortestSysctl = "net.inet.tcp.rtt_min"
)

var tcpInputErrors = []*decode.Field{decode.TCPRcvbadsum, decode.TCPRcvbadoff, decode.TCPRcvshort, decode.TCPRcvmemdrop}

// tcpGateSysctl is the switch that withholds the TCP statistics.
const tcpGateSysctl = "net.inet.tcp.disable_access_to_stats"

// TCPGateCommands are what an administrator types to let every program read
// the TCP statistics: at once, and at every start of the machine.
var TCPGateCommands = []string{
	"sudo sysctl -w " + tcpGateSysctl + "=0",
	"sudo defaults write /Library/LaunchDaemons/tachograph.tcpstats Label tachograph.tcpstats",
	"sudo defaults write /Library/LaunchDaemons/tachograph.tcpstats ProgramArguments -array /usr/sbin/sysctl -w " + tcpGateSysctl + "=0",
	"sudo defaults write /Library/LaunchDaemons/tachograph.tcpstats RunAtLoad -bool true",
}

const (
	tcpWithheldReason = "withheld by the kernel: " + tcpGateSysctl + " is 1 and the recorder does not run as root"
	tcpWithheldByZero = "withheld by the kernel: all TCP statistics are zero while connections are established"
)

// tcpRefused decides whether an answer is a refusal. Zeros are one if the
// switch is on and we are not root, and whatever the switch says if there are
// connections: then something was counted that is not shown. established is
// asked only if it matters.
func tcpRefused(answer []byte, gate, root bool, established func() bool) string {
	switch {
	case !allZero(answer):
		return ""
	case gate && !root:
		return tcpWithheldReason
	case established():
		return tcpWithheldByZero
	}
	return ""
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
