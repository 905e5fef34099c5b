package said

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/sample/systemd"
)

// dumps reads what a crash of a program or of the kernel leaves in directories: core dumps of
// systemd, reports of apport, and what the firmware kept of a panic.
//
// Core dumps are in the journal as well, with their stacks, and there later: the entry is written
// when the file is whole and the stack was found. A file has an event only when its entry, which
// says more, can come no more.
type dumps struct {
	folders []dumpFolder
	waiting []dumped        // for their entries
	seen    map[dumpID]bool // that the journal had since the last look
	read    bool            // the journal is read
	more    bool            // and has not been read to its end
}

// mostWaiting is how many core dumps wait for their entries, and longestWait how long: systemd ends
// what works on a core dump that long after the crash.
const (
	mostWaiting = 256
	longestWait = 5 * time.Minute
)

// dumpID is a core dump: a process, and the second of its end.
type dumpID struct {
	pid int
	at  int64
}

type dumpFolder struct {
	path    string
	changed time.Time
	known   map[written]bool // files that were listed
	err     error            // why some or all were not
	list    func(dir string) ([]dumped, error)
}

// written is a file as it was at a time.
type written struct {
	path string
	at   int64
}

// dumped is what a file says, and when it was written.
type dumped struct {
	fact Fact
	path string
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

// tick is longer than the steps of a file system's times: a directory that has changed that shortly
// before it was listed may have changed after it as well, and show the same time.
const tick = 3 * time.Second

func (d *dumps) look(now metric.Stamp, since time.Time, found func(Fact)) error {
	var failed []error
	for i := range d.folders {
		f := &d.folders[i]
		info, err := os.Lstat(f.path)
		if err != nil || !info.IsDir() {
			continue
		}
		if info.ModTime().Equal(f.changed) {
			failed = append(failed, f.err)
			continue
		}
		if changed := info.ModTime(); now.Wall-changed.UnixNano() > int64(tick) {
			f.changed = changed
		}
		list, err := f.list(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // it was removed meanwhile
		}
		f.err = err
		failed = append(failed, err)
		known := make(map[written]bool, len(list))
		for _, one := range list {
			v := written{one.path, one.at.UnixNano()}
			known[v] = true
			switch {
			case f.known[v] || !one.at.After(since):
			case one.id != dumpID{} && len(d.waiting) < mostWaiting:
				d.waiting = append(d.waiting, one)
			default:
				found(one.fact)
			}
		}
		if err == nil || len(list) > 0 {
			f.known = known
		}
	}
	d.waiting = slices.DeleteFunc(d.waiting, func(one dumped) bool {
		switch {
		case d.seen[one.id]:
			return true
		case d.more, d.read && now.Wall-one.at.UnixNano() < int64(longestWait):
			return false
		}
		found(one.fact)
		return true
	})
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
		all = append(all, dumped{f, d.Path, d.Time, dumpID{d.PID, d.Time.Unix()}})
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
		f.whole = wholeText("apport", name, c.PID, c.Time, c.Text, c.Whole)
		if c.Problem != "Crash" {
			f.Kind, f.PID, f.Text = metric.EventKernel, 0, "the kernel reported a mistake of its own: "+c.Problem
			f.add("topic", "kernel error")
		}
		all = append(all, dumped{fact: f, path: c.Path, at: c.Time})
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
		all = append(all, dumped{fact: f, path: p.Path, at: p.Time})
	}
	return all, err
}
