package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// sides name the two windows in a sentence: two times of one host, or two
// hosts.
type sides struct {
	a, b string
	// clock formats an instant, with its date if the windows are on several days.
	clock func(wall int64) string
}

func (q *diffAnswer) sides(h *metric.Host) sides {
	s := sides{clock: q.a.TimeOfDay}
	day := func(wall int64) string { return q.a.In(wall).Format(time.DateOnly) }
	if from := min(q.c.a.From, q.c.b.From); day(from) != day(max(q.c.a.To, q.c.b.To)) {
		s.clock = func(wall int64) string { return q.a.In(wall).Format(time.DateTime) }
	}
	if q.c.against != "" {
		s.a, s.b = "on "+q.c.name, "on "+h.Name
	}
	return s
}

func (s sides) hosts() bool { return s.a != "" }

// values writes the values of both sides: of one host with a verb, as in "rose from 1 to 2", of
// two hosts with their names.
func (s sides) values(verb, before, after string) string {
	if s.hosts() {
		return fmt.Sprintf("%s %s, %s %s", before, s.a, after, s.b)
	}
	return fmt.Sprintf("%s from %s to %s", verb, before, after)
}

// sentence describes a change in one line, with the changes that were joined to it.
func sentence(c *query.Change, s sides) string {
	line := clause(c, s)
	for _, also := range c.Also {
		switch {
		case also.Kind == query.TunableChange: // named beside the first
		case also.Kind == query.ProcessChange && also.Subject == c.Subject && also.Aspect != query.EndsBadly && c.Aspect != query.EndsBadly:
			line += ", " + aspect(also, s)
		default:
			line += "; with it " + lowerFirst(clause(also, s))
		}
	}
	return line
}

// lowerFirst makes a clause fit the middle of a sentence: its first letter becomes lower case,
// but abbreviations stay.
func lowerFirst(text string) string {
	if len(text) > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z' {
		return string(text[0]+'a'-'A') + text[1:]
	}
	return text
}

