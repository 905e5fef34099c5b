package main

import (
	"fmt"
	"math"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// stacks returns the stacks of the two windows that are compared.
func (q *diffAnswer) stacks(h *metric.Host) (before, after *stacks.Profile) {
	host := h.ID
	if q.c.against != "" {
		host = q.c.against
	}
	first := query.Window{Hosts: []string{host}, From: q.c.a.From, To: q.c.a.To}
	second := query.Window{Hosts: []string{h.ID}, From: q.c.b.From, To: q.c.b.To}
	if host == h.ID && second.From == first.To {
		second.From++ // A tick holds the samples of the second before it.
	}
	return stacks.Read(q.a.Archive, stacks.Request{Window: first}), stacks.Read(q.a.Archive, stacks.Request{Window: second})
}

// mostShifts is how many functions diff names.
const mostShifts = 5

// stacksText prints in which functions threads spent more or less of their time.
func (q *diffAnswer) stacksText(h *metric.Host) {
	before, after := q.stacks(h)
	switch n, m := before.Sum(stacks.Any), after.Sum(stacks.Any); {
	case n == 0 && m == 0:
		return
	case n == 0 || m == 0:
		side, some := "first", before
		if n == 0 {
			side, some = "second", after
		}
		if hot, ok := some.Heaviest(); ok {
			q.a.stdout.Println()
			q.a.prose(fmt.Sprintf("stacks were sampled in the %s window only: %s", side, hot.Sentence()))
		}
		return
	}
	for _, p := range []*stacks.Profile{before, after} {
		if lost := p.LostText(); lost != "" {
			q.a.warn("stacks: " + lost)
		}
	}
	state, list := stacks.Shifts(before, after)
	of := "of samples"
	if state == stacks.Running {
		of = "of samples of running threads"
	}
	q.a.stdout.Println()
	if len(list) == 0 {
		q.a.prose(fmt.Sprintf("stacks: no function has another share %s, which are %d and %d", of, before.Sum(state), after.Sum(state)))
		return
	}
	q.a.prose(fmt.Sprintf("stacks, functions by their share %s, which are %d and %d:", of, before.Sum(state), after.Sum(state)))
	s := q.sides(h)
	for _, f := range list[:min(len(list), mostShifts)] {
		for k, line := range human.Wrap(visible.Text(shiftText(&f, s)), q.a.textWidth(100)-6) {
			indent := "    "
			if k > 0 {
				indent = "      "
			}
			q.a.stdout.Println(indent + line)
		}
	}
	if more := len(list) - mostShifts; more > 0 {
		q.a.stdout.Printf("    and %d more\n", more)
	}
}

func shiftText(f *stacks.Shift, s sides) string {
	name := f.Name
	if f.Library != "" {
		name += " [" + f.Library + "]"
	}
	verb := "rose"
	if f.After < f.Before {
		verb = "fell"
	}
	if s.hosts() {
		name += ":"
	}
	return name + " " + s.values(verb, human.Percent(f.Before), human.Percent(f.After))
}

// stackRows writes these functions as rows, for programs.
func (q *diffAnswer) stackRows(rows out.Writer, h *metric.Host) error {
	before, after := q.stacks(h)
	state, list := stacks.Shifts(before, after)
	for i := range list {
		f := &list[i]
		by := math.Abs(f.After - f.Before)
		cells := []out.Cell{hostCell(h), out.Str("stack share"), out.Str(f.Name), out.Str(f.Library), out.Str(state.String()),
			out.Number(f.Before), out.Number(f.After), out.Str(""), {}, out.Number(f.Sigmas), out.Number(by), out.Number(by), out.Whole(0),
			out.Str(shiftText(f, q.sides(h))), {}}
		command := q.a.moreCommand(h.Name, append([]string{"stacks", "--top"}, spanWords(q.c.b.From, q.c.b.To)...), false)
		if err := rows.Row(append(append(cells, q.windowCells()...), out.Str(command))); err != nil {
			return err
		}
	}
	return nil
}
