package platform

// shutdownReason is why the machine went down last: Linux does not keep it.
func shutdownReason() string { return "" }

// WakeReason is why the machine woke last: Linux does not tell.
func WakeReason() string { return "" }

// panicReports are what a panic left in the firmware's memory, and where
// systemd puts it from there.
func panicReports() []string {
	return matching("/sys/fs/pstore/dmesg-*", "/var/lib/systemd/pstore/*/dmesg.txt")
}

// TCPGate is empty: Linux withholds no TCP counters.
func TCPGate() string { return "" }
