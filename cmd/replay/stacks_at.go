package main

import (
	"time"

	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample/metric"
)

// atStack names the stack that was sampled most around an instant, if any was, with the command
// that shows all of them. It writes a row if rows is not nil.
func (a *app) atStack(rows out.Writer, h *metric.Host, at int64) error {
	w, ok := stacks.Near(a.Archive, h.ID, at, around)
	if !ok {
		return nil
	}
	p := stacks.Read(a.Archive, stacks.Request{Window: w})
	hot, ok := p.Heaviest()
	if !ok {
		return nil
	}
	if rows != nil {
		return rows.Row([]out.Cell{hostCell(h), out.Str("hottest stack"), out.At(p.To), out.Str(hot.Thread.Command), out.Whole(int64(hot.Thread.PID)),
			out.Number(hot.Share()), {}, out.Str(hot.Folded())})
	}
	a.stdout.Printf("\n%s\n", a.bold("hottest stack, sampled at "+a.TimeOfDay(p.From)))
	a.prose(hot.Sentence())
	a.stdout.Println("    " + a.moreCommand(h.Name, append([]string{"stacks", hot.Name()}, spanWords(p.From, p.To)...), true))
	return nil
}

// spanWords returns the flags for a span, in whole seconds that contain it.
func spanWords(from, to int64) []string {
	const second = int64(time.Second)
	if to%second != 0 {
		to += second
	}
	word := func(wall int64) string { return time.Unix(0, wall).UTC().Truncate(time.Second).Format(time.RFC3339) }
	return []string{"--from", word(from), "--to", word(to)}
}
