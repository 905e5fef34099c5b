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

// tcpUntold are metrics of PCP's that no kernel of this kind tells. They stand
// in the group so that they are listed, with the catalogue's reason.
var tcpUntold = []string{
	"network.tcp.rtoalgorithm", "network.tcp.rtomin", "network.tcp.rtomax", "network.tcp.maxconn",
}

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
