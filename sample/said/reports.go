package said

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/report"
)

// folders reads the reports of macOS. changed returns where reports come, and whether something may
// have come there since it was last called.
type folders struct {
	folder  *report.Folder
	changed func(now metric.Stamp) ([]report.Place, bool)
	done    func()
	again   bool
	begun   bool
	refused error // of the last look
}

// mostRefused is how many of the folders that cannot be listed are named.
const mostRefused = 3

func (r *folders) look(now metric.Stamp, since time.Time, found func(Fact)) error {
	places, changed := r.changed(now)
	if !changed && !r.again && r.begun {
		return r.refused
	}
	r.begun = true
	r.folder.Places = places
	fresh := r.folder.Look(time.Unix(0, now.Wall))
	r.again = fresh.Again
	r.refused = errors.Join(fresh.Refused[:min(len(fresh.Refused), mostRefused)]...)
	for i := range fresh.Reports {
		l := &fresh.Reports[i]
		if l.Written.Before(since) {
			continue
		}
		for _, f := range reported(l) {
			found(f)
		}
	}
	return r.refused
}

func (r *folders) close() { r.done() }

// mostKilled is how many of the processes in one report about memory have an event.
const mostKilled = 16

// kindOfReport are the kinds of events of reports. A kind that is not here says nothing about the
// machine that a person asks for.
var kindOfReport = map[report.Kind]metric.EventKind{
	report.Crash: metric.EventCrash, report.Fault: metric.EventCrash,
	report.Resource: metric.EventLimit, report.CPU: metric.EventLimit, report.Wakeups: metric.EventLimit, report.DiskWrites: metric.EventLimit,
	report.Memory: metric.EventLimit, report.Threads: metric.EventLimit,
	report.Hang: metric.EventHang, report.Spin: metric.EventHang, report.Deadlock: metric.EventHang, report.Watchdog: metric.EventHang, report.Workflow: metric.EventHang,
	report.KernelPanic: metric.EventPanic, report.Reset: metric.EventReset, report.ShutdownStall: metric.EventReset,
	report.GPU: metric.EventKernel, report.SleepWake: metric.EventKernel,
}

// reported makes facts of a report: one, or one for each process that was ended for want of memory.
func reported(l *report.Located) []Fact {
	r := l.Report
	if r.Kind == report.Killing {
		return killings(l)
	}
	kind, ok := kindOfReport[r.Kind]
	if !ok {
		return nil
	}
	f := begin(l, kind)
	p := &r.Process
	f.PID, f.Began, f.Ticks = p.PID, p.Started, p.StartTicks
	f.add("name", p.Name)
	f.add("version", p.Version)
	f.add("bundle", p.Bundle)
	f.add("exception", r.Exception.Type)
	f.add("signal", r.Exception.Signal)
	f.add("reason", strings.Join(nonEmpty(ended(&r.Termination), r.Termination.Reason), ": "))
	f.add("by", r.Termination.By)
	if !p.Started.IsZero() {
		f.add("start", p.Started.UTC().Format(time.RFC3339Nano))
	}
	if r.Duration > 0 {
		f.add("seconds", strconv.FormatFloat(r.Duration.Seconds(), 'f', -1, 64))
	}
	var frames []string
	for _, fr := range r.Frames {
		frames = append(frames, frame(fr))
	}
	f.add("frames", strings.Join(frames, "; "))
	if kind == metric.EventKernel {
		f.add("topic", map[report.Kind]string{report.GPU: "graphics", report.SleepWake: "sleep"}[r.Kind])
	}
	if r.Limit != nil {
		if r.Limit.Value > 0 {
			f.add("used", amount(r.Kind, r.Limit.Value, r.Limit.Over))
		}
		f.add("limit", amount(r.Kind, r.Limit.Allowed, r.Limit.Per))
		f.add("result", r.Limit.Action)
	}
	f.Text = sentenceOf(r, &f, frames)
	return []Fact{f}
}

// ended says who ended a process and why, in Apple's words if the report has some.
func ended(t *report.Termination) string {
	switch {
	case t.Namespace == "":
		return ""
	case t.Indicator != "":
		return t.Namespace + ": " + t.Indicator
	}
	return report.ExitReason(t.Namespace, t.Code)
}

func begin(l *report.Located, kind metric.EventKind) Fact {
	f := Fact{Kind: kind, At: l.At}
	if f.At.IsZero() {
		f.At = l.Written
	}
	f.add("source", "report")
	f.add("rule", string(l.Kind))
	f.add("report", withoutHost(path.Base(l.Path)))
	f.add("incident", l.Incident)
	f.add("os", strings.TrimSpace(l.OS+" "+l.Build))
	f.whole = &whole{key: l.ID(), name: f.label("report"), text: l.Text}
	return f
}

