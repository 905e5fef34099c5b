// Package software reads what package managers and installers wrote down: what was installed,
// removed, and changed to another version, and when.
//
// The files are logs that grow, or lists of what is installed now. A log is followed from a mark
// on, as the recorder follows nothing else twice: see Follow. Lists are compared, see Compare.
package software

import (
	"strings"
	"time"

	"tachograph/sample/proc/cmdline"
)

// Verb says what happened to a package.
type Verb string

const (
	Installed   Verb = "installed"
	Removed     Verb = "removed"
	Changed     Verb = "changed" // to another version
	Reinstalled Verb = "installed again"
)

// Change is one package that was installed, removed or changed.
type Change struct {
	At      time.Time
	Verb    Verb
	Package string
	// Was and Is are versions, empty where there was none or the log does not say.
	Was, Is string
	// By is the program that did it, where that says more than the name of the log.
	By string
}

// Update returns the change of a program to another version. The texts may be any.
func Update(at time.Time, name, was, is string) Change {
	return Change{At: at, Verb: Changed, Package: word(name), Was: word(was), Is: word(is)}
}

// longestWord bounds the names and versions that are kept.
const longestWord = 200

// word makes a word from a file fit to be kept and printed.
func word(s string) string { return cmdline.Bounded(strings.TrimSpace(s), longestWord) }

// parser reads the lines of a log in their order. Some managers write two lines about one change.
type parser interface {
	// line reads a line, and passes the changes that are complete with it.
	line(text string, found func(Change))
}

// oneByOne is a parser of logs whose lines complete one change at most.
type oneByOne func(text string) (Change, bool)

func (p oneByOne) line(text string, found func(Change)) {
	if c, ok := p(text); ok {
		found(c)
	}
}

// verbOf returns what a change from one version to another is.
func verbOf(was, is string) Verb {
	switch {
	case was == "":
		return Installed
	case is == "":
		return Removed
	case was == is:
		return Reinstalled
	}
	return Changed
}
