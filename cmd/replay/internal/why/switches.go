package why

import (
	"fmt"
	"math"

	"tachograph/cmd/replay/internal/human"
)

const (
	// switchesLeast is how many switches a second more than usual are worth a line,
	// switchesSevere is very many.
	switchesLeast, switchesSevere = 8e3, 5e5
)

// switching finds the program whose threads let others run again and again, as threads do that
// wait for one lock.
func (q *question) switching() ([]*finding, error) {
	for _, c := range q.field.of["switches"] {
		if lo, hi := q.field.slots(q.shown); quantile(c.x[lo:hi], 1) < switchesLeast/2 {
			return nil, nil // The whole machine hardly made so many.
		}
	}
	name, s := q.foremost(thingSwitches)
	if s.excess() < switchesLeast {
		return nil, nil
	}
	own, all := q.ledger.share(name, thingSwitches, s.since, s.until)
	if own < bears*math.Max(all, 0.5*orZero(q.level("switches", s.since, s.until))) {
		return nil, nil
	}
	f := q.ofName("switches", name, s, grade(0.24, 0.4*logShare(s.excess(), switchesLeast, switchesSevere))*q.normal(name).novel(thingSwitches, s.level),
		"made "+human.Count(math.Round(s.level))+" context switches a second"+q.when(s.since, s.until)+q.against(human.Count(math.Round(s.usual))))
	f.topic, f.explains = "cpu", []string{"cpu", "load"}
	f.sources = sourcesOf(name, "", "proc.psinfo.pswitch")
	return []*finding{f}, nil
}

const (
	// flushesLeast is how many flushes of a disk a second are worth a line, and flushesSevere is
	// very many.
	flushesLeast, flushesSevere = 25, 3000
	// flushedLeast is how many bytes a second a program must have written beyond what is usual
	// for it for the flushes to be due to its writing.
	flushedLeast = 100 << 10
	// waitsLeast is the part of the time in which a program must have waited for disks for the
	// flushes to be due to it.
	waitsLeast = 0.05
)

// flushes finds disks that were asked far more often than usual to make written data safe, and
// the program that waited for that.
func (q *question) flushes() ([]*finding, error) {
	var out []*finding
	for _, c := range q.field.of["disk.flush"] {
		bad := func(x float64) float64 { return logShare(x, flushesLeast, flushesSevere) }
		e := q.find(c, flushesLeast, bad)
		if e == nil {
			continue
		}
		since, until := q.field.times(e)
		rate := human.Count(math.Round(e.level)) + " times a second"
		f := &finding{kind: "flushes", who: c.name, topic: "disk", cause: true, since: since, until: until, weight: q.field.worth(e, 0.6, bad(e.level)),
			explains: []string{"disk", "load"}, more: append([]string{"rates", "disk.dev.flush", "-i", c.name}, span(q.w.From, q.w.To)...)}
		f.text = fmt.Sprintf("disk %s had to flush what was written %s%s%s", c.name, rate, q.when(since, until), q.against(human.Count(math.Round(orZero(e.calm)))))
		if name, s := q.foremost(thingBlocked); s.excess() >= waitsLeast && s.since <= until && since <= s.until {
			if own, all := q.ledger.share(name, thingBlocked, since, until); own >= bears*all {
				g := q.ofName("flushes", name, s, f.weight, fmt.Sprintf("waited for disk %s %s of the time, which had to flush what it wrote %s%s%s", c.name, human.Percent(own), rate,
					q.when(since, until), q.against(human.Count(math.Round(orZero(e.calm))))))
				g.topic, g.explains, g.since, g.until = f.topic, f.explains, since, until
				f = g
			}
		}
		if f.who == c.name {
			if name, s := q.foremost(thingWritten); s.excess() >= flushedLeast && s.since <= until && since <= s.until {
				if own, all := q.ledger.share(name, thingWritten, since, until); all > 0 && own >= bears*all {
					g := q.ofName("flushes", name, s, f.weight, fmt.Sprintf("wrote %s of what processes wrote while disk %s had to flush it %s%s%s", human.Percent(own/all), c.name, rate,
						q.when(since, until), q.against(human.Count(math.Round(orZero(e.calm))))))
					g.topic, g.explains, g.since, g.until, g.weight = f.topic, f.explains, since, until, f.weight
					f = g
				}
			}
		}
		f.sources = append(f.sources, sourcesOf(c.name, c.key, "disk.dev.flush")...)
		out = append(out, f)
	}
	return out, nil
}
