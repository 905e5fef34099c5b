package main

import (
	"os"
	"strings"
	"syscall"
	"time"
)

// A happening is an incident as seen inside: what runs from the beginning, and what happens from
// onset to the end.
type happening struct {
	before, then func(*incident)
}

// ask signals a process to begin its task.
func ask(p *os.Process) { p.Signal(syscall.SIGUSR1) }

// pass waits until the incident is over.
func (in *incident) pass() { time.Sleep(time.Duration(in.within) * time.Second) }

// culprit returns a happening whose culprit runs from the beginning, and is signalled to begin
// at onset. A program among its arguments is one that it starts.
func culprit(user, path string, args ...string) happening {
	var p *os.Process
	return happening{
		before: func(in *incident) {
			for _, a := range args {
				if strings.Contains(a, "/bin/") {
					install(a)
				}
			}
			p = in.start(user, path, args...)
		},
		then: func(in *incident) { ask(p); in.pass() },
	}
}

// happenings are the incidents on Linux, by name.
var happenings = map[string]happening{
	"runaway-loop": culprit("app", "/usr/local/bin/pricecalc", "loop", "80"),
	"disk-filler": {then: func(in *incident) {
		p := in.start("app", "/usr/local/bin/dumpbackup", "fill", "/srv/nightly.dump", "3600", "1000", "now")
		in.pass()
		p.Kill()
	}},
	"fork-storm": culprit("app", "/usr/local/bin/mailfilter", "fork", "22", "80", "/usr/bin/spamcheck", "9"),
	"full-volume": {
		before: func(in *incident) {
			in.start("app", "/usr/local/bin/ledgerd", "fill", "/var/log/ledger.log", "1", "100", "now")
		},
		then: func(in *incident) {
			p := in.start("root", "/usr/sbin/auditlogd", "fill", "/var/log/audit.log", "900", "1000", "now")
			in.pass()
			p.Kill()
			os.Remove("/var/log/audit.log")
		},
	},
	"swap-storm": func() happening {
		h := culprit("app", "/usr/local/bin/reportgen", "thrash", "420", "80")
		begin := h.before
		h.before = func(in *incident) {
			if err := swapOn("/dev/vdc", 1024); err != nil {
				fatal(err)
			}
			begin(in)
		}
		return h
	}(),
	"network-flood": {
		before: func(in *incident) { in.start("app", "/usr/local/bin/statsd", "receive", "8125") },
		then:   (*incident).pass,
	},
	"hung-disk": {
		before: func(in *incident) {
			in.start("db", "/usr/local/bin/orderdb", "store", "/srv/orders.wal", "300", "24")
			in.start("app", "/usr/local/bin/thumbnailer", "store", "/srv/thumbs.cache", "900", "8")
		},
		then: (*incident).pass,
	},
	"crash-loop": culprit("root", "/usr/sbin/supervised", "supervise", "80", "/usr/local/bin/apigateway", "900"),
}
