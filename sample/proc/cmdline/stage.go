package cmdline

import (
	"regexp"
	"slices"
	"strings"
)

// A stage says whether the program that the next words belong to is known.
type stage uint8

const (
	atProgram stage = iota // the next word is the program
	known                  // its words are no secrets unless rules say so
	unknown                // a word may be anything
)

// stageOf returns the stage after the name of a program.
func stageOf(name string) stage {
	name = strings.TrimLeft(name, "-")
	switch _, runs := wrapping[name]; {
	case runs:
		return atProgram
	case knownPrograms[name], strings.HasPrefix(name, "systemd-"), strings.HasPrefix(name, "mkfs."):
		return known
	}
	return unknown
}

// title redacts the title that a process gives itself if that has blanks: the path of its
// program, a whole command, or a name, a colon and what it does.
func (r *redactor) title(s string, argued bool) string {
	name, does, colon := strings.Cut(s, ": ")
	end := strings.Index(s, " -")
	switch {
	case colon && !strings.ContainsAny(name, " \t") && name != "":
		r.stage = known
		return r.arg(name) + ": " + r.arg(does)
	case strings.HasPrefix(s, "/") && (argued || strings.Contains(s, ".app/")):
		if end < 0 {
			end = len(s)
		}
		r.stage = stageOf(programName(s[:end]))
		return looks(s[:end]) + r.text(s[end:])
	}
	return r.arg(s)
}

// proxyCommand is an option that gives ssh a program to run.
var proxyCommand = regexp.MustCompile(`(?i)^(?:-o\s*)?["']?(?:proxycommand|localcommand|remotecommand|knownhostscommand)[=\s]\s*`)

// fedCommand is a command line that passes another one to a program that will run it.
var fedCommand = regexp.MustCompile(`(?:\b(?:echo|printf)\b[^|]*\|[^|;&]*\b(?:at|batch|crontab|(?:ba|da|z|k)?sh)\b)|\b(?:at|batch|crontab|(?:ba|da|z|k)?sh)\b[^|;&]*<<`)

// cronTime is a time field of a crontab.
var cronTime = regexp.MustCompile(`^(?:[0-9*,/-]+|@[a-z]+)$`)

// command redacts a word with blanks as its program uses it: shells run it.
func (r *redactor) command(s string) string {
	outer := r.stage
	switch {
	case r.shell || r.echo && r.fed:
		lines := r.lines
		r.stage, r.values, r.behind, r.told, r.lines = atProgram, "", 0, false, true
		defer func() { r.stage, r.lines = outer, lines }()
	case outer == atProgram && r.values != "" || r.interprets:
		r.stage = known // a text in another language, or the value of an option
		defer func() { r.stage = unknown }()
	}
	return r.text(s)
}

// programmed takes in a word that is no option, and reports whether the word must be judged by
// itself: it is neither a program's name nor a word of a known program.
func (r *redactor) programmed(w, bare, name string) bool {
	told := r.told
	r.told = false
	switch r.stage {
	case known:
		r.enter(bare)
		return capitals(bare) || strings.Contains(bare, "=") && r.sets()
	case unknown:
		return !told
	}
	if strings.Contains(bare, "=") {
		return !told // an assignment for the program
	}
	switch {
	case told || bare == "": // the value of an option of the wrapping program
		return false
	case r.behind > 0:
		r.behind--
		return false
	case r.behind == stranger:
		r.stage, r.behind = unknown, 0
		return false
	case numeric.MatchString(bare), r.fed && cronTime.MatchString(bare):
		return false
	}
	r.stage, r.inner, r.flags = stageOf(name), inners[name], flagging[name]
	letters, runs := wrapping[name]
	r.values = letters
	r.behind = behinds[name]
	r.shell = shells[name]
	r.interprets = runs && interpreters[name]
	return false
}

// enter takes in the program that a verb of a known program runs.
func (r *redactor) enter(verb string) {
	for _, in := range r.inner {
		if !slices.Contains(strings.Fields(in.verbs), verb) {
			continue
		}
		if r.stage, r.values, r.behind = atProgram, in.letters, in.behind; in.behind == ownWords {
			r.stage, r.behind = unknown, 0
		}
	}
}

// capitals reports whether a word assigns to a name in capitals, as variables have: FOO=x.
func capitals(w string) bool {
	name, _, assigns := strings.Cut(w, "=")
	return assigns && name != "" && name == strings.ToUpper(name) && strings.Trim(name, strings.ToUpper(word)) == "" && !digits(name)
}

// judged hides a word of an unknown program, unless its form shows that it is no secret.
func (r *redactor) judged(w string) string {
	s := r.plain(w)
	if i := strings.IndexByte(w, '='); i > 0 && !strings.ContainsAny(w[:i], "/:") && strings.Trim(w[i:], "=") != "" {
		if familiar(w[i+1:]) || plainVariables[strings.ToLower(w[:i])] && named(w[i+1:]) {
			return s
		}
		return w[:i+1] + Hidden
	}
	name, hidden := strings.CutSuffix(s, Hidden)
	if familiar(w) || (hidden || r.next != nothing) && introduces(name) {
		return s
	}
	return Hidden
}

// introduces reports whether the text before a secret is its name.
func introduces(s string) bool {
	name := strings.TrimRight(s, "=:")
	return s == "" || name != s && named(name)
}
