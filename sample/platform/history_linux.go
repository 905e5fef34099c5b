package platform

// shutdownReason is empty: Linux does not keep why the machine last went down.
func shutdownReason() string { return "" }

// WakeReason is empty: Linux does not report why the machine last woke.
func WakeReason() string { return "" }

// TCPGate is empty: Linux withholds no TCP counters.
func TCPGate() string { return "" }
