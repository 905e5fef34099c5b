package said

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/klog"
	"tachograph/sample/metric"
	"tachograph/sample/systemd"
)

// journal reads what systemd's journal has of services, core dumps and, where nothing else reads
// them, of the kernel.
type journal struct {
	root   string
	kernel bool // the kernel's lines are wanted
	dir    *systemd.Directory
	lines  klog.Reader
	dumps  *dumps // nil where nothing else reads core dumps
}

// mostAtFirst is how many entries of each stream the first look goes back at most.
const mostAtFirst = 20_000

func (j *journal) look(_ metric.Stamp, since time.Time, found func(Fact)) error {
	if j.dir == nil {
		j.dir = systemd.NewDirectory(j.root, systemd.Mark{}, systemd.Limits{Last: mostAtFirst, Since: since})
	}
	looked, err := j.dir.Look(func(e systemd.Entry) {
		if f, ok := j.entry(&e); ok {
			found(f)
		}
	})
	if j.dumps != nil {
		j.dumps.read, j.dumps.more = err == nil, looked.More
	}
	switch {
	case errors.Is(err, systemd.ErrNoJournal):
		return nil
	case err != nil:
		return fmt.Errorf("the journal: %w", err)
	case len(looked.Withheld) > 0:
		return fmt.Errorf("the journal: %w", looked.Withheld[0].Err)
	}
	return nil
}

func (j *journal) close() {
	if j.dir != nil {
		j.dir.Close()
	}
}

// entry makes a fact of an entry, if it says something about a fault.
func (j *journal) entry(e *systemd.Entry) (Fact, bool) {
	if e.Kernel {
		if !j.kernel {
			return Fact{}, false
		}
		found, ok := j.lines.Read(klog.Line{Level: uint8(max(0, e.Priority)), Kernel: true, Text: e.Message})
		if !ok {
			return Fact{}, false
		}
		return line("journal", found, e.Time), true
	}
	if e.Facts == nil {
		return Fact{}, false
	}
	f := Fact{At: e.Time}
	f.add("source", "journal")
	unit := e.Facts.Unit
	switch e.Kind {
	case systemd.UnitFailed, systemd.UnitStartFailed:
		f.Kind = metric.EventService
		f.add("rule", "unit failed")
		f.Text = unit + " failed" + strings.TrimSuffix(": "+e.Facts.Result, ": ")
	case systemd.UnitRestart:
		f.Kind = metric.EventService
		f.add("rule", "restarted")
		f.Text = unit + " is started again"
		if e.Facts.Restarts > 0 {
			f.add("restarts", strconv.Itoa(e.Facts.Restarts))
			f.Text += fmt.Sprintf(", restart %d", e.Facts.Restarts)
		}
	case systemd.UnitOOM, systemd.UnitOOMD:
		f.Kind = metric.EventKill
		f.add("rule", map[systemd.Kind]string{systemd.UnitOOM: "killed", systemd.UnitOOMD: "systemd-oomd"}[e.Kind])
		f.Text = "processes of " + unit + " were ended for want of memory"
		if e.Kind == systemd.UnitOOMD {
			f.Text = "systemd-oomd ended " + unit + " for want of memory"
		}
	case systemd.Coredump:
		f = crash(f, e)
		if j.dumps != nil {
			j.dumps.seen[dumpID{int(f.PID), f.At.Unix()}] = true
		}
		return f, true
	default:
		return f, false
	}
	f.add("unit", unit)
	f.add("result", e.Facts.Result)
	return f, true
}

// crash makes a fact of a core dump.
func crash(f Fact, e *systemd.Entry) Fact {
	c := e.Facts.Crash
	f.Kind = metric.EventCrash
	f.Label = nil
	f.add("source", "core dump")
	f.add("rule", "core dump")
	if c == nil {
		f.Text = e.Message
		return f
	}
	if !c.At.IsZero() {
		f.At = c.At
	}
	if c.PID > 0 {
		f.PID = int32(c.PID)
	}
	f.add("name", c.Comm)
	f.add("signal", c.SignalName)
	f.add("version", strings.Join(nonEmpty(c.Package, c.Version), " "))
	f.add("unit", e.Facts.Unit)
	f.add("frames", strings.Join(c.Stack[:min(len(c.Stack), 8)], "; "))
	f.Text = fmt.Sprintf("%s (pid %d) dumped core: %s", c.Comm, c.PID, c.SignalName)
	f.whole = wholeText("core", c.Comm, c.PID, f.At, c.Text, len(c.Text) < systemd.MaxField)
	if len(c.Stack) > 0 {
		f.Text += ", in " + c.Stack[0]
	}
	return f
}
