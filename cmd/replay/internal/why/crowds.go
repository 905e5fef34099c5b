package why

import (
	"fmt"
	"math"

	"tachograph/cmd/internal/plural"
	"tachograph/cmd/replay/internal/human"
	"tachograph/store/query"
)

// use is what the processes of one name use: shares of a core, bytes, bytes per
// second.
type use struct {
	cpu, peak, read, write float64
	memory                 float64 // of all of them together, on average
}

// usually is what processes of each name use where all was well: in the calm
// stretch, and before the window. What came just before it may be the beginning
// of the trouble, and what came after it its end.
func (q *question) usually() (map[string]use, error) {
	out := make(map[string]use)
	before := query.Window{From: q.field.from, To: q.w.From - (q.w.To - q.w.From)}
	if before.To-before.From < least && q.calm.To == 0 {
		before.To = q.w.From
	}
	calm := q.calm
	if calm.From < q.w.To && calm.To > q.w.From {
		calm = query.Window{} // Those in question may be in it.
	}
	for _, w := range []query.Window{before, calm} {
		w.Hosts = q.w.Hosts
		if w.To-w.From < least/2 {
			continue
		}
		lists, err := query.TopNames(q.a, w, 4096, query.ByCPU, query.ByMemory)
		if err != nil {
			continue // Nothing was recorded there.
		}
		for _, r := range lists {
			for _, c := range r.Consumers {
				u := useOf(c, r.Seconds)
				old := out[c.Name]
				out[c.Name] = use{cpu: max(old.cpu, u.cpu), peak: max(old.peak, u.peak), read: max(old.read, u.read), write: max(old.write, u.write),
					memory: max(old.memory, u.memory)}
			}
		}
		if err := q.ctx.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// useOf is what a group used over so many seconds.
func useOf(c *query.Consumer, seconds float64) use {
	seconds = max(seconds, 1)
	return use{cpu: orZero(c.CPUTime() / seconds), peak: orZero(c.Peak), memory: orZero(c.Mean),
		read: orZero(c.Gains[query.ReadBytes] / seconds), write: orZero(c.Gains[query.WrittenBytes] / seconds)}
}

// crowds finds programs of which many processes together used what none of
// them did alone.
func (q *question) crowds(usual map[string]use) ([]*finding, error) {
	lists, err := query.TopNames(q.a, q.w, 8, query.ByCPU, query.ByMemory, query.ByWrite)
	if err != nil {
		return nil, nil // Nothing was recorded of processes.
	}
	var out []*finding
	seen := make(map[string]bool)
	for _, r := range lists {
		for _, c := range r.Consumers {
			if c.Count < 3 || seen[c.Name] {
				continue
			}
			seen[c.Name] = true
			if f := q.crowd(c, usual[c.Name]); f != nil {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

func (q *question) crowd(c *query.Consumer, usual use) *finding {
	long := math.Max(float64(c.To-c.From)/1e9, 1)
	u := useOf(c, long)
	f := &finding{who: c.Name, cause: true, since: c.From, until: c.To,
		more: append([]string{"top", "--group", "name"}, span(q.w.From, q.w.To)...)}
	who := fmt.Sprintf("%s called %s", plural.Of(c.Count, "process"), c.Name)
	f.title = who
	add := func(weight float64, kind, topic, clause string, explains ...string) {
		if weight < leastWeight/2 {
			return
		}
		f.explains = append(f.explains, explains...)
		if f.text != "" {
			clause = ", " + clause
		} else {
			clause = who + " " + clause
		}
		f.text += clause
		if weight > f.weight {
			f.weight, f.kind, f.topic = weight, kind, topic
		}
	}
	if u.cpu >= 0.4 {
		add(grade(0.05, 0.25*min(u.cpu, 1), 0.38*min(u.cpu/q.cores, 1))*long/(long+20)*novel(usual.cpu, u.cpu), "runaway", "cpu",
			fmt.Sprintf("used %s of a core together%s", human.Percent(u.cpu), q.when(c.From, c.To))+q.against(human.Percent(usual.cpu)),
			"cpu", "thermal", "load")
	}
	if share := (u.memory - usual.memory) / max(q.memory, 1); q.memory > 0 && share > 0.05 {
		add(grade(0.2, 0.75*min(1.4*share, 1))*novel(usual.memory, u.memory), "memory", "memory",
			fmt.Sprintf("held %s together, %s of all memory", human.Bytes(u.memory), human.Percent(u.memory/q.memory)), "memory", "swap", "disk", "load")
	}
	if u.write >= 2<<20 {
		add(grade(0.2, 0.3*min(u.write/(150<<20), 1))*long/(long+10)*novel(usual.write, u.write), "writer", "disk",
			fmt.Sprintf("wrote %s together, %s/s", human.Bytes(c.Gains[query.WrittenBytes]), human.Bytes(u.write)), "disk", "load")
	}
	if f.text == "" {
		return nil
	}
	return f
}
