package darwin

import (
	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

// tcpStatsSysctl returns the TCP statistics: counters of 32 bits.
const tcpStatsSysctl = "net.inet.tcp.stats"

func tcpRows() *rows.Table {
	return rows.New("tcp", rows.Select(metric.NoIndom, "sysctl "+tcpStatsSysctl+" "), 0, nil)
}

// tcpFactRows returns the table of the values that the kernel does not count but obeys:
// constants of its source.
func tcpFactRows() *rows.Table {
	return rows.New("tcp facts", rows.Select(metric.NoIndom, "constant of the kernel's source"), 0, nil)
}

// tcpGateSysctl is the switch that withholds the TCP statistics.
const tcpGateSysctl = "net.inet.tcp.disable_access_to_stats"

// TCPGateCommands are the commands by which an administrator lets every program read the TCP
// statistics: at once, and at every start of the machine.
var TCPGateCommands = []string{
	"sudo sysctl -w " + tcpGateSysctl + "=0",
	"sudo defaults write /Library/LaunchDaemons/tachograph.tcpstats Label tachograph.tcpstats",
	"sudo defaults write /Library/LaunchDaemons/tachograph.tcpstats ProgramArguments -array /usr/sbin/sysctl -w " + tcpGateSysctl + "=0",
	"sudo defaults write /Library/LaunchDaemons/tachograph.tcpstats RunAtLoad -bool true",
}

const (
	tcpWithheldReason = "withheld by the kernel: " + tcpGateSysctl + " is 1 and the recorder does not run as root"
	tcpWithheldByZero = "withheld by the kernel: all TCP statistics are zero while connections are established"
	tcpUnprovenZero   = "all TCP statistics are zero, and whether that can be true is withheld by the kernel"
)

// tcpRefused decides whether an answer is a refusal. Zeros are a refusal if the gate is closed
// and we are not root, and regardless of the gate if there are connections: then the kernel
// counted something and does not show it. Where it does not show us the whole list of
// connections, that cannot be decided. established is called only if it matters.
func tcpRefused(answer []byte, gate, root bool, established func() (some, known bool)) string {
	switch {
	case !allZero(answer):
		return ""
	case gate && !root:
		return tcpWithheldReason
	}
	switch some, known := established(); {
	case some:
		return tcpWithheldByZero
	case !known:
		return tcpUnprovenZero
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
