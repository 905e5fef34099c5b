package main

import (
	"regexp"
	"strings"

	"tachograph/store"
	"tachograph/testdata/measure/conclusions/cases"
)

// A verdict is the judgement of an answer.
type verdict struct {
	First     bool // line 1 is right
	Any       bool // any line is right
	False     []string
	Usual     []string // lines about usual behaviour
	Lines     int
	Sentences int
	Outcome   outcome
}

// judge judges an answer about a case.
func judge(c *cases.Case, a *answer, archive *store.Reader) *verdict {
	v := &verdict{Outcome: a.outcome()}
	if v.Outcome != found {
		return v
	}
	for i, l := range a.Lines {
		right := c.Kind != cases.None && c.Truth.Right(l.Text)
		v.Any = v.Any || right
		v.First = v.First || right && i == 0
		said := check(c, a, &l)
		v.Usual = append(v.Usual, said.usual...)
		v.Lines++
		count, wrong := recount(archive, &l)
		v.Sentences += said.count + count
		v.False = append(append(v.False, said.wrong...), wrong...)
	}
	return v
}

// subjectOf matches the subject of a line.
var subjectOf = regexp.MustCompile(`^(?:\d+ processes called )?((?:disk |volume |network |memory )?[^\s(,:]+)`)

func subject(text string) string {
	m := subjectOf.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return strings.TrimSpace(m[1])
}

// same reports whether two answers agree: both have the same first line about the same subject,
// or both found nothing. An answer that could not tell agrees with any.
func same(x, y *answer) bool {
	if x.outcome() == untold || y.outcome() == untold {
		return true
	}
	if x.outcome() != y.outcome() {
		return false
	}
	return x.outcome() == nothing || subject(x.Lines[0].Text) == subject(y.Lines[0].Text)
}
