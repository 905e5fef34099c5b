package why

import (
	"fmt"
	"slices"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/store/query"
)

// disks finds devices that did not answer, answered slowly, or were busy all the time.
func (q *question) disks() ([]*finding, error) {
	var out []*finding
	for _, busy := range q.diskKeys() {
		if f := q.hung(busy); f != nil {
			out = append(out, f)
		} else if f := q.slow(busy); f != nil {
			out = append(out, f)
		}
	}
	return mirrored(out), nil
}

// mirrored drops devices that only repeat others: a device on top of a disk does what the disk
// does, at the same time.
func mirrored(list []*finding) []*finding {
	slices.SortStableFunc(list, func(x, y *finding) int { return int(1e6 * (y.weight - x.weight)) })
	var out []*finding
	for _, f := range list {
		same := slices.ContainsFunc(out, func(g *finding) bool { return g.kind == f.kind && g.since <= f.since && f.until <= g.until })
		if !same || len(out) == 0 {
			out = append(out, f)
			continue
		}
		for _, g := range out {
			if g.kind == f.kind && g.since <= f.since && f.until <= g.until {
				g.also = append(g.also, f.who)
				break
			}
		}
	}
	for _, g := range out {
		if len(g.also) > 0 {
			g.text += "; likewise " + names(g.also)
		}
	}
	return out
}

// diskKeys returns the disks for which there are values.
func (q *question) diskKeys() []string {
	var keys []string
	for _, name := range []string{"disk.busy", "disk.done", "disk.time"} {
		for _, c := range q.field.of[name] {
			if !slices.Contains(keys, c.key) {
				keys = append(keys, c.key)
			}
		}
	}
	return keys
}

// one returns the course of a signal for one instance.
func (f *field) one(signal, key string) *course {
	for _, c := range f.of[signal] {
		if c.key == key {
			return c
		}
	}
	return nil
}

const (
	// hangs is how long no request must be finished for that to be a hang.
	hangs = int64(5e9)
	// A disk ails if it works ailsTimes as long on each request as it usually does, at least
	// ailsLeast seconds, and ailsBusy of the time.
	ailsTimes, ailsLeast, ailsBusy = 4, 0.002, 0.3
	// larger is how many times as large requests must be to be the reason themselves.
	larger = 2
)

// hung finds a time in which requests were under way and none was finished.
func (q *question) hung(key string) *finding {
	flight, done := q.field.one("disk.flight", key), q.field.one("disk.done", key)
	if flight == nil || done == nil {
		return nil
	}
	f := q.field
	stuck := &course{signal: flight.signal, name: flight.name, key: key, gap: 1, x: slices.Clone(flight.x)}
	for k, x := range stuck.x {
		if !(x >= 0.9 && done.x[k] < 0.3) && x == x {
			stuck.x[k] = 0
		}
	}
	e := q.find(stuck, 0.9, func(float64) float64 { return 1 })
	if e == nil || f.duration(e) < hangs {
		return nil
	}
	since, until := f.times(e)
	out := &finding{kind: "hung disk", who: flight.name, topic: "device", cause: true, since: since, until: until, weight: 0.9 * lasted(until-since) * grade(0.3, 0.7*e.rare),
		explains: []string{"disk", "load", "memory"}, more: append([]string{"rates", "disk.dev.inflight", "disk.dev.total", "-i", flight.name}, span(q.w.From, q.w.To)...)}
	out.sources = sourcesOf(flight.name, key, "disk.dev.inflight", "disk.dev.total")
	out.text = fmt.Sprintf("disk %s hung: %s under way and none finished%s", flight.name, cli.Count(int(e.peak+0.5), "request"), q.when(since, until))
	out.text += q.waiting(since + (until-since)/2)
	return out
}