// settingNames lists the settings that changed together.
func settingNames(c *query.Change) string {
	names := []string{subject(c)}
	for _, also := range c.Also {
		names = append(names, subject(also))
	}
	if len(names) > 4 {
		names = append(names[:3], fmt.Sprintf("%d more", len(names)-3))
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// aspect writes how much of something processes used on each side.
func aspect(c *query.Change, s sides) string {
	before, after := "before", "after"
	if s.hosts() {
		before, after = s.a, s.b
	}
	return fmt.Sprintf("%s: %s %s, %s %s%s", aspectWords(c), amount(c, c.Before), before, amount(c, c.After), after, times(c))
}

// happened describes an event: what it was, when and how often.
func happened(c *query.Change, s sides) string {
	if c.Times < 2 {
		line := fmt.Sprintf("%s at %s", c.Subject, s.clock(c.At))
		if c.NewText != "" {
			line += ": " + c.NewText
		}
		return line
	}
	line := fmt.Sprintf("%s, %d times from %s to %s", c.Subject, c.Times, s.clock(c.At), s.clock(c.Until))
	if c.Seconds > 0 {
		return line + fmt.Sprintf(", %s in all, the longest: %s", human.Duration(time.Duration(c.Seconds*1e9)), c.NewText)
	}
	return line + ", the first: " + c.NewText
}

// clause describes a change without those that were joined to it.
func clause(c *query.Change, s sides) string {
	switch c.Kind {
	case query.TunableChange:
		old, new := quoted(c.OldText), quoted(c.NewText)
		if s.hosts() {
			return settingNames(c) + ": " + s.values("", old, new)
		}
		verb := "was changed"
		if len(c.Also) > 0 {
			verb = "were changed"
		}
		line := settingNames(c) + " " + s.values(verb, old, new)
		if u := c.Units.String(); u != "" {
			line += " " + u
		}
		return line + ", first seen at " + s.clock(c.At)
	case query.Happened:
		return happened(c, s)
	case query.Restarted:
		return fmt.Sprintf("%s restarted at %s (pid %d before, pid %d after)", c.Subject, s.clock(c.At), query.ProcessID(c.Ran), query.ProcessID(c.Runs))
	case query.ListenerNew, query.ListenerGone:
		return listens(c, s)
	case query.ProcessNew:
		return newSentence(c, s)
	case query.ProcessVanished:
		return goneSentence(c, s)
	case query.ProcessChange:
		if c.Aspect == query.EndsBadly {
			return failures(c)
		}
		return processes(c) + " " + aspect(c, s)
	}
	if c.Aspect == query.Hung {
		return hung(c)
	}
	return measure(c, s) + by(c)
}

// processes names the processes that a change is about, and says whose they are.
func processes(c *query.Change) string { return c.Subject + c.Whose.Beside(c.Subject) }

// listens says that somebody listens on a port, or that nobody does any more.
func listens(c *query.Change, s sides) string {
	who := c.Listener.Label("name")
	who += c.Whose.Beside(who)
	switch {
	case s.hosts() && c.Kind == query.ListenerNew:
		return fmt.Sprintf("%s listens on %s only %s", who, c.Subject, s.b)
	case s.hosts():
		return fmt.Sprintf("%s listens on %s only %s", who, c.Subject, s.a)
	case c.Kind == query.ListenerNew:
		return fmt.Sprintf("%s listens on %s, first seen at %s", who, c.Subject, s.clock(c.At))
	}
	return fmt.Sprintf("nobody listens on %s any more: until %s %s did", c.Subject, s.clock(c.At), who)
}

// failures says that processes keep ending badly.
func failures(c *query.Change) string {
	s := fmt.Sprintf("%s ended badly %d times", processes(c), c.Times)
	if c.NewText != "" {
		s += ", mostly with " + c.NewText
	}
	return s + fmt.Sprintf(": %s before, %s after", amount(c, c.Before), amount(c, c.After))
}

// hung says that a disk completes no requests.
func hung(c *query.Change) string {
	s := fmt.Sprintf("Disk %s hung: it completed no request for %s, with %s under way  [%s]", c.Instance,
		human.Duration(time.Duration(c.Seconds*1e9)), human.Value(c.After, c.Units, false), subject(c))
	if c.Related > 0 {
		s += fmt.Sprintf(" and %d related", c.Related)
	}
	return s
}

// by names the process that caused a change.
func by(c *query.Change) string {
	if c.By == nil {
		return ""
	}
	who := c.By.Name + c.By.Whose.Beside(c.By.Name)
	if c.By.Parent != "" {
		who += ", started by " + c.By.Parent
	}
	show := func(x float64) string { return human.Value(x, c.By.Units, c.By.Rate) }
	return fmt.Sprintf(": most of it %s (%s before, %s after)", who, show(c.By.Before), show(c.By.After))
}

// measure says how a metric of the machine moved.
func measure(c *query.Change, side sides) string {
	verb := "rose"
	if c.After < c.Before {
		verb = "fell"
	}
	title := title(c)
	if side.hosts() {
		title += ":"
	}
	s := title + " " + side.values(verb, amount(c, c.Before), amount(c, c.After)) + times(c)
	if c.Trend && c.After > c.Before {
		s += " and was still rising"
	} else if c.Trend {
		s += " and was still falling"
	}
	s += "  [" + subject(c) + "]"
	if c.Related > 0 {
		s += fmt.Sprintf(" and %d related", c.Related)
	}
	return s
}

func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " ,") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

func subject(c *query.Change) string {
	if c.Instance != "" {
		return c.Subject + "[" + c.Instance + "]"
	}
	return c.Subject
}

// title describes the metric in words.
func title(c *query.Change) string {
	words := c.Subject
	if c.Metric != nil && c.Metric.Help != "" {
		words = strings.TrimSuffix(c.Metric.Help, ".")
	}
	if c.Instance != "" {
		words += " (" + c.Instance + ")"
	}
	return words
}

func amount(c *query.Change, x float64) string {
	if c.Aspect == "cpu" {
		return human.Percent(x) + " of a core"
	}
	return human.Value(x, c.Units, c.Rate)
}

var aspectVerbs = map[string][2]string{
	"cpu":     {"uses more CPU", "uses less CPU"},
	"memory":  {"holds more memory", "holds less memory"},
	"read":    {"reads more from disk", "reads less from disk"},
	"write":   {"writes more to disk", "writes less to disk"},
	"receive": {"receives more", "receives less"},
	"send":    {"sends more", "sends less"},
}

func aspectWords(c *query.Change) string {
	if c.After < c.Before {
		return aspectVerbs[c.Aspect][1]
	}
	return aspectVerbs[c.Aspect][0]
}

// times writes the factor by which a value grew, where that says more than the numbers: from
// twice as much on.
func times(c *query.Change) string {
	if c.Before <= 0 || c.After <= 0 || c.Units == (metric.Units{Other: "C"}) {
		return ""
	}
	if f := c.After / c.Before; f >= 2 {
		return fmt.Sprintf(" (%s times as much)", human.Figures(math.Round(f*10)/10))
	}
	return ""
}

// used lists what a process took over the window.
func used(c *query.Consumer, seconds float64) string {
	parts := []string{human.Percent(c.CPUTime()/seconds) + " of a core"}
	if c.Peak > 0 {
		parts = append(parts, human.Bytes(c.Peak))
	}
	for _, io := range []struct {
		x    float64
		verb string
	}{{c.Gains[query.ReadBytes], "read"}, {c.Gains[query.WrittenBytes], "written"}, {c.Gains[query.NetIn], "received"}, {c.Gains[query.NetOut], "sent"}} {
		if io.x/seconds > 1e4 {
			parts = append(parts, human.Bytes(io.x/seconds)+"/s "+io.verb)
		}
	}
	return strings.Join(parts, ", ")
}

func newSentence(c *query.Change, s sides) string {
	p := c.Process
	seconds := math.Max(float64(p.To-p.From)/1e9, 1)
	who := fmt.Sprintf("pid %d", query.ProcessID(p.Instance))
	if p.Count > 1 {
		who = cli.Count(p.Count, "process")
	}
	if p.User != "" {
		who += ", " + p.User
	}
	since := p.From
	if p.Start != 0 {
		since = p.Start
	}
	if s.hosts() {
		return fmt.Sprintf("%s runs only %s (%s) and uses %s", processes(c), s.b, who, used(p, seconds))
	}
	return fmt.Sprintf("%s is new (%s, since %s) and uses %s", processes(c), who, s.clock(since), used(p, seconds))
}

func goneSentence(c *query.Change, side sides) string {
	p := c.Process
	who := fmt.Sprintf("pid %d", query.ProcessID(p.Instance))
	if p.Count > 1 {
		who = cli.Count(p.Count, "process")
	}
	if side.hosts() {
		return fmt.Sprintf("%s runs only %s (%s) and uses %s", processes(c), side.a, who, used(p, math.Max(float64(p.To-p.From)/1e9, 1)))
	}
	s := fmt.Sprintf("%s (%s) is gone: last seen at %s", processes(c), who, side.clock(p.To))
	if c.Exit != nil && c.Exit.Label("how") != "" {
		s = fmt.Sprintf("%s (%s) is gone: it ended at %s, %s", processes(c), who, side.clock(c.Exit.At.Wall), c.Exit.Label("how"))
	}
	return s
}
