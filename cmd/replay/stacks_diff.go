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

// bothStacks returns the stacks of the two windows that are compared.
func (a *app) bothStacks(h *metric.Host, c *comparison) (before, after *stacks.Profile) {
	host := h.ID
	if c.against != "" {
		host = c.against
	}
	first := query.Window{Hosts: []string{host}, From: c.a.From, To: c.a.To}
	second := query.Window{Hosts: []string{h.ID}, From: c.b.From, To: c.b.To}
	if host == h.ID && second.From == first.To {
		second.From++ // A tick holds the samples of the second before it.
	}
	return stacks.Read(a.Archive, stacks.Request{Window: first}), stacks.Read(a.Archive, stacks.Request{Window: second})
}

// mostShifts is how many functions diff names.
const mostShifts = 5

// diffStacks prints in which functions threads spent more or less of their time.
func (a *app) diffStacks(h *metric.Host, c *comparison) {
	before, after := a.bothStacks(h, c)
	switch n, m := before.Sum(stacks.Any), after.Sum(stacks.Any); {
	case n == 0 && m == 0:
		return
	case n == 0 || m == 0:
		side, some := "first", before
		if n == 0 {
			side, some = "second", after
		}
		if hot, ok := some.Heaviest(); ok {
			a.stdout.Println()
			a.prose(fmt.Sprintf("stacks were sampled in the %s window only: %s", side, hot.Sentence()))
		}
		return
	}
	for _, p := range []*stacks.Profile{before, after} {
		if lost := p.LostText(); lost != "" {
			a.warn("stacks: " + lost)
		}
	}
	state, list := stacks.Shifts(before, after)
	of := "of samples"
	if state == stacks.Running {
		of = "of samples of running threads"
	}
	a.stdout.Println()
	if len(list) == 0 {
		a.prose(fmt.Sprintf("stacks: no function has another share %s, which are %d and %d", of, before.Sum(state), after.Sum(state)))
		return
	}
	a.prose(fmt.Sprintf("stacks, functions by their share %s, which are %d and %d:", of, before.Sum(state), after.Sum(state)))
	s := a.sides(c, h)
	for _, f := range list[:min(len(list), mostShifts)] {
		for k, line := range human.Wrap(visible.Text(shiftText(&f, s)), a.textWidth(100)-6) {
			indent := "    "
			if k > 0 {
				indent = "      "
			}
			a.stdout.Println(indent + line)
		}
	}
	if more := len(list) - mostShifts; more > 0 {
		a.stdout.Printf("    and %d more\n", more)
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

// diffStackRows writes these functions as rows, for programs.
func (a *app) diffStackRows(rows out.Writer, h *metric.Host, c *comparison) error {
	before, after := a.bothStacks(h, c)
	state, list := stacks.Shifts(before, after)
	for i := range list {
		f := &list[i]
		by := math.Abs(f.After - f.Before)
		if err := rows.Row([]out.Cell{hostCell(h), out.Str("stack share"), out.Str(f.Name), out.Str(f.Library), out.Str(state.String()),
			out.Number(f.Before), out.Number(f.After), out.Str(""), {}, out.Number(f.Sigmas), out.Number(by), out.Number(by), out.Whole(0),
			out.Str(shiftText(f, a.sides(c, h)))}); err != nil {
			return err
		}
	}
	return nil
}
