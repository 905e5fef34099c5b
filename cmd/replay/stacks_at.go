package main

import (
	"time"

	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample/metric"
)

// hottest returns the stack that was sampled most around the moment, if any was.
func (q *atAnswer) hottest(h *metric.Host) (p *stacks.Profile, hot stacks.Heaviest, ok bool) {
	w, ok := stacks.Near(q.a.Archive, h.ID, q.at, around)
	if !ok {
		return nil, hot, false
	}
	p = stacks.Read(q.a.Archive, stacks.Request{Window: w})
	hot, ok = p.Heaviest()
	return p, hot, ok
}

// stackText names that stack, with the command that shows all of them.
func (q *atAnswer) stackText(h *metric.Host) {
	p, hot, ok := q.hottest(h)
	if !ok {
		return
	}
	q.a.stdout.Printf("\n%s\n", q.a.bold("hottest stack, sampled at "+q.a.TimeOfDay(p.From)))
	q.a.prose(hot.Sentence())
	q.a.stdout.Println("    " + q.a.moreCommand(h.Name, append([]string{"stacks", hot.Name()}, spanWords(p.From, p.To)...), true))
}

func (q *atAnswer) stackRow(rows out.Writer, h *metric.Host) error {
	p, hot, ok := q.hottest(h)
	if !ok {
		return nil
	}
	return rows.Row([]out.Cell{hostCell(h), out.Str("hottest stack"), out.At(p.To), out.Str(hot.Thread.Command), out.Whole(int64(hot.Thread.PID)),
		out.Number(hot.Share()), {}, out.Str(hot.Folded())})
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
