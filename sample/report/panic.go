package report

import (
	"strings"
	"time"
)

// longestPanic is how much of a panic's message is looked at: its interesting lines are near the
// beginning, the rest are backtraces.
const longestPanic = 64 << 10

// panicLines collects what the lines of a panic's message say.
type panicLines struct {
	seen    bool
	product string
	first   Panic
	ofMacOS Panic // a Mac with a T2 reports two, the other one is about the T2
	at      time.Time
	opening string // the first line, for messages that do not say "panic("
	build   bool   // the next line is the build
}

// panicText reads a message of a panic.
func (p *parser) panicText(to *Panic) bool {
	b, ok := p.in.scalar(longestPanic)
	p.panic.seen = true
	p.panic.opening = ""
	for line := range strings.Lines(string(b)) {
		p.panicLine(to, strings.TrimSpace(line))
	}
	if to.Text == "" {
		to.Text = p.panic.opening
	}
	// What follows in a panic of macOS are stacks of all processes. A T2 writes the message of
	// macOS after its own.
	if ok && to.Text != "" && (to == &p.panic.ofMacOS || !p.ofBridge()) {
		p.done = true
		return false
	}
	return ok
}

// ofBridge reports whether the report is of the T2 chip, which has a system of its own.
func (p *parser) ofBridge() bool {
	return strings.HasPrefix(p.panic.product, "iBridge") || strings.HasPrefix(strings.ToLower(p.r.OS), "bridge")
}

func (p *parser) panicLine(to *Panic, line string) {
	if p.panic.opening == "" {
		p.panic.opening = printable(line, longestText)
	}
	if p.panic.build {
		p.panic.build = false
		p.r.Build = first(p.r.Build, printable(line, longestSymbol))
	}
	key, value, _ := strings.Cut(line, ":")
	switch {
	case strings.HasPrefix(line, "panic("):
		to.Text = first(to.Text, printable(line, longestText))
	case strings.HasPrefix(line, "Panicked task "):
		to.task(value)
	case key == "BSD process name corresponding to current thread":
		to.Task = first(to.Task, printable(value, longestText))
	case key == "Mac OS version":
		p.panic.build = true
	case strings.TrimSpace(key) == "Boot" && to.Booted.IsZero():
		to.Booted = epoch(value)
	case strings.TrimSpace(key) == "Calendar" && p.panic.at.IsZero():
		p.panic.at = epoch(value)
	}
}

// task reads "26839 pages, 26 threads: pid 6982: NAME"; older systems state no pages.
func (t *Panic) task(s string) {
	sizes, process, ok := strings.Cut(s, ": pid ")
	if !ok || t.PID != 0 {
		return
	}
	for size := range strings.SplitSeq(sizes, ",") {
		n, unit, _ := strings.Cut(strings.TrimSpace(size), " ")
		switch unit {
		case "pages":
			t.Pages = number(n)
		case "threads":
			t.Threads = number(n)
		}
	}
	id, name, _ := strings.Cut(process, ":")
	t.PID = pid(number(id))
	t.Task = printable(name, longestText)
}

// epoch reads "0x5b92a00d 0x00057311", seconds and microseconds since 1970.
func epoch(s string) time.Time {
	sec, micro, _ := strings.Cut(strings.TrimSpace(s), " ")
	n := number(sec)
	if n == 0 || n > 1<<33 {
		return time.Time{}
	}
	return time.Unix(int64(n), int64(min(number(strings.TrimSpace(micro)), 999_999))*1000).UTC()
}

func (p *parser) finishPanic() {
	if p.r.Kind != KernelPanic && p.r.Kind != Reset || !p.panic.seen {
		return
	}
	t := &p.panic.first
	if strings.HasPrefix(p.panic.ofMacOS.Text, "panic(") { // else it says "not yet set"
		t = &p.panic.ofMacOS
		if t.Booted.IsZero() {
			t.Booted = p.panic.first.Booted
		}
	}
	p.r.Panic, p.r.At = t, p.panic.at
}
