package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// A trouble is something that goes wrong.
type trouble struct {
	name, cause string
	want        string                 // a regular expression that the first line of the answer must match
	before      func(m *machine) error // starts what runs from the beginning; nil: nothing
	then        func(m *machine) error // what happens at onset
}

// asking returns a trouble whose culprit runs from the beginning, and is signalled to begin at
// onset.
func asking(name, cause, want, program string, args ...string) trouble {
	var cmd *exec.Cmd
	return trouble{name: name, cause: cause, want: want,
		before: func(m *machine) (err error) {
			cmd, err = m.start(program, args...)
			return err
		},
		then: func(*machine) error { return cmd.Process.Signal(syscall.SIGUSR1) },
	}
}

// troubles are all troubles.
var troubles = []trouble{
	asking("runaway-loop", "pricecalc, usually idle, uses a whole core", "pricecalc", "pricecalc", "loop", "80"),
	asking("kernel-loop", "confwatch asks for the attributes of a file without pause", "confwatch", "confwatch", "stat"),
	asking("growth", "tilerender grows by 25 MB/s", "tilerender", "tilerender", "grow", "25", "1700", "80"),
	{
		name: "stopped-server", cause: "sessiondb is stopped, and eight frontends wait for it", want: `sessiondb`,
		before: func(m *machine) error {
			if _, err := m.start("sessiondb", "answer", "sock"); err != nil {
				return err
			}
			for range 8 {
				if _, err := m.start("frontend", "ask", "sock"); err != nil {
					return err
				}
			}
			return nil
		},
		then: func(m *machine) error { return m.running[0].Process.Signal(syscall.SIGSTOP) },
	},
	asking("zombies", "jobmaster starts 25 children a second and waits for none", "jobmaster", "jobmaster", "orphan", "25"),
	asking("open-files", "mailpoold opens 60 files a second and closes none", "mailpoold", "mailpoold", "open", "60"),
	asking("threads", "imgworker starts 30 threads a second that never end", "imgworker", "imgworker", "threads", "30"),
	asking("convoy", "64 threads of ledgerd wait for one lock, each in turn", "ledgerd", "ledgerd", "convoy", "64"),
	{
		name: "listen-overflow", cause: "gatewayd accepts no more, and its queue overflows", want: `gatewayd|listen|connections? (that )?(were )?(refused|dropped|overflow)`,
		before: func(m *machine) error {
			if _, err := m.start("gatewayd", "accept", "18473"); err != nil {
				return err
			}
			_, err := m.start("loadgen", "connect", "18473", "60")
			return err
		},
		then: func(m *machine) error { return m.begin(0) },
	},
	asking("syncs", "kvjournal syncs a small file without pause", "kvjournal", "kvjournal", "sync", "journal"),
	{
		name: "quota", cause: "renderfarm, which needs 60 % of a core, is put under a quota of 8 %", want: `renderfarm|throttl|quota`,
		before: func(m *machine) error {
			_, err := m.start("renderfarm", "share", "60")
			return err
		},
		then: func(m *machine) error {
			group, err := m.group("cpu", "cpu.cfs_quota_us", "8000")
			if err != nil {
				return err
			}
			return join(group, m.running[0])
		},
	},
	{
		name: "group-oom", cause: "reportgen grows in a group that may have 200 MB, and is killed again and again", want: `reportgen|memory.*limit|out of memory|OOM`,
		before: func(m *machine) error {
			group, err := m.group("memory", "memory.limit_in_bytes", "200M")
			if err != nil {
				return err
			}
			if err := m.install("reportgen"); err != nil {
				return err
			}
			cmd, err := m.start("reportsuper", "again", filepath.Join(m.scratch, "reportgen"), "8", "4000")
			if err != nil {
				return err
			}
			return join(group, cmd)
		},
		then: func(m *machine) error { return m.begin(0) },
	},
	{
		name: "full-tmpfs", cause: "spooler fills a volume of 64 MB", want: `spool`,
		before: func(m *machine) error {
			dir, err := m.volume("spool", 64, 10_000)
			if err != nil {
				return err
			}
			_, err = m.start("spooler", "fill", filepath.Join(dir, "queue"), "2000", "1000")
			return err
		},
		then: func(m *machine) error { return m.begin(0) },
	},
	{
		name: "fork-storm", cause: "mailfilter starts 60 spamcheck a second", want: `mailfilter|spamcheck`,
		before: func(m *machine) error {
			if err := m.install("spamcheck"); err != nil {
				return err
			}
			_, err := m.start("mailfilter", "fork", "60", "80", filepath.Join(m.scratch, "spamcheck"), "6")
			return err
		},
		then: func(m *machine) error { return m.begin(0) },
	},
	asking("writer", "dumpbackup writes 60 MB/s to the disk", "dumpbackup", "dumpbackup", "write", "dump", "60"),
	{
		name: "reader", cause: "indexer reads from the disk without pause", want: "indexer",
		before: func(m *machine) error {
			path := filepath.Join(m.scratch, "corpus")
			if err := os.WriteFile(path, make([]byte, 256<<20), 0o644); err != nil {
				return err
			}
			_, err := m.start("indexer", "read", path)
			return err
		},
		then: func(m *machine) error { return m.begin(0) },
	},
	{
		name: "crash-loop", cause: "apigateway crashes soon after each start, and is started again", want: `apigateway|svcguard`,
		before: func(m *machine) error {
			if err := m.install("apigateway"); err != nil {
				return err
			}
			_, err := m.start("svcguard", "supervise", "80", filepath.Join(m.scratch, "apigateway"), "150")
			return err
		},
		then: func(m *machine) error { return m.begin(0) },
	},
	{
		name: "many-workers", cause: "twelve etlworker each take a share of the processors", want: "etlworker",
		then: func(m *machine) error {
			for range 12 {
				if _, err := m.start("etlworker", "share", "100"); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "datagrams", cause: "probesend floods statsink with datagrams", want: "probesend|statsink",
		before: func(m *machine) error {
			if _, err := m.start("statsink", "receive", "18474"); err != nil {
				return err
			}
			_, err := m.start("probesend", "send", "18474")
			return err
		},
		then: func(m *machine) error { return m.begin(1) },
	},
	asking("walk", "scanhome walks through all files again and again", "scanhome", "scanhome", "walk", "/usr"),
}
