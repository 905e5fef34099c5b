package systemd

import (
	"strconv"
	"time"

	"tachograph/sample/proc/cmdline"
)

// Entry is what is kept of an entry of the journal. Its texts are printable and bounded.
type Entry struct {
	Stamp
	// Time is when it happened. For the kernel's lines, of which journald reads many long after
	// they were written, that is before they were received.
	Time time.Time
	// Journal is whose it is: "system", or "user-" and a number.
	Journal    string
	Transport  string // kernel, journal, stdout, syslog, audit, driver
	Kernel     bool   // the kernel's own words: others may write lines among them
	Priority   int    // 0 to 7, or Unknown
	Message    string
	Identifier string
	Comm       string
	Unit       string // the system's, or else the user's own
	PID, UID   int    // or Unknown
	MessageID  ID
	Kind       Kind
	Facts      *Facts // nil for plain entries
}

// wanted are the fields that entries and facts are made of.
var wanted = names(
	"MESSAGE", "MESSAGE_ID", "PRIORITY", "SYSLOG_IDENTIFIER", "SYSLOG_FACILITY",
	"_TRANSPORT", "_PID", "_UID", "_COMM", "_SYSTEMD_UNIT", "_SYSTEMD_USER_UNIT", "_SOURCE_MONOTONIC_TIMESTAMP",
	"UNIT", "USER_UNIT", "UNIT_RESULT", "JOB_RESULT", "N_RESTARTS", "EXIT_CODE", "EXIT_STATUS", "COMMAND", "N_PROCESSES", "N_DROPPED",
	"SESSION_ID", "USER_ID", "LEADER", "SLEEP", "SHUTDOWN", "REALTIME", "TIMEZONE",
	"COREDUMP_PID", "COREDUMP_UID", "COREDUMP_SIGNAL", "COREDUMP_SIGNAL_NAME", "COREDUMP_COMM", "COREDUMP_EXE", "COREDUMP_UNIT",
	"COREDUMP_USER_UNIT", "COREDUMP_TIMESTAMP", "COREDUMP_FILENAME", "COREDUMP_PACKAGE_NAME", "COREDUMP_PACKAGE_VERSION",
	"CPU_USAGE_NSEC", "MEMORY_PEAK", "MEMORY_SWAP_PEAK", "IO_METRIC_READ_BYTES", "IO_METRIC_WRITE_BYTES",
	"IO_METRIC_READ_OPERATIONS", "IO_METRIC_WRITE_OPERATIONS", "IP_METRIC_INGRESS_BYTES", "IP_METRIC_EGRESS_BYTES",
)

func names(all ...string) map[string]bool {
	set := make(map[string]bool, len(all))
	for _, n := range all {
		set[n] = true
	}
	return set
}

// newEntry makes an entry of its fields.
func newEntry(journal string, s Stamp, fields map[string]string) Entry {
	e := Entry{
		Stamp: s, Journal: journal, Priority: Unknown,
		Transport: cutName(fields["_TRANSPORT"]), Identifier: cutName(fields["SYSLOG_IDENTIFIER"]), Comm: cutName(fields["_COMM"]), Unit: cutName(fields["_SYSTEMD_UNIT"]),
		Message: text(fields["MESSAGE"]), PID: number(fields["_PID"]), UID: number(fields["_UID"]),
	}
	e.Kernel = e.Transport == "kernel" && fields["SYSLOG_FACILITY"] == "0"
	if p := fields["PRIORITY"]; len(p) == 1 && p[0] >= '0' && p[0] <= '7' {
		e.Priority = int(p[0] - '0')
	}
	if user := fields["_SYSTEMD_USER_UNIT"]; user != "" {
		e.Unit = cutName(user)
	}
	happened := s.Received
	if e.Transport == "kernel" {
		if at, err := strconv.ParseUint(fields["_SOURCE_MONOTONIC_TIMESTAMP"], 10, 64); err == nil && at < s.Monotonic && s.Monotonic-at < happened {
			happened -= s.Monotonic - at
		}
	}
	e.Time = time.UnixMicro(int64(happened)).UTC()
	e.MessageID, _ = parseID(fields["MESSAGE_ID"])
	e.Kind, e.Facts = classify(fields)
	return e
}

// maxText is the length of a message, and maxFieldText that of another text, beyond which it is
// cut.
const (
	maxText      = 2048
	maxFieldText = 256
)

func text(s string) string { return cmdline.Bounded(s, maxText) }

func cutName(s string) string { return cmdline.Bounded(s, maxFieldText) }
