package said

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/sample/systemd"
)

// dumps reads what a crash of a program or of the kernel leaves in directories: core dumps of
// systemd, reports of apport, and what the firmware kept of a panic. Core dumps are in the journal
// as well, with their stacks: seen has those that were found there.
type dumps struct {
	folders []dumpFolder
	seen    map[dumpID]bool
}

// dumpID is a core dump: a process, and the second of its end.
type dumpID struct {
	pid int
	at  int64
}

type dumpFolder struct {
	path    string
	changed time.Time
	done    time.Time // of the newest file that was read
	list    func(dir string) ([]dumped, error)
}

// dumped is what a file says, and when it was written.
type dumped struct {
	fact Fact
	at   time.Time
	id   dumpID
}

func newDumps(root string) *dumps {
	return &dumps{seen: make(map[dumpID]bool), folders: []dumpFolder{
		{path: filepath.Join(root, "var/lib/systemd/coredump"), list: coreDumps},
		{path: filepath.Join(root, "var/crash"), list: crashFiles},
		{path: filepath.Join(root, "sys/fs/pstore"), list: panics},
		{path: filepath.Join(root, "var/lib/systemd/pstore"), list: panics},
	}}
}

func (d *dumps) close() {}

func (d *dumps) look(_ metric.Stamp, since time.Time, found func(Fact)) error {
	var failed []error
	for i := range d.folders {
		f := &d.folders[i]
		info, err := os.Lstat(f.path)
		if err != nil || !info.IsDir() || info.ModTime().Equal(f.changed) {
			continue
		}
		f.changed = info.ModTime()
		if f.done.Before(since) {
			f.done = since
		}
		list, err := f.list(f.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, fmt.Errorf("%s: %w", f.path, err))
		}
		newest := f.done
		for _, one := range list {
			if !one.at.After(f.done) {
				continue
			}
			if one.at.After(newest) {
				newest = one.at
			}
			if one.id == (dumpID{}) || !d.seen[one.id] {
				found(one.fact)
			}
		}
		f.done = newest
	}
	clear(d.seen)
	return errors.Join(failed...)
}

func coreDumps(dir string) (all []dumped, err error) {
	list, err := systemd.ListDumps(dir)
	for _, d := range list {
		f := Fact{Kind: metric.EventCrash, At: d.Time, PID: int32(d.PID), Text: fmt.Sprintf("%s (pid %d) dumped core", d.Comm, d.PID)}
		f.add("source", "core dump")
		f.add("rule", "core dump")
		f.add("name", d.Comm)
		all = append(all, dumped{f, d.Time, dumpID{d.PID, d.Time.Unix()}})
	}
	return all, err
}

func crashFiles(dir string) (all []dumped, err error) {
	list, err := systemd.ListCrashFiles(dir)
	for _, c := range list {
		if c.Problem != "Crash" && c.Problem != "KernelCrash" && c.Problem != "KernelOops" {
			continue
		}
		name := filepath.Base(c.Executable)
		f := Fact{Kind: metric.EventCrash, At: c.Time, PID: int32(max(c.PID, 0))}
		f.add("source", "report")
		f.add("rule", "apport")
		f.add("name", name)
		f.add("version", c.Package)
		signal := ""
		if c.Signal > 0 {
			signal = unix.SignalName(unix.Signal(c.Signal))
		}
		f.add("signal", signal)
		f.add("frames", strings.Join(c.Stack[:min(8, len(c.Stack))], "; "))
		f.Text = strings.TrimSuffix(name+" crashed: "+signal, ": ")
		if c.Problem != "Crash" {
			f.Kind, f.PID, f.Text = metric.EventKernel, 0, "the kernel reported a mistake of its own: "+c.Problem
			f.add("topic", "kernel error")
		}
		all = append(all, dumped{fact: f, at: c.Time})
	}
	return all, err
}

func panics(dir string) (all []dumped, err error) {
	list, err := systemd.ListPanics(dir)
	for _, p := range list {
		f := Fact{Kind: metric.EventPanic, At: p.Time, Text: "the boot before ended in a panic"}
		if p.Reason != "" {
			f.Text += ": " + p.Reason
		}
		f.add("source", "pstore")
		f.add("rule", "panic")
		f.add("reason", p.Reason)
		f.add("report", filepath.Base(p.Path))
		all = append(all, dumped{fact: f, at: p.Time})
	}
	return all, err
}
