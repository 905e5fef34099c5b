// Package klog understands what Linux's kernel writes to its log: which lines say that something
// broke, and what they name.
//
// It is a case of what sample/notice does for values: a table of what to look for, and for each
// line at most one finding. Lines come from /dev/kmsg or from systemd's journal. Both may hold
// lines that a program wrote there as root: the caller passes those of the kernel only.
package klog

import (
	"strings"
	"time"
)

// Topic says what a line is about.
type Topic string

const (
	OutOfMemory Topic = "out of memory" // a process was killed for want of memory
	Crash       Topic = "crash"         // a process did something that the processor refused
	Hang        Topic = "hang"          // a task or a processor does not go on
	Oops        Topic = "kernel error"  // a mistake in the kernel itself
	Disk        Topic = "disk"          // a disk does not do what it should
	FileSystem  Topic = "file system"
	ReadOnly    Topic = "read-only" // a file system that can no longer be written
	Link        Topic = "link"      // of a network interface went down or came up
	Network     Topic = "network"   // a table or a queue of the network is full
	Hardware    Topic = "hardware"
	Thermal     Topic = "thermal"
	Graphics    Topic = "graphics"
	Device      Topic = "device" // came or went
	Unknown     Topic = "kernel" // an error of a kind that no rule knows
)

// Finding is what one line says, or several that belong together.
type Finding struct {
	Topic Topic
	// Rule names the kind of line within its topic: "segfault", "io error". Floods are counted
	// by it.
	Rule string
	// Good says that something is well again: a link that came up, a processor that is cool.
	Good bool
	// What the line names; each is empty or zero if it names none.
	PID     int32
	Process string
	Group   string // memory control group whose limit was reached
	Device  string // disk, partition, interface, card, processor
	File    string // that code was mapped from
	Offset  uint64 // in that file, of the instruction
	Address uint64 // that was to be read, written or run
	Owner   string // "NAME:PID" of who holds the lock that a hung task waits for
	Seconds float64
	Bytes   uint64 // resident memory of a process that was killed
	// Text is the line, printable and at most MostText long.
	Text string
}

// MostText limits the text of a finding, in bytes.
const MostText = 2 << 10

// Line is a line of the kernel's log.
type Line struct {
	Since    time.Duration // on the awake clock, since boot
	Sequence uint64
	Level    uint8 // 0 emergency to 7 debug
	Kernel   bool  // not written by a program
	Text     string
	// Device is what the kernel says the line is about: "b8:16", "n3", "+pci:0000:00:1f.6".
	Device string
}

// errorLevel is the least severe level at which a line that no rule knows is a finding.
const errorLevel = 3

// A Reader finds what lines say. It remembers the last lines as far as the next one completes
// them.
type Reader struct {
	// decided is the decision to kill a process, which the line about its end follows.
	decided struct {
		pid   int32
		group string
	}
	hung Finding // the last hung task, whose lock's owner a further line names
}

// Read returns what a line says; ok is false for a line that says nothing of interest.
func (r *Reader) Read(l Line) (f Finding, ok bool) {
	if !l.Kernel {
		return f, false
	}
	text := printable(l.Text)
	if r.decision(text) {
		return f, false
	}
	for i := range rules {
		rule := &rules[i]
		if !strings.Contains(text, rule.has) {
			continue
		}
		pattern := rule.pattern()
		m := pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if rule.ignore {
			return f, false
		}
		f = Finding{Topic: rule.topic, Rule: rule.name, Good: rule.good, Text: text}
		for n, name := range pattern.SubexpNames() {
			f.set(name, m[n])
		}
		if f.Device == "" {
			f.Device = l.Device
		}
		r.complete(&f)
		return f, true
	}
	if l.Level <= errorLevel {
		return Finding{Topic: Unknown, Rule: "error", Device: l.Device, Text: text}, true
	}
	return f, false
}

// complete adds what other lines said.
func (r *Reader) complete(f *Finding) {
	switch f.Rule {
	case killed:
		if r.decided.pid == f.PID {
			f.Group = r.decided.group
		}
		r.decided.pid, r.decided.group = 0, ""
	case hungTask:
		r.hung = *f
	case lockOwner:
		if f.PID == r.hung.PID {
			f.Seconds = r.hung.Seconds
		}
	}
}

// decision takes in a line of the form "oom-kill:constraint=...,task=NAME,pid=1,uid=0". It names
// the control group, which the line after it, about the killing, does not. A name may have commas
// in it, so that what follows it is found from the end.
func (r *Reader) decision(text string) bool {
	rest, ok := strings.CutPrefix(text, "oom-kill:")
	if !ok {
		return false
	}
	r.decided.pid, r.decided.group = 0, ""
	at := strings.LastIndex(rest, ",pid=")
	if at < 0 {
		return true
	}
	pid, _, _ := strings.Cut(rest[at+len(",pid="):], ",")
	r.decided.pid = number32(pid)
	if _, after, ok := strings.Cut(rest, "oom_memcg="); ok {
		r.decided.group, _, _ = strings.Cut(after, ",task_memcg=")
	}
	return true
}
