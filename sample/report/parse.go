package report

import (
	"bytes"
	"io"
	"path"
	"strings"
	"time"

	"tachograph/sample/proc/cmdline"
)

// parser reads one report.
type parser struct {
	in   *input
	r    *Report
	name string // of the file
	// done is set once everything that is wanted of this kind has been read.
	done bool

	// When it happened, as several keys have it; the first of these that is there counts.
	captured, dated, written time.Time
	// What the header says about the program, where the body says nothing.
	header struct{ name, bundle, version, build string }

	stack  stack
	jetsam jetsamList
	panic  panicLines
	limit  limitLines
	texts  textState
}

// Parse reads a report of whatever kind. The name of its file is a hint for texts that do not say
// what they are, and may be empty.
//
// Of a report that ends too early, is too large or damaged it returns the facts found so far together
// with the error, if they say at least what kind of report it is.
func Parse(file io.Reader, name string) (*Report, error) {
	p := &parser{in: newInput(file), r: new(Report), name: path.Base(name)}
	p.stack.faulting = -1
	var err error
	if !p.parse() {
		err = p.in.fault()
		p.r.Incomplete = true
	}
	p.finish()
	if p.r.Kind == Unknown {
		return nil, first(err, ErrMalformed)
	}
	return p.r, err
}

// parse reads the header, an object, and the body, which is another object or a text. Old reports
// are texts without a header. It reports whether the report was complete.
func (p *parser) parse() bool {
	c, ok := p.in.next()
	if bytes.HasPrefix(p.in.buf[p.in.pos:], []byte("\ufeff")) {
		p.in.pos += len("\ufeff")
		c, ok = p.in.next()
	}
	if !ok {
		return false
	}
	if c != '{' {
		return p.lines()
	}
	if !p.in.object(p.top) {
		return p.done
	}
	p.r.Kind = kinds[p.r.BugType]
	if p.r.Kind == Unknown && p.r.BugType != "" {
		p.r.Kind = Other
	}
	switch p.r.Kind {
	case Telemetry, Stackshot, Watchdog: // nothing in their bodies is wanted
		return true
	case KernelPanic, Reset: // a forced reset may come with stacks like a panic
		p.in.allow(largestPanic)
	}
	switch c, ok = p.in.next(); {
	case p.done:
		return true
	case !ok: // some writers put everything into one object
		return p.in.err == io.EOF && p.whole()
	case c == '{':
		return p.in.object(p.top) || p.done
	}
	return p.lines()
}

// whole reports whether the first object had what belongs into the body of its kind.
func (p *parser) whole() bool {
	switch p.r.Kind {
	case Crash, Fault, Resource:
		return p.r.Process.PID != 0
	case Killing:
		return p.jetsam.seen
	case KernelPanic:
		return p.panic.seen
	case CPU, Wakeups, DiskWrites, Hang, Spin, ShutdownStall, Reset, Unknown:
		return false
	}
	return true
}

// top takes in a key of the header or the body: their keys differ.
func (p *parser) top(key []byte) bool {
	in, r, q := p.in, p.r, &p.r.Process
	switch string(key) {
	// Header.
	case "bug_type":
		return in.text(&r.BugType)
	case "timestamp":
		return p.time(&p.written)
	case "incident_id", "incident":
		return in.text(&r.Incident)
	case "os_version":
		return p.system()
	case "app_name", "name":
		return in.text(&p.header.name)
	case "bundleID":
		return in.text(&p.header.bundle)
	case "app_version":
		return in.text(&p.header.version)
	case "build_version":
		return in.text(&p.header.build)
	// All kinds.
	case "captureTime":
		return p.time(&p.captured)
	case "date":
		return p.time(&p.dated)
	case "build":
		return p.system()
	case "osVersion":
		return in.object(p.train)
	case "bootSessionUUID":
		return in.text(&r.Boot)
	// The process.
	case "pid":
		return in.pid(&q.PID)
	case "procName":
		return in.text(&q.Name)
	case "procPath":
		return in.text(&q.Path)
	case "bundleInfo":
		return in.object(p.bundle)
	case "procLaunch":
		return p.time(&q.Started)
	case "procStartAbsTime":
		return in.number(&q.StartTicks)
	case "procExitAbsTime":
		return in.number(&q.ExitTicks)
	case "coalitionID":
		return in.number(&q.Coalition)
	case "coalitionName":
		return in.text(&q.CoalitionName)
	case "parentPid":
		return in.pid(&q.ParentPID)
	case "parentProc":
		return in.text(&q.Parent)
	case "responsiblePid":
		return in.pid(&q.ResponsiblePID)
	case "responsibleProc":
		return in.text(&q.Responsible)
	case "exception":
		return in.object(p.exception)
	case "termination":
		return in.object(p.termination)
	// Stacks.
	case "faultingThread":
		return p.faultingThread()
	case "threads":
		return in.array(p.thread)
	case "lastExceptionBacktrace":
		return in.array(func(int) bool { return p.frame(&p.stack.thrown) })
	case "usedImages":
		return in.array(p.image)
	// Jetsam.
	case "pageSize":
		return in.number(&p.jetsam.pageSize)
	case "memoryStatus":
		return in.object(p.memory)
	case "largestProcess":
		return in.text(&p.jetsam.list.Largest)
	case "processes":
		p.jetsam.seen = true
		return in.array(p.resident)
	// Panics.
	case "product":
		return in.text(&p.panic.product)
	case "panicString":
		return p.panicText(&p.panic.first)
	case "macOSPanicString":
		return p.panicText(&p.panic.ofMacOS)
	}
	return in.skip()
}

