package why

import (
	"fmt"
	"math"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/store/query"
)

// use is what the processes of one name use: shares of a core, bytes, bytes per second.
type use struct {
	cpu, peak, read, write float64
	memory                 float64 // of all of them together, on average
}

// learn reads what is usual for the processes of each name.
func (q *question) learn() error {
	for i := 0; i < len(together) && !q.ledger.kept(); i++ {
		q.ledger.load(together[i][0])
	}
	if err := q.ctx.Err(); err != nil || q.ledger.kept() {
		return err
	}
	beside, err := q.usuallyBeside()
	q.beside = make(map[string]*norm)
	for name, u := range beside {
		n := &norm{q: q, name: name}
		for thing, amount := range map[int]float64{thingCPU: u.cpu, thingMemory: u.memory, thingPeak: u.peak, thingRead: u.read, thingWritten: u.write} {
			n.done[thing], n.of[thing].amount = true, amount
		}
		q.beside[name] = n
	}
	return err
}

// usuallyBeside returns what is usual for windows without a ledger: the use before the window and
// in the calm stretch.
func (q *question) usuallyBeside() (map[string]use, error) {
	out := make(map[string]use)
	before := query.Window{From: q.field.from, To: q.w.From - (q.w.To - q.w.From)}
	if before.To-before.From < least && q.calm.To == 0 {
		before.To = q.w.From
	}
	for _, w := range []query.Window{before, q.calm} {
		w.Hosts = q.w.Hosts
		if w.To-w.From < least/2 {
			continue
		}
		for _, top := range q.rankings() {
			lists, err := top(q.a, w, 4096, query.ByCPU, query.ByMemory)
			if err != nil {
				continue // Nothing was recorded there.
			}
			for _, r := range lists {
				for _, c := range r.Consumers {
					u, old := useOf(c, r.Seconds), out[c.Name]
					out[c.Name] = use{cpu: max(old.cpu, u.cpu), peak: max(old.peak, u.peak), read: max(old.read, u.read), write: max(old.write, u.write),
						memory: max(old.memory, u.memory)}
				}
			}
		}
		if err := q.ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unknownUsual is the part of what a name used that counts as usual where nothing else is known
// of it.
const unknownUsual = 0.85

// useOf returns what a group used over so many seconds.
func useOf(c *query.Consumer, seconds float64) use {
	seconds = max(seconds, 1)
	return use{cpu: orZero(c.CPUTime() / seconds), peak: orZero(c.Peak), memory: orZero(c.Mean),
		read: orZero(c.Gains[query.ReadBytes] / seconds), write: orZero(c.Gains[query.WrittenBytes] / seconds)}
}

// leastTogether is the share of all memory from which on what the processes of a program hold
// together is worth a line.
const leastTogether = 0.05

// leastCrowd is the least number of processes that count as many.
const leastCrowd = 3

// A group says how sentences name processes that are looked at together.
type group struct {
	title    string
	together string // what a sentence adds where the title does not show that they are several
	by       string // the grouping of top that shows them
	whose    query.Whose
}

// crowds finds programs, or owners of processes, of which many processes together used what none
// of them did alone. naming returns nil for what is left out.
func (q *question) crowds(top ranking, naming func(c *query.Consumer) *group) []*finding {
	lists, err := top(q.a, q.w, 8, query.ByCPU, query.ByMemory, query.ByWrite, query.ByRead)
	if err != nil {
		return nil // Nothing was recorded of processes.
	}
	var out []*finding
	seen := make(map[string]bool)
	for _, r := range lists {
		for _, c := range r.Consumers {
			if c.Count < leastCrowd || seen[c.Name] {
				continue
			}
			seen[c.Name] = true
			g := naming(c)
			if g == nil {
				continue
			}
			if f := q.crowd(c, q.normal(c.Name), g); f != nil {
				out = append(out, f)
			}
		}
	}
	return out
}

// namesake names the processes of a name.
func (q *question) namesake(c *query.Consumer) *group {
	whose := q.whose(c.Name)
	return &group{fmt.Sprintf("%s called %s", cli.Count(c.Count, "process"), c.Name) + whose.Beside(c.Name), " together", "name", whose}
}

// crowd makes a finding of what a group of processes used; nil if that was not much.
func (q *question) crowd(c *query.Consumer, n *norm, g *group) *finding {
	long := math.Max(float64(c.To-c.From)/1e9, 1)
	u := useOf(c, long)
	from, to := c.From, c.To
	held := stint{since: c.From, until: c.To}
	if s := q.stint(c.Name, thingCPU); s.level > 0 {
		u.cpu, from, to = s.level, s.since, s.until
		long = max(float64(to-from)/1e9, 1)
	}
	if float64(c.Count)*c.Peak > leastTogether*q.memory { // Else they can never have held so much.
		if s := q.stint(c.Name, thingMemory); s.level > 0 {
			u.memory, held = s.level, s
		}
	}
	f := &finding{who: c.Name, title: g.title, whose: g.whose, crowd: true, cause: true, since: from, until: to,
		more: append([]string{"top", "--group", g.by}, span(q.w.From, q.w.To)...)}
	add := func(weight, level float64, kind, topic, clause string, explains ...string) {
		if weight < leastWeight/2 {
			return
		}
		f.explains = append(f.explains, explains...)
		if f.text != "" {
			clause = ", " + clause
		} else {
			clause = g.title + " " + clause
		}
		f.text += clause
		if weight > f.weight {
			f.weight, f.level, f.kind, f.topic = weight, level, kind, topic
		}
	}
	if u.cpu >= 0.1 {
		usual := n.usual(thingCPU).amount
		add(grave((u.cpu-usual)/q.cores)*long/(long+settles)*n.novel(thingCPU, u.cpu)*q.changed(from, to), u.cpu, "runaway", "cpu",
			fmt.Sprintf("used %s of a core%s%s", human.Percent(u.cpu), g.together, q.when(from, to))+q.against(human.Percent(usual)),
			"cpu", "thermal", "load", "listen")
	}
	share := 0.0
	if q.memory > 0 && u.memory > leastTogether*q.memory {
		share = (u.memory - n.usual(thingMemory).amount) / q.memory
	}
	if share > leastTogether {
		clause, most := fmt.Sprintf("held %s%s", human.Bytes(u.memory), g.together), u.memory
		if first, last, since := q.grew(g.whose, held); g.by != "name" && since > 0 {
			clause, most = fmt.Sprintf("grew from %s to %s", human.Bytes(first), human.Bytes(last)), last
			held.since = since
		}
		add(grade(0.2, 0.75*min(1.4*share, 1))*n.novel(thingMemory, u.memory), most, "memory", "memory",
			clause+fmt.Sprintf(", %s of all memory", human.Percent(most/q.memory)), "memory", "swap", "disk")
		f.since, f.until = min(f.since, held.since), max(f.until, held.until)
	}
	for _, io := range []struct {
		kind, verb string
		rate       float64
		thing      int
		counter    query.ProcessCounter
	}{{"writer", "wrote", u.write, thingWritten, query.WrittenBytes}, {"reader", "read", u.read, thingRead, query.ReadBytes}} {
		if !(c.Gains[io.counter] >= leastFlow*float64(leastPiece)/1e9) {
			continue // However short the time in which they did it, it was little.
		}
		s := stint{since: c.From, until: c.To, level: io.rate}
		if q.ledger.like(c.Name)[c.Name] != nil {
			s = q.stint(c.Name, io.thing)
		}
		long := float64(s.until-s.since) / 1e9
		weight := q.flow(c.Name, s.level, s.level*long, s.since, s.until) * long / (long + settles) * n.novel(io.thing, s.level)
		if add(weight, s.level, io.kind, "disk", fmt.Sprintf("%s %s%s, %s/s", io.verb, human.Bytes(s.level*long), g.together, human.Bytes(s.level)), "disk", "load"); f.kind == io.kind {
			f.since, f.until = s.since, s.until
		}
	}
	if f.text == "" {
		return nil
	}
	if g.by == "name" {
		f.sources = sourcesOf(c.Name, "", sourcesOfKind[f.kind]...)
	}
	return f
}
