package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample/stack"
	"tachograph/store"
)

// figure is a number of a session, if its event has it.
func figure(f *stack.Figure, e *store.Event) out.Cell {
	if n, ok := f.Of(&e.Event); ok {
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
			for _, why := range unmeasured(e) {
				s.a.stdout.Println()
				s.a.prose(why)
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
	for i := range stack.Figures {
		f := &stack.Figures[i]
		n, ok := f.Of(&e.Event)
		if !ok {
			continue
		}
		words := f.Words
		if why := f.Note(&e.Event); n > 0 && why != "" {
			words += ": " + why
		}
		if err := rows.Row([]out.Cell{{}, out.None(fmt.Sprint(n)), out.None(f.Name), out.None(words)}); err != nil {
			return err
		}
	}
	return rows.Close()
}

// suspensions prints how long the process was stopped, in all and each time.
func (s *stacksAnswer) suspensions(e *store.Event) error {
	var texts []string
	for i := range stack.Lengths {
		f := &stack.Lengths[i]
		n, ok := f.Of(&e.Event)
		if !ok {
			continue
		}
		text := f.Words + " " + human.Seconds(float64(n)/1e9)
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
	spread, ok := stack.ReadSpread(e.Label(stack.SpreadText))
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
	figures := slices.Concat(stack.Figures, stack.Lengths)
	for _, f := range figures {
		columns = append(columns, out.Column{Name: strings.ReplaceAll(f.Name, " ", "_"), Kind: out.Uint})
	}
	columns = append(columns, out.Column{Name: stack.SpreadText, Kind: out.Text}, out.Column{Name: "why_unread", Kind: out.Text})
	rows, err := s.a.rows(columns...)
	if err != nil {
		return err
	}
	for _, p := range s.list {
		for _, e := range s.sessions(p) {
			length, _ := strconv.ParseFloat(e.Label("seconds"), 64) // which samplings has read
			cells := []out.Cell{hostCell(&p.Host), out.At(e.At.Wall), out.Number(length)}
			for _, name := range []string{"pid", "rate"} {
				cell := out.None("-")
				if n, err := strconv.ParseUint(e.Label(name), 10, 64); err == nil {
					cell = out.Natural(n)
				}
				cells = append(cells, cell)
			}
			cells = append(cells, answer.Text(e.Label("how")), answer.Text(e.Label("reason")))
			for i := range figures {
				cells = append(cells, figure(&figures[i], e))
			}
			cells = append(cells, answer.Text(e.Label(stack.SpreadText)), answer.Text(e.Label("why_failed")))
			if err := rows.Row(cells); err != nil {
				return err
			}
		}
	}
	return rows.Close()
}
