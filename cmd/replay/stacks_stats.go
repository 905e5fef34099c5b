package main

import (
	"fmt"
	"strconv"
	"strings"

	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample/stack"
	"tachograph/store"
)

// A statistic is a number of a sampling session, which its event has as a label.
type statistic struct {
	label string
	name  string // in answers to programs, and before words in answers to people
	words string
	zero  bool // the label is left out if the number is 0
}

// sessionCounts are what was taken in a session, and what was not.
var sessionCounts = []statistic{
	{"rounds", "rounds", "times that stacks were due", false},
	{"samples", "taken", "samples", false},
	{"missed", "skipped", "of these times, because it was too late", true},
	{"gone", "gone", "threads and processes that ended while they were read", true},
	{"failed", "unread", "threads that could not be read", true},
	{"walk_errors", "walk errors", "samples whose stack could not be followed to its outermost function", false},
	{"cut", "cut", "samples of which not all functions were read", false},
	{"hung", "hung", "calls of the kernel's that did not return", true},
	{"suspensions", "suspensions", "times that the process was stopped to be read", true},
}

// sessionLengths are the lengths of suspensions, in nanoseconds.
var sessionLengths = []statistic{
	{"suspended_ns", "suspended_ns", "in all", false},
	{"suspended_median_ns", "suspended_median_ns", "half of them at most", false},
	{"suspended_longest_ns", "suspended_longest_ns", "the longest", false},
}

// of returns the number of a session; false if its event does not have it: recorders write
// more of them than they once did.
func (s *statistic) of(e *store.Event) (n uint64, ok bool) {
	text := e.Label(s.label)
	if text == "" {
		return 0, s.zero
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

func (s *statistic) cell(e *store.Event) out.Cell {
	if n, ok := s.of(e); ok {
		return out.Natural(n)
	}
	return out.None("-")
}

// sessions returns the sampling sessions of a profile's processes.
func (s *stacksAnswer) sessions(p *stacks.Profile) (list []*store.Event) {
	sampled := make(map[string]bool)
	for i := range p.Threads {
		sampled[strconv.Itoa(int(p.Threads[i].PID))] = true
	}
	for _, e := range samplings(s.a.Archive, p) {
		if pid := e.Label("pid"); pid == "" || sampled[pid] {
			list = append(list, e)
		}
	}
	return list
}

// statistics answers --stats.
func (s *stacksAnswer) statistics() error {
	found := false
	for _, p := range s.list {
		found = found || len(s.sessions(p)) > 0
	}
	if !found {
		return nothing("the archive has stacks, but not the events of their sampling, which have its statistics")
	}
	return s.a.present(s.statisticsText, s.statisticsRows)
}

// statisticsText prints the statistics of each session.
func (s *stacksAnswer) statisticsText() error {
	first := true
	for _, p := range s.list {
		for _, e := range s.sessions(p) {
			if !first {
				s.a.stdout.Println()
			}
			first = false
			s.a.headed(p.Host.Name, s.sessionText(e), 0)
			s.a.stdout.Println()
			if err := s.numbers(e); err != nil {
				return err
			}
			if err := s.suspensions(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// numbers prints what was taken in a session and what was not.
func (s *stacksAnswer) numbers(e *store.Event) error {
	rows, err := s.a.rowsOf(out.Column{Name: "count", Right: true, Keep: out.Always}, out.Column{Name: "of", Keep: out.Always}, out.Column{Name: "what", Flex: true})
	if err != nil {
		return err
	}
	for i := range sessionCounts {
		k := &sessionCounts[i]
		n, ok := k.of(e)
		if !ok {
			continue
		}
		words := k.words
		if why := e.Label("why_failed"); k.label == "failed" && n > 0 && why != "" {
			words += ": " + why
		}
		if err := rows.Row([]out.Cell{{}, out.None(fmt.Sprint(n)), out.None(k.name), out.None(words)}); err != nil {
			return err
		}
	}
	return rows.Close()
}

// suspensions prints how long the process was stopped, in all and each time.
func (s *stacksAnswer) suspensions(e *store.Event) error {
	var texts []string
	for i := range sessionLengths {
		k := &sessionLengths[i]
		n, ok := k.of(e)
		if !ok {
			continue
		}
		text := k.words + " " + human.Seconds(float64(n)/1e9)
		if length, err := strconv.ParseFloat(e.Label("seconds"), 64); err == nil && length > 0 && i == 0 {
			text += ", " + human.Percent(float64(n)/1e9/length) + " of the time"
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return nil
	}
	s.a.stdout.Println()
	s.a.prose("stopped " + strings.Join(texts, "; "))
	spread, ok := stack.ReadSpread(e.Label("suspended_up_to_ns"))
	if !ok {
		return nil
	}
	all := uint64(0)
	for _, n := range spread {
		all += n
	}
	s.a.stdout.Println()
	rows, err := s.a.rowsOf(out.Column{Name: "suspensions", Right: true, Keep: out.Always}, out.Column{Name: "share", Right: true}, out.Column{Name: "lasted", Keep: out.Always})
	if err != nil {
		return err
	}
	for i, n := range spread {
		if n == 0 {
			continue
		}
		text := "longer"
		if i < len(stack.SpreadLimits) {
			text = "at most " + human.Seconds(stack.SpreadLimits[i].Seconds())
		}
		if err := rows.Row([]out.Cell{{}, out.None(fmt.Sprint(n)), out.None(shareOf(n, all)), out.None(text)}); err != nil {
			return err
		}
	}
	return rows.Close()
}

// statisticsRows writes a row for each session.
func (s *stacksAnswer) statisticsRows() error {
	columns := []out.Column{{Name: "to"}, {Name: "seconds"}, {Name: "pid", Kind: out.Uint}, {Name: "rate", Kind: out.Uint}, {Name: "how", Kind: out.Text}, {Name: "reason", Kind: out.Text}}
	for _, k := range sessionCounts {
		columns = append(columns, out.Column{Name: strings.ReplaceAll(k.name, " ", "_"), Kind: out.Uint})
	}
	for _, k := range sessionLengths {
		columns = append(columns, out.Column{Name: k.name, Kind: out.Uint})
	}
	columns = append(columns, out.Column{Name: "suspended_up_to_ns", Kind: out.Text}, out.Column{Name: "why_unread", Kind: out.Text})
	rows, err := s.a.rows(columns...)
	if err != nil {
		return err
	}
	for _, p := range s.list {
		for _, e := range s.sessions(p) {
			length, _ := strconv.ParseFloat(e.Label("seconds"), 64) // which samplings has read
			cells := []out.Cell{hostCell(&p.Host), out.At(e.At.Wall), out.Number(length)}
			for _, name := range []string{"pid", "rate"} {
				cells = append(cells, (&statistic{label: name}).cell(e))
			}
			cells = append(cells, answer.Text(e.Label("how")), answer.Text(e.Label("reason")))
			for i := range sessionCounts {
				cells = append(cells, sessionCounts[i].cell(e))
			}
			for i := range sessionLengths {
				cells = append(cells, sessionLengths[i].cell(e))
			}
			cells = append(cells, answer.Text(e.Label("suspended_up_to_ns")), answer.Text(e.Label("why_failed")))
			if err := rows.Row(cells); err != nil {
				return err
			}
		}
	}
	return rows.Close()
}