func (p *parser) bundle(key []byte) bool {
	q := &p.r.Process
	switch string(key) {
	case "CFBundleIdentifier":
		return p.in.text(&q.Bundle)
	case "CFBundleShortVersionString":
		return p.in.text(&q.Version)
	case "CFBundleVersion":
		return p.in.text(&q.BuildVersion)
	}
	return p.in.skip()
}

func (p *parser) train(key []byte) bool {
	switch string(key) {
	case "train":
		return p.in.text(&p.r.OS)
	case "build":
		return p.in.text(&p.r.Build)
	}
	return p.in.skip()
}

func (p *parser) exception(key []byte) bool {
	e := &p.r.Exception
	switch string(key) {
	case "type":
		return p.in.text(&e.Type)
	case "signal":
		return p.in.text(&e.Signal)
	case "subtype":
		return p.in.text(&e.Subtype)
	case "message":
		return p.in.text(&e.Message)
	}
	return p.in.skip()
}

func (p *parser) termination(key []byte) bool {
	t := &p.r.Termination
	switch string(key) {
	case "namespace":
		return p.in.text(&t.Namespace)
	case "code":
		return p.in.number(&t.Code)
	case "indicator":
		return p.in.text(&t.Indicator)
	case "reasons":
		return p.in.array(func(int) bool { return p.in.text(&t.Reason) })
	case "byProc":
		return p.in.text(&t.By)
	case "byPid":
		return p.in.pid(&t.ByPID)
	}
	return p.in.skip()
}

func (p *parser) time(to *time.Time) bool {
	b, ok := p.in.scalar(longestNumber)
	if ok && to.IsZero() {
		*to = parseTime(string(b))
	}
	return ok
}

// parseTime reads a time as reports have it. Old panics state no zone: it is the machine's.
func parseTime(s string) time.Time {
	s = strings.TrimSpace(s)
	t, err := time.Parse("2006-01-02 15:04:05 -0700", s)
	if err != nil {
		if t, err = time.ParseInLocation(time.ANSIC, s, time.Local); err != nil {
			return time.Time{}
		}
	}
	if t.Year() < 2000 || t.Year() > 2200 { // other times cannot be in nanoseconds
		return time.Time{}
	}
	return t.UTC()
}

func (p *parser) system() bool {
	var s string
	ok := p.in.text(&s)
	p.systemIs(s)
	return ok
}

// systemIs takes in "macOS 26.2 (25C56)", or in older texts "macOS 26.2 (Build 25C56)".
func (p *parser) systemIs(s string) {
	version, build, _ := strings.Cut(strings.TrimSuffix(s, ")"), " (")
	if p.r.OS == "" && build != "" {
		p.r.OS, p.r.Build = version, strings.TrimPrefix(build, "Build ")
	}
}

// finish fills in what follows from the rest.
func (p *parser) finish() {
	r, q := p.r, &p.r.Process
	if r.Kind == Unknown {
		r.Kind = kinds[r.BugType]
	}
	p.finishText()
	p.resource()
	r.Limit = p.limit.finish()
	r.Fatal = fatal[r.BugType] || r.Kind == Crash || r.Limit != nil && strings.Contains(strings.ToLower(r.Limit.Action), "kill")
	p.finishPanic()
	r.At = first(r.At, p.captured, p.dated, p.written)
	switch r.Kind {
	case KernelPanic, Reset, Killing, Stackshot, Telemetry: // not about one process
	default:
		q.Name = first(q.Name, p.header.name, baseOf(q.Path), q.Bundle, p.header.bundle)
		q.Bundle = first(q.Bundle, p.header.bundle)
		q.Version = first(q.Version, p.header.version)
		q.BuildVersion = first(q.BuildVersion, p.header.build)
	}
	p.finishFrames()
	p.finishJetsam()
}

// first returns the first of some values that is not zero.
func first[T comparable](values ...T) T {
	var zero T
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}

func baseOf(file string) string {
	if file == "" {
		return ""
	}
	return path.Base(file)
}

// printable makes a text harmless to print and cuts it.
func printable(s string, longest int) string { return cmdline.Bounded(strings.TrimSpace(s), longest) }
