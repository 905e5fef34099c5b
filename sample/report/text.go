package report

import "strings"

// textState is where a text is read.
type textState struct {
	keys    int    // how many known keys were found
	crashed string // the thread that crashed
	sampled bool   // it is about samples of one or all processes
	inside  section
}

type section uint8

const (
	header section = iota
	crashedStack
	heaviestStack
	finished
)

// lines reads a report that is a text: lines "key: value", then stacks. It reports whether
// everything that is wanted was there.
func (p *parser) lines() bool {
	total := 0
	for p.texts.inside != finished {
		b, size, ok := p.in.line(longestLine)
		if !ok {
			break
		}
		total += size
		stacks := p.r.Kind == Crash || p.r.Kind == KernelPanic
		if total > largestStacks || total > largestText && !stacks {
			break
		}
		p.line(string(b))
	}
	// A crash that names the thread has its stack.
	return p.r.Kind != Crash || p.texts.crashed == "" || p.texts.inside == finished || total > largestStacks
}

func (p *parser) line(line string) {
	line = strings.TrimRight(line, "\r")
	switch p.texts.inside {
	case crashedStack:
		p.crashFrame(line)
		return
	case heaviestStack:
		p.sampledFrame(line)
		return
	}
	if p.panic.seen || strings.HasPrefix(line, "panic(") {
		p.panic.seen = true
		p.r.Kind = first(p.r.Kind, KernelPanic)
		p.panicLine(&p.panic.first, strings.TrimSpace(line))
		return
	}
	key, value, ok := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	switch {
	case !ok:
		return
	case strings.HasPrefix(key, "Heaviest stack for "):
		p.texts.inside = heaviestStack
		return
	case strings.HasPrefix(key, "Thread ") && strings.HasSuffix(key, " Crashed"):
		p.texts.inside = crashedStack
		return
	case key == "Powerstats for":
		p.texts.inside = finished
		return
	}
	if p.ofProcess(key, value) || p.ofCrash(key, value) || p.ofEvent(key, value) {
		p.texts.keys++
	} else if len(line) == len("Mon Jan  2 15:04:05 2006") {
		p.dated = first(p.dated, parseTime(line))
	}
}

// ofProcess takes in lines about the process and the system.
func (p *parser) ofProcess(key, value string) bool {
	r, q := p.r, &p.r.Process
	switch key {
	case "Data Source":
		p.texts.sampled = true
	case "Process":
		if p.texts.sampled { // the list of all processes begins
			p.texts.inside = finished
			return true
		}
		nameAndPID(value, &q.Name, &q.PID)
	case "Command":
		set(&q.Name, value)
	case "Path":
		set(&q.Path, value)
	case "Identifier":
		set(&q.Bundle, value)
	case "Version":
		version, build, _ := strings.Cut(strings.TrimSuffix(value, ")"), " (")
		if version != "???" {
			set(&q.Version, version)
		}
		if build != "???" {
			set(&q.BuildVersion, build)
		}
	case "Parent", "Parent Process":
		nameAndPID(value, &q.Parent, &q.ParentPID)
	case "Responsible":
		nameAndPID(value, &q.Responsible, &q.ResponsiblePID)
	case "PID":
		q.PID = first(q.PID, pid(number(value)))
	case "Resource Coalition":
		name, id, quoted := strings.Cut(strings.TrimPrefix(value, `"`), `"(`)
		if !quoted {
			name, id = "", value
		}
		set(&q.CoalitionName, name)
		q.Coalition = first(q.Coalition, number(strings.TrimSuffix(id, ")")))
	case "Resource Coalition ID":
		q.Coalition = first(q.Coalition, number(value))
	case "Coalition":
		var id int32
		nameAndPID(value, &q.CoalitionName, &id)
		q.Coalition = first(q.Coalition, uint64(id))
	case "Time Since Fork":
		q.Age = first(q.Age, seconds(value))
	case "Launch Time":
		q.Started = first(q.Started, parseTime(value))
	case "OS Version":
		p.systemIs(printable(value, longestText))
	case "Incident Identifier":
		set(&r.Incident, value)
	case "Date/Time":
		p.captured = first(p.captured, parseTime(value))
	case "Date":
		p.dated = first(p.dated, parseTime(value))
	default:
		return false
	}
	return true
}

// ofCrash takes in lines about a crash.
func (p *parser) ofCrash(key, value string) bool {
	r := p.r
	switch key {
	case "Crashed Thread":
		r.Kind = first(r.Kind, Crash)
		set(&p.texts.crashed, value)
	case "Exception Type":
		r.Kind = first(r.Kind, Crash)
		kind, signal, _ := strings.Cut(strings.TrimSuffix(value, ")"), " (")
		set(&r.Exception.Type, kind)
		set(&r.Exception.Signal, signal)
	case "Exception Codes", "Exception Subtype":
		if strings.HasPrefix(value, "KERN_") || key == "Exception Subtype" {
			set(&r.Exception.Subtype, value)
		}
	case "Exception Message":
		set(&r.Exception.Message, value)
	case "Termination Signal":
		set(&r.Termination.Indicator, value)
	case "Termination Reason":
		p.terminationReason(value)
	case "Terminating Process":
		nameAndPID(value, &r.Termination.By, &r.Termination.ByPID)
	default:
		return false
	}
	return true
}

