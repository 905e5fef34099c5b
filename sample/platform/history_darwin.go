package platform

import (
	"os"

	"tachograph/sample/darwin/sys"
)

// shutdownReason is the kernel's reason for the end of the last boot.
func shutdownReason() string {
	reason, _ := sys.SysctlText("kern.shutdownreason")
	return reason
}

// WakeReason is why the machine last woke.
func WakeReason() string {
	reason, _ := sys.SysctlText("kern.wakereason")
	return reason
}

// TCPGate describes whether the kernel withholds its TCP counters from this user.
func TCPGate() string {
	closed, err := sys.SysctlUint("net.inet.tcp.disable_access_to_stats")
	switch {
	case err != nil:
		return ""
	case closed == 0:
		return "open to everybody"
	case os.Geteuid() == 0:
		return "closed, but open to root"
	}
	return "closed: the kernel withholds them from ordinary users (net.inet.tcp.disable_access_to_stats)"
}
