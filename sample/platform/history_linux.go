package platform

// shutdownReason is empty: Linux does not keep why the machine last went down.
func shutdownReason() string { return "" }

// WakeReason is empty: Linux does not report why the machine last woke.
func WakeReason() string { return "" }

// panicReports are the files that a panic left in the firmware's memory, and those that systemd
// moved from there.
func panicReports() []string {
	return matching("/sys/fs/pstore/dmesg-*", "/var/lib/systemd/pstore/*/dmesg.txt")
}

// TCPGate is empty: Linux withholds no TCP counters.
func TCPGate() string { return "" }