// terminationReason reads "Namespace SIGNAL, Code 0xb", where more may follow the code.
func (p *parser) terminationReason(value string) {
	t := &p.r.Termination
	space, code, ok := strings.Cut(strings.TrimPrefix(value, "Namespace "), ", Code ")
	if !ok {
		set(&t.Reason, value)
		return
	}
	code, words, _ := strings.Cut(code, " ")
	set(&t.Namespace, space)
	set(&t.Indicator, words)
	t.Code = first(t.Code, number(strings.TrimSuffix(code, ",")))
}

// ofEvent takes in lines about what exceeded a limit or did not respond, and about resets.
func (p *parser) ofEvent(key, value string) bool {
	r, l := p.r, &p.limit
	switch key {
	case "Event":
		if r.Kind == Unknown || r.Kind == Samples || r.Kind == Other {
			r.Kind = first(kindOfEvent(value), r.Kind)
		}
	case "Action taken":
		set(&l.action, value)
	case "CPU", "Wakeups", "Writes":
		l.sentence(value)
	case "CPU limit", "Wakeups limit", "Writes limit":
		l.allowed = first(l.allowed, amount(value))
	case "Limit duration":
		l.per = first(l.per, seconds(value))
	case "Duration", "Hang duration":
		r.Duration = first(r.Duration, seconds(value))
	case "Boot faults":
		r.Kind = first(r.Kind, Reset)
		if r.Faults == nil {
			words := strings.FieldsFunc(printable(value, longestText), func(c rune) bool { return c == ' ' || c == ',' })
			r.Faults = words[:min(len(words), mostFaults)]
		}
	case "Boot failure count":
		r.BootFailures = int(min(number(value), 1<<20))
	default:
		return false
	}
	return true
}

// mostFaults is how many causes are kept of a reset.
const mostFaults = 32

// finishText decides what kind a text is that does not say so.
func (p *parser) finishText() {
	r := p.r
	if (r.Kind == Unknown || r.Kind == Samples) && p.texts.keys > 0 {
		r.Kind = first(kindOfName(p.name), r.Kind)
	}
	switch r.Kind {
	case Hang, Spin, ShutdownStall:
	default:
		r.Duration = 0 // of the samples
	}
}

// set is for texts of which the first counts.
func set(to *string, value string) {
	if *to == "" {
		*to = printable(value, longestText)
	}
}

// nameAndPID reads "launchd [1]".
func nameAndPID(s string, name *string, id *int32) {
	if *name != "" || *id != 0 {
		return
	}
	text, digits := s, ""
	if at := strings.LastIndex(s, " ["); at >= 0 {
		text, digits = s[:at], s[at+2:]
	}
	if text != "UNKNOWN" && text != "???" {
		set(name, text)
	}
	*id = pid(number(strings.TrimSuffix(digits, "]")))
}

// crashFrame reads "0   com.example.App   0x000000010a2b3c4d main + 34". An empty line ends the
// stack.
func (p *parser) crashFrame(line string) {
	if strings.TrimSpace(line) == "" {
		p.texts.inside = finished
		return
	}
	at := strings.Index(line, "\t0x")
	if at < 0 {
		at = strings.Index(line, " 0x")
	}
	if at < 0 {
		return
	}
	img := strings.TrimSpace(strings.TrimLeft(line[:at], "0123456789"))
	_, call, _ := strings.Cut(line[at+1:], " ")
	symbol, offset := cutOffset(call)
	if strings.HasPrefix(symbol, "0x") { // the image's address
		symbol = ""
	}
	if p.ownName(img) && len(p.stack.known) < returned {
		p.stack.known = append(p.stack.known, Frame{printable(img, longestText), printable(symbol, longestSymbol), offset})
	}
}

// ownName reports whether an image is one of the program's, of texts which name the bundle or
// the file beside each frame.
func (p *parser) ownName(img string) bool {
	q := &p.r.Process
	switch {
	case img == "" || img == "???":
		return false
	case img == q.Name || img == q.Bundle || img == baseOf(q.Path):
		return true
	}
	library := strings.HasPrefix(img, "lib") && strings.HasSuffix(img, ".dylib")
	return !library && img != "dyld" && !strings.HasPrefix(img, "com.apple.")
}

// sampledFrame reads "  49  main + 9 (main.swift:12 in Editor + 2238632) [0x115b4654]", outermost
// calls first. An empty line ends the stack.
func (p *parser) sampledFrame(line string) {
	line = strings.TrimSpace(line)
	if line == "" {
		p.texts.inside = finished
		return
	}
	end, start := strings.LastIndex(line, ")"), strings.LastIndex(line, " (")
	if start < 0 || end < start {
		return
	}
	q := &p.r.Process
	inside := line[start+2 : end]
	if at := strings.LastIndex(inside, " in "); at >= 0 {
		inside = inside[at+len(" in "):]
	}
	img, inImage := cutOffset(inside)
	if img == "" || img != q.Name && img != baseOf(q.Path) {
		return
	}
	call := strings.TrimSpace(strings.TrimLeft(line[:start], "*0123456789"))
	symbol, offset := cutOffset(call)
	if symbol == "" || symbol == "???" {
		symbol, offset = "", inImage
	}
	s := &p.stack
	if len(s.known) == returned {
		s.known = s.known[:returned-1]
	}
	s.known = append([]Frame{{printable(img, longestText), printable(symbol, longestSymbol), offset}}, s.known...)
}

// cutOffset splits "main + 34".
func cutOffset(s string) (text string, offset uint64) {
	at := strings.LastIndex(s, " + ")
	if at < 0 {
		return strings.TrimSpace(s), 0
	}
	return strings.TrimSpace(s[:at]), number(strings.TrimSpace(s[at+3:]))
}