// hostInName is the name of the machine in the name of a report, between the time and the end.
var hostInName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.*_\d{4}-\d{2}-\d{2}-\d{6})_.*?(\.(?:\w+_resource\.)?\w+)$`)
})

// withoutHost removes the name of the machine from the name of a report.
func withoutHost(name string) string { return hostInName().ReplaceAllString(name, "$1$2") }

func frame(f report.Frame) string {
	if f.Symbol != "" {
		return fmt.Sprintf("%s %s+%d", f.Image, f.Symbol, f.Offset)
	}
	return fmt.Sprintf("%s+0x%x", f.Image, f.Offset)
}

// amount writes what was used or may be used in a time.
func amount(kind report.Kind, v float64, over time.Duration) string {
	unit := ""
	switch kind {
	case report.CPU:
		unit = " s of processor time"
	case report.Wakeups:
		unit = " wakeups"
	case report.Memory:
		return fmt.Sprintf("%.0f MiB of memory", v/(1<<20))
	case report.Threads:
		unit = " threads"
	case report.DiskWrites:
		return fmt.Sprintf("%.1f MB written in %g s", v/1e6, over.Seconds())
	}
	if over == 0 {
		return fmt.Sprintf("%g%s", v, unit)
	}
	return fmt.Sprintf("%g%s in %g s", v, unit, over.Seconds())
}

func nonEmpty(words ...string) (some []string) {
	for _, w := range words {
		if w != "" {
			some = append(some, w)
		}
	}
	return some
}

// sentenceOf says what a report says.
func sentenceOf(r *report.Report, f *Fact, frames []string) string {
	who := cmp.Or(strings.Join(nonEmpty(r.Process.Name, r.Process.Version), " "), "a part of the system")
	if r.Process.PID != 0 {
		who += fmt.Sprintf(" (pid %d)", r.Process.PID)
	}
	in := ""
	if len(frames) > 0 {
		in = ", in " + frames[0]
	}
	switch r.Kind {
	case report.Crash, report.Fault:
		what := r.Exception.Type
		if r.Exception.Signal != "" {
			what = strings.TrimSpace(what + " (" + r.Exception.Signal + ")")
		}
		more := r.Exception.Subtype
		if more == "" && r.Termination.Namespace != "SIGNAL" {
			more = ended(&r.Termination)
		}
		return who + " crashed: " + strings.Join(nonEmpty(what, more), ", ") + in
	case report.Hang, report.Spin, report.Deadlock, report.Watchdog, report.Workflow:
		if r.Duration > 0 {
			return fmt.Sprintf("%s did not go on for %s%s", who, r.Duration.Round(100*time.Millisecond), in)
		}
		return who + " did not go on" + in
	case report.KernelPanic:
		text := "the kernel panicked"
		if r.Panic != nil && r.Panic.Text != "" {
			text += ": " + r.Panic.Text
		}
		return text
	case report.Reset:
		return strings.TrimSuffix("the machine was reset: "+strings.Join(r.Faults, ", "), ": ")
	case report.ShutdownStall:
		return fmt.Sprintf("a shutdown did not end for %s", r.Duration.Round(time.Second))
	case report.GPU:
		return "the graphics processor was reset" + " for " + who
	case report.SleepWake:
		return "the machine did not fall asleep or wake as it should"
	}
	text := who + " exceeded a limit"
	if used, limit := f.label("used"), f.label("limit"); used != "" {
		text = fmt.Sprintf("%s used %s; the limit is %s", who, used, limit)
	} else if limit != "" {
		text += ": " + limit
	}
	return text + in
}

// killings makes facts of a report about memory.
func killings(l *report.Located) (facts []Fact) {
	j := l.Jetsam
	if j == nil {
		return nil
	}
	for i := range j.Killed {
		k := &j.Killed[i]
		if k.Housekeeping {
			continue
		}
		if len(facts) == mostKilled {
			break
		}
		f := begin(l, metric.EventKill)
		f.PID = k.PID
		f.add("name", k.Name)
		f.add("reason", k.Reason)
		f.add("bytes", strconv.FormatUint(k.Bytes, 10))
		f.Text = fmt.Sprintf("the kernel ended %s (pid %d) for want of memory: %s; %s free, %s in the compressor, the largest was %s",
			k.Name, k.PID, k.Reason, size(j.Pages.Free*j.PageSize), size(j.Compressor*j.PageSize), j.Largest)
		facts = append(facts, f)
	}
	return facts
}

func size(b uint64) string { return fmt.Sprintf("%.1f GB", float64(b)/(1<<30)) }