// waiting names the processes that waited in the kernel at an instant.
func (q *question) waiting(at int64) string {
	var list []string
	n := 0
	for _, p := range query.Processes(q.a, query.Window{Hosts: q.w.Hosts}, at, nil) {
		if len(p.State) > 0 && (p.State[0] == 'D' || p.State[0] == 'U') {
			n++
			if !slices.Contains(list, p.Name) {
				list = append(list, p.Name)
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %s waiting in the kernel (%s)", cli.Count(n, "process"), names(list))
}

// perRequest returns a course divided by the number of requests.
func perRequest(spent, done *course) *course {
	each := &course{signal: spent.signal, name: spent.name, key: spent.key, gap: 1, x: slices.Clone(spent.x)}
	for k := range each.x {
		if done.x[k] >= 2 {
			each.x[k] /= done.x[k]
		} else if each.x[k] == each.x[k] {
			each.x[k] = 0
		}
	}
	return each
}

// ailing finds a time in which a disk was slow by itself: it worked far longer on each request
// than it usually does, though the requests were no larger.
func (q *question) ailing(busy, done, spent, bytes *course) *finding {
	f := q.field
	work, size := perRequest(busy, done), perRequest(bytes, done)
	usual := quantile(slices.DeleteFunc(slices.Clone(work.x), func(x float64) bool { return !(x > 0) }), 0.5)
	if usual != usual {
		return nil
	}
	least := max(ailsLeast, ailsTimes*usual)
	bad := func(x float64) float64 { return logShare(x, ailsLeast, 1) }
	work.signal = &signal{absolute: true}
	for k := range work.x {
		if work.x[k] == work.x[k] && (done.x[k] < 2 || busy.x[k] < ailsBusy) {
			work.x[k] = 0
		}
	}
	e := q.find(work, least, bad)
	if e == nil || f.duration(e) < hangs {
		return nil
	}
	before := slices.Clone(size.x)
	for k := e.from; k < e.to; k++ {
		before[k] = 0
	}
	normal := quantile(slices.DeleteFunc(before, func(x float64) bool { return !(x > 0) }), 0.5)
	if quantile(size.x[e.from:e.to], 0.5) > larger*normal {
		return nil
	}
	since, until := f.times(e)
	took := e.level
	if spent != nil {
		took = max(took, orZero(quantile(perRequest(spent, done).x[e.from:e.to], 0.5)))
	}
	name := done.name
	out := &finding{kind: "slow disk", who: name, topic: "device", cause: true, since: since, until: until, weight: f.worth(e, 0.85, bad(e.level)),
		explains: []string{"disk", "load"}}
	out.sources = sourcesOf(name, done.key, "disk.dev.avactive", "disk.dev.total")
	out.brief = fmt.Sprintf("disk %s took %s for a request", name, human.Seconds(took))
	out.text = fmt.Sprintf("disk %s was slow: it took %s for a request%s%s and was %s busy", name, human.Seconds(took), q.when(since, until),
		q.against(human.Seconds(usual)), human.Percent(mean(busy.x[e.from:e.to])))
	return out
}

// slow finds a time in which requests took long or the disk was never idle.
func (q *question) slow(key string) *finding {
	f := q.field
	busy, done, spent, bytes := f.one("disk.busy", key), f.one("disk.done", key), f.one("disk.time", key), f.one("disk.bytes", key)
	if done == nil {
		return nil
	}
	name := done.name
	more := append([]string{"rates", "disk.dev", "-i", name}, span(q.w.From, q.w.To)...)
	if busy != nil && bytes != nil {
		if out := q.ailing(busy, done, spent, bytes); out != nil {
			out.more = more
			return out
		}
	}
	var out *finding
	if spent != nil {
		each := perRequest(spent, done)
		bad := func(x float64) float64 { return min(max(x-0.05, 0), 1) }
		if e := q.find(each, 0.05, bad); e != nil {
			since, until := f.times(e)
			out = &finding{kind: "slow disk", who: name, topic: "disk", since: since, until: until, weight: f.worth(e, 0.65, bad(e.level)), more: more}
			out.sources = append(q.sourcesOfSignal(spent.signal, name, key), source{metric: "disk.dev.total", name: name, key: key})
			out.brief = fmt.Sprintf("disk %s took %s for a request", name, human.Seconds(e.level))
			out.text = fmt.Sprintf("disk %s took %s for a request%s%s", name, human.Seconds(e.level), q.when(since, until), q.against(human.Seconds(orZero(e.calm))))
		}
	}
	if busy == nil {
		return out
	}
	bad := func(x float64) float64 { return min(max((x-0.6)/0.4, 0), 1) }
	if e := q.find(busy, 0.6, bad); e != nil {
		since, until := f.times(e)
		g := &finding{kind: "busy disk", who: name, topic: "disk", since: since, until: until, weight: f.worth(e, 0.5, bad(e.level)), more: more}
		g.sources = sourcesOf(name, key, "disk.dev.avactive", "disk.dev.total_bytes")
		what := ""
		if bytes != nil {
			if rate := mean(bytes.x[max(e.from, 0):e.to]); rate > 1<<20 {
				what = ", " + human.Bytes(rate) + "/s"
			}
		}
		g.brief = fmt.Sprintf("disk %s %s busy", name, human.Percent(e.level))
		g.text = fmt.Sprintf("disk %s was %s busy%s%s%s", name, human.Percent(e.level), what, q.when(since, until), q.against(human.Percent(orZero(e.calm))))
		switch {
		case out == nil || g.weight > out.weight:
			out = g
		default:
			out.text += ", " + g.brief[len("disk "+name+" "):]
		}
	}
	return out
}
