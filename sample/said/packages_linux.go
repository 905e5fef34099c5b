package said

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/software"
)

// packages notices what package managers did: from the logs that they write, and where they write
// none, from the lists of what is installed.
type packages struct {
	logs  *software.Logs
	lists []*list
}

func newPackages(root string, zone func() *time.Location) *packages {
	p := &packages{logs: software.NewLogs(root+"/", zone), lists: []*list{
		newAPK(filepath.Join(root+"/", "lib/apk/db/installed")),
		newLinks("snap", root+"/snap", "current"),
		newLinks("snap", root+"/var/lib/snapd/snap", "current"),
		newLinks("flatpak", root+"/var/lib/flatpak/app", "current/active"),
	}}
	if root == "" { // rpm reads the machine's own database
		p.lists = append(p.lists, newRPM("/"))
	}
	return p
}

func newAPK(path string) *list {
	return &list{manager: "apk", files: func() []string { return []string{path} }, read: func(context.Context) (software.List, error) {
		f, _, err := sample.OpenRegular(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return software.Apk(f)
	}}
}

// newLinks returns the list of a manager that keeps several versions of each program in a directory,
// beside a link to the one in use.
func newLinks(manager, dir, link string) *list {
	links := func() []string {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return nil // on some systems one directory of snap is a link to the other
		}
		all, _ := filepath.Glob(filepath.Join(dir, "*", link))
		return all[:min(len(all), mostLinks)]
	}
	return &list{manager: manager, files: links, read: func(context.Context) (software.List, error) { return software.Links(dir, links()), nil }}
}

// mostLinks is how many programs of one of these managers are looked at.
const mostLinks = 2000

// newRPM returns the list of rpm, whose managers write logs. The one that is used need not.
func newRPM(r software.RPM) *list {
	return &list{manager: "rpm", logs: []string{"dnf", "dnf5", "zypper"}, files: r.Files, busy: r.Busy, read: r.List}
}

func (p *packages) look(now metric.Stamp, since time.Time, found func(Fact)) error {
	failed := []error{p.logs.Follow(since, func(log string, c software.Change) {
		for _, l := range p.lists {
			if slices.Contains(l.logs, log) {
				c = l.hear(c)
			}
		}
		found(change(log, c))
	})}
	for _, l := range p.lists {
		failed = append(failed, l.look(time.Unix(0, now.Wall), func(c software.Change) { found(change(l.manager, c)) }))
	}
	return errors.Join(failed...)
}

func (p *packages) close() {
	for _, l := range p.lists {
		l.close()
	}
}

// list is a list of what is installed, which is read when its files have changed, and compared with
// the one before. No look waits until it has been read.
type list struct {
	manager string
	logs    []string // of managers that change the same list
	files   func() []string
	busy    func() bool // whether it is being changed; nil if nothing says so
	read    func(context.Context) (software.List, error)

	was, seen []version // of the files, when the list was read and at the last look
	known     software.List
	right     time.Time // when the known list was still right
	why       error     // why it could not be read
	heard     map[part]time.Time
	reading   chan reading // nil if it is not being read
	stop      context.CancelFunc
}

// version identifies one state of a file.
type version struct {
	path string
	size int64
	at   time.Time
}

// reading is what came of reading a list.
type reading struct {
	list software.List
	err  error
}

// look passes what has changed in the list.
func (l *list) look(now time.Time, found func(software.Change)) error {
	if l.reading != nil {
		select {
		case r := <-l.reading:
			l.close()
			if l.why = r.err; r.err == nil {
				l.compare(r.list, now, found)
			}
		default:
		}
		return l.why
	}
	is := versionsOf(l.files())
	settled := slices.Equal(is, l.seen)
	l.seen = is
	switch {
	case len(is) == 0:
		return nil // not a machine with this manager
	case slices.Equal(is, l.was):
		if l.why == nil {
			l.right = now
		}
		return l.why
	case l.known != nil && !settled, l.busy != nil && l.busy():
		return l.why // it is being changed
	}
	l.was = is
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan reading, 1)
	l.stop, l.reading = stop, done
	go func() {
		list, err := l.read(ctx)
		done <- reading{list, err}
	}()
	return l.why
}

func versionsOf(files []string) (all []version) {
	for _, path := range files {
		if info, err := os.Lstat(path); err == nil {
			all = append(all, version{path, info.Size(), info.ModTime()})
		}
	}
	return all
}

// compare passes what has changed since the list that is known, but for what a log has said.
func (l *list) compare(is software.List, now time.Time, found func(software.Change)) {
	if l.known != nil {
		changed := now
		if at := slices.MaxFunc(l.was, func(a, b version) int { return a.at.Compare(b.at) }).at; at.After(l.right) && at.Before(now) {
			changed = at
		}
		for _, c := range software.Compare(l.known, is, l.right, changed) {
			if !l.said(c) {
				found(c)
			}
		}
	}
	l.known, l.right = is, now
}

func (l *list) close() {
	if l.reading != nil {
		l.stop()
		l.reading = nil
	}
}

// part is half of a change: a version that came or went.
type part struct {
	name, version string
	came          bool
}

func parts(c software.Change) (all []part) {
	if c.Was != "" {
		all = append(all, part{c.Package, c.Was, false})
	}
	if c.Is != "" {
		all = append(all, part{c.Package, c.Is, true})
	}
	return all
}

// mostHeard bounds what is remembered of logs.
const mostHeard = 20_000

// hear remembers what a log said, so that the list does not say it again. What was there before,
// which some logs do not say, is in the list.
func (l *list) hear(c software.Change) software.Change {
	if l.known == nil {
		return c
	}
	if before := l.known[c.Package]; c.Verb == software.Installed && len(before) == 1 && !besideOthers(c.Package) {
		c.Was, c.Verb = before[0].Text, software.Changed
		if c.Was == c.Is {
			c.Verb = software.Reinstalled
		}
	}
	if l.heard == nil || len(l.heard) >= mostHeard {
		l.heard = make(map[part]time.Time)
	}
	for _, p := range parts(c) {
		l.heard[p] = c.At
	}
	return c
}

// said reports whether a log has said all of a change, within the last hour before it.
func (l *list) said(c software.Change) bool {
	all := true
	for _, p := range parts(c) {
		at, heard := l.heard[p]
		delete(l.heard, p)
		all = all && heard && at.After(c.At.Add(-time.Hour))
	}
	return all
}

// besideOthers reports whether the versions of a package are installed beside each other.
func besideOthers(name string) bool {
	return strings.HasPrefix(name, "kernel") || name == "gpg-pubkey"
}
