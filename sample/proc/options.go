// Package proc reads processes and threads: their identity, what they use, when they began and
// how they ended.
//
// A process is not a pid. The table that all sources of this package share identifies processes
// by what the kernel never reuses in one boot: the pid with the start time on Linux, the unique
// number given at fork on macOS.
//
// On macOS it reads coalitions as well, in which the kernel counts what an app or a service has
// used, with its helpers and with those of its processes that have ended. The key of a coalition
// is the kernel's number of it, which is not used again within a boot, so the domain ends with
// its boot. A key that outlives an app, such as the app's name, would make one counter of two
// runs: the fall from one to the next cannot be seen if the second has used more by the next
// reading. Runs of one app have the same name and the same labels, as processes do.
package proc

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"tachograph/sample/metric"
	"tachograph/sample/proc/cmdline"
	"tachograph/sample/socket"
)

// Options say what to read beyond the default.
type Options struct {
	// Args is how much of the command lines is kept.
	Args cmdline.Mode
	// ThreadPattern selects the processes whose threads are read: names with
	// the wildcards of path.Match, or pids, separated by commas or blanks.
	ThreadPattern string
	// ThreadTopN adds the processes that used most CPU since the last reading.
	ThreadTopN int
	// Network says what is recorded about connections.
	Network socket.Options
	// Root is the directory that holds proc, etc and dev; empty is "/". Only Linux uses it.
	Root string
}

// argsOff is why command lines are absent by default.
var argsOff = metric.ReasonFor(`turned off (args = "off")`)

// Check reports what is wrong with o.
func (o *Options) Check() error {
	if o.ThreadTopN < 0 {
		return fmt.Errorf("threads: top = %d: must not be negative", o.ThreadTopN)
	}
	for _, p := range patterns(o.ThreadPattern) {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("threads: pattern %q: %w", p, err)
		}
	}
	return nil
}

func patterns(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// matcher selects processes by name or pid.
type matcher struct {
	names []string
	pids  map[int32]bool
}

func newMatcher(pattern string) matcher {
	m := matcher{pids: make(map[int32]bool)}
	for _, p := range patterns(pattern) {
		if pid, err := strconv.ParseInt(p, 10, 32); err == nil {
			m.pids[int32(pid)] = true
			continue
		}
		m.names = append(m.names, p)
	}
	return m
}

func (m *matcher) match(pid int32, name string) bool {
	if m.pids[pid] {
		return true
	}
	for _, p := range m.names {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return false
}

// selection chooses the processes whose threads are read.
type selection[P any] struct {
	match    matcher
	busiest  []*process[P]
	selected []*process[P]
}

// choose returns the processes that match, and the n others that used most CPU since the last
// call.
func (s *selection[P]) choose(alive []*process[P], n int) []*process[P] {
	s.selected, s.busiest = s.selected[:0], s.busiest[:0]
	for _, p := range alive {
		p.threaded.look(p.cpu)
		if s.match.match(p.pid, p.name) {
			s.selected = append(s.selected, p)
		} else if p.threaded.used > 0 {
			s.busiest = append(s.busiest, p)
		}
	}
	sortByUse(s.busiest, func(p *process[P]) *use { return &p.threaded })
	return append(s.selected, s.busiest[:min(n, len(s.busiest))]...)
}
