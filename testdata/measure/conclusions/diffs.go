package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"tachograph/testdata/measure/conclusions/cases"
)

// change is a line of diff's JSON.
type change struct {
	Kind     string   `json:"kind"`
	Subject  string   `json:"subject"`
	Instance string   `json:"instance"`
	Aspect   string   `json:"aspect"`
	Before   *float64 `json:"before"`
	After    *float64 `json:"after"`
	Text     string   `json:"text"`
}

// compared is what diff said about two windows.
type compared struct {
	Name     string
	Injected bool // the trouble is in the second window
	Lines    []change
	Said     []string // the lines that a reader sees; several changes may be in one
	Right    int      // the first line about the injected trouble, from 1; 0: none
	False    []string
	Took     time.Duration
}

// spans are two windows, in seconds of the recording.
type spans struct {
	name           string
	a, b, to       int // [a, a+to) and [b, b+to)
	injected, like bool
}

// comparisons returns the pairs of windows of a case.
func comparisons(c *cases.Case) (list []spans) {
	if c.Kind == cases.None {
		for i := range 4 {
			long := []int{60, 120, 200, 400}[i]
			gap := c.Seconds - 2*long
			if gap >= 0 {
				list = append(list, spans{name: fmt.Sprintf("like %d s", long), a: gap * (i + 1) / 8, b: gap*(i+1)/8 + long, to: long, like: true})
				list = append(list, spans{name: fmt.Sprintf("like %d s, apart", long), a: gap / 9, b: gap/9 + long + gap*(i+2)/8, to: long, like: true})
			}
		}
		return list
	}
	if long := min(c.Length, c.Onset); long >= 30 {
		list = append(list, spans{name: "before and after", a: c.Onset - long, b: c.Onset, to: long, injected: true})
	}
	if c.Onset >= 240 {
		list = append(list, spans{name: "like before", a: c.Onset - 230, b: c.Onset - 120, to: 110, like: true})
	}
	return list
}

// compare runs diff and judges its answer.
func compare(replay, path string, c *cases.Case, s spans) (*compared, error) {
	window := func(from int) string { return stamp(c.Wall(from)) + ".." + stamp(c.Wall(from+s.to)) }
	out, _, took, err := run(replay, "diff", "--format", "json", "--archive", path, window(s.a), window(s.b))
	if err != nil {
		return nil, err
	}
	d := &compared{Name: s.name, Injected: s.injected, Took: took}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l change
		if !strings.HasPrefix(lines.Text(), "{") {
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s: %w", lines.Text(), err)
		}
		if l.Kind == "nothing" {
			continue
		}
		d.Lines = append(d.Lines, l)
		if wrong := contradicts(c, s, &l); wrong != "" {
			d.False = append(d.False, wrong)
		}
	}
	text, _, _, err := run(replay, "diff", "--archive", path, window(s.a), window(s.b))
	d.Said = numbered(string(text))
	for i, line := range d.Said {
		if d.Right == 0 && s.injected && tellsOf(c, line) {
			d.Right = i + 1
		}
	}
	return d, err
}

var numberOf = regexp.MustCompile(`^ ?\d+\. `)

// numbered returns the numbered lines of an answer, each with its continuation lines.
func numbered(text string) (list []string) {
	for _, line := range strings.Split(text, "\n") {
		switch {
		case numberOf.MatchString(line):
			list = append(list, numberOf.ReplaceAllString(line, ""))
		case len(list) > 0 && strings.HasPrefix(line, "    "):
			list[len(list)-1] += " " + strings.TrimSpace(line)
		}
	}
	return list
}

// tellsOf reports whether a line is about the injected trouble: about its culprit or its kind.
func tellsOf(c *cases.Case, line string) bool {
	if len(c.Truth.Who) > 0 {
		for _, name := range c.Truth.Who {
			if (&cases.Truth{Who: []string{name}}).Right(line) {
				return true
			}
		}
		return false
	}
	return c.Truth.Right(line)
}

// contradicts returns what is wrong with a line of diff; "" if nothing is.
func contradicts(c *cases.Case, s spans, l *change) string {
	used := c.Ledger[l.Subject]
	if used == nil {
		return ""
	}
	ran := func(from, to int) bool {
		for _, u := range used {
			if u.Second >= from && u.Second < to {
				return true
			}
		}
		return false
	}
	switch l.Kind {
	case "vanished process":
		if ran(s.b+s.to-s.to/10, c.Seconds) {
			return fmt.Sprintf("%s: %s is not gone: %s", s.name, l.Subject, l.Text)
		}
	case "new process":
		if ran(0, s.b-6) {
			return fmt.Sprintf("%s: %s is not new: %s", s.name, l.Subject, l.Text)
		}
	case "process":
		if l.Before == nil || l.After == nil {
			return ""
		}
		of := map[string]func(from int) float64{
			"cpu":   func(from int) float64 { u := c.Ledger.Mean(l.Subject, from, from+s.to); return u.User + u.Sys },
			"write": func(from int) float64 { return c.Ledger.Mean(l.Subject, from, from+s.to).Write },
			"read":  func(from int) float64 { return c.Ledger.Mean(l.Subject, from, from+s.to).Read },
		}[l.Aspect]
		if of == nil {
			return ""
		}
		x, y := of(s.a), of(s.b)
		// Values are read every five seconds.
		slack := 0.1*max(x, y) + 6*max(x, y)/float64(s.to)
		if math.Abs(*l.Before-x) > slack+0.02*max(x, y) || math.Abs(*l.After-y) > slack+0.02*max(x, y) {
			if (*l.After-*l.Before)*(y-x) <= 0 || math.Abs(y-x) < 0.5*math.Abs(*l.After-*l.Before) {
				return fmt.Sprintf("%s: %s used %.3g before and %.3g after: %s", s.name, l.Subject, x, y, l.Text)
			}
		}
	}
	return ""
}
