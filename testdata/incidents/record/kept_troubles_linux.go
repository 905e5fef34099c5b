package main

import (
	"os"
	"path/filepath"
	"syscall"
)

// keptTroubles are recorded and asked about only to see what the judging is worth: nobody looks
// at their recordings while the judging is changed.
var keptTroubles = []trouble{
	asking("spin-pool", "two threads of fluidsolver use a core each", "fluidsolver", "fluidsolver", "spin", "2"),
	asking("yield", "two threads of tracepoll give the processor away without pause", "tracepoll", "tracepoll", "yield", "2"),
	{
		name: "relay", cause: "querybroker and its child pass a byte to and fro without pause", want: "querybroker|queryleaf",
		before: func(m *machine) error {
			if err := m.install("queryleaf"); err != nil {
				return err
			}
			_, err := m.start("querybroker", "pass", filepath.Join(m.scratch, "queryleaf"))
			return err
		},
		then: func(m *machine) error { return m.begin(0) },
	},
	{
		name: "copier", cause: "mirrorjob copies 200 MB again and again", want: "mirrorjob",
		before: func(m *machine) error {
			from := filepath.Join(m.scratch, "image")
			if err := os.WriteFile(from, make([]byte, 200<<20), 0o644); err != nil {
				return err
			}
			_, err := m.start("mirrorjob", "duplicate", from, filepath.Join(m.scratch, "copy"))
			return err
		},
		then: func(m *machine) error { return m.begin(0) },
	},
	{
		name: "stream", cause: "shipper sends to archiver through loopback as fast as is possible", want: "shipper|archiver",
		before: func(m *machine) error {
			if _, err := m.start("archiver", "drain", "18475"); err != nil {
				return err
			}
			_, err := m.start("shipper", "stream", "18475")
			return err
		},
		then: func(m *machine) error { return m.begin(1) },
	},
	{
		name: "no-inodes", cause: "thumbmill creates 200 files a second on a volume that has room for 4,000", want: "thumbmill|inode|files|thumbs",
		before: func(m *machine) error {
			dir, err := m.volume("thumbs", 64, 4000)
			if err != nil {
				return err
			}
			_, err = m.start("thumbmill", "files", dir, "200")
			return err
		},
		then: func(m *machine) error { return m.begin(0) },
	},
	asking("timers", "clockdrv sleeps for 20 µs, without end", "clockdrv", "clockdrv", "ticks", "20"),
	{
		name: "stopped-reader", cause: "eventsink is stopped, and four collectors wait for it to read", want: "eventsink",
		before: func(m *machine) error {
			if _, err := m.start("eventsink", "consume", "events"); err != nil {
				return err
			}
			for range 4 {
				if _, err := m.start("collector", "produce", "events"); err != nil {
					return err
				}
			}
			return nil
		},
		then: func(m *machine) error { return m.running[0].Process.Signal(syscall.SIGSTOP) },
	},
	{
		name: "growing-pool", cause: "six poolworker grow by 5 MB/s each", want: "poolworker",
		before: func(m *machine) error {
			for range 6 {
				if _, err := m.start("poolworker", "grow", "5", "280", "80"); err != nil {
					return err
				}
			}
			return nil
		},
		then: func(m *machine) error {
			for i := range m.running {
				if err := m.begin(i); err != nil {
					return err
				}
			}
			return nil
		},
	},
	asking("commands", "nightlyjob starts shells, one after the other", "nightlyjob|expr|sh\\b", "nightlyjob", "commands"),
	asking("faults", "meshbuild maps, touches and unmaps 64 MB without pause", "meshbuild", "meshbuild", "faults", "64"),
	asking("logs", "debugcache writes short lines to its log as fast as is possible", "debugcache", "debugcache", "logs", "log"),
	{
		name: "unseen-file", cause: "cachewarm fills a volume with a file that was removed", want: "cachewarm|full|fill",
		before: func(m *machine) error {
			dir, err := m.volume("cache", 96, 1000)
			if err != nil {
				return err
			}
			_, err = m.start("cachewarm", "unseen", filepath.Join(dir, "warm"), "3000")
			return err
		},
		then: func(m *machine) error { return m.begin(0) },
	},
}
