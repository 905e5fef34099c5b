package witness

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// looks is how often a check looks at the machine: the first and the last time for the
// expression that is the most, in between for the one that is the least.
const looks = 4

// Check compares all pairs of a set once. It keeps only the values that the pairs need, until
// Verdicts is called.
type Check struct {
	set *Set
	// look is the number of the current look, and waits has the metrics that it has not seen
	// yet.
	look  int
	waits map[string]bool
	began [looks]metric.Stamp
	ended [looks]metric.Stamp
	saw   [looks][]*metric.Block
	// from and to are the times of the earliest and the latest reading of counters in the two
	// middle looks, on the awake clock.
	from, to int64
	// seen has the metrics that were read, and absent why one had no value at any look.
	seen   map[string]bool
	absent map[string]metric.Reason
}

// Begin begins a check at an instant.
func (s *Set) Begin(now metric.Stamp) *Check {
	c := &Check{set: s, absent: make(map[string]metric.Reason), seen: make(map[string]bool)}
	c.waits = make(map[string]bool, len(s.needs))
	for name := range s.needs {
		c.waits[name] = true
	}
	c.began[0] = now
	return c
}

// stands reports whether the metrics of a group hardly ever change: they are read once per
// archive, or once a minute.
func stands(g *metric.Group) bool {
	return !slices.ContainsFunc(g.Metrics, func(d *metric.Desc) bool { return d.Class != metric.Static && d.Class != metric.Constrained })
}

// See takes in a block if its metrics are waited for and it was read after the look began. A
// block whose metrics hardly ever change may be older.
func (c *Check) See(b *metric.Block) {
	waited := func(d *metric.Desc) bool { return c.waits[d.Name] }
	if !slices.ContainsFunc(b.Group.Metrics, waited) || b.At.Awake <= c.began[c.look].Awake && !stands(b.Group) {
		return
	}
	part := only(b, waited)
	c.saw[c.look] = append(c.saw[c.look], part)
	for i, d := range part.Group.Metrics {
		delete(c.waits, d.Name)
		c.seen[d.Name] = true
		if why, ok := c.absent[d.Name]; !ok || why != metric.Present {
			c.absent[d.Name] = missing(part, i)
		}
	}
	switch {
	case stands(b.Group):
	case c.look == 1 && (c.from == 0 || b.At.Awake < c.from):
		c.from = b.At.Awake
	case c.look == looks-2:
		c.to = max(c.to, b.At.Awake)
	}
}

// only returns a copy of b with the columns that want accepts.
func only(b *metric.Block, want func(*metric.Desc) bool) *metric.Block {
	part := &metric.Block{Group: &metric.Group{Name: b.Group.Name, Indom: b.Group.Indom}, At: b.At, Rows: b.Rows}
	for i, d := range b.Group.Metrics {
		if want(d) {
			part.Group.Metrics = append(part.Group.Metrics, d)
			part.Cols = append(part.Cols, b.Cols[i])
		}
	}
	return part.Clone()
}

// missing returns why no instance of a column had a value; Present if one had, or if there were
// no instances.
func missing(b *metric.Block, col int) metric.Reason {
	why := metric.Present
	for row := range b.Rows {
		if miss := b.Cols[col].Miss; miss == nil || miss[row] == metric.Present {
			return metric.Present
		}
		why = b.Cols[col].Miss[row]
	}
	return why
}

// Complete reports whether the current look has seen all metrics that it waits for.
func (c *Check) Complete() bool { return len(c.waits) == 0 }

// Next ends the current look and begins the next one, which does not wait for metrics that the
// first did not see; it returns false after the last look.
func (c *Check) Next(now metric.Stamp) bool {
	c.ended[c.look] = now
	if c.look == looks-1 {
		return false
	}
	c.look++
	c.began[c.look] = now
	c.waits = maps.Clone(c.seen)
	return true
}

// level is the value of an expression for an instance.
type level struct {
	in    *metric.Instance
	value float64
}

// values returns the value of an expression for each instance in these looks: for growth, the
// value after the last of them; for levels, the better value of all.
func (c *Check) values(e *query.Expr, growth bool, better func(x, y float64) float64, at ...int) map[string]level {
	l := query.NewLive(e)
	into := make(map[string]level)
	for i, look := range at {
		for _, b := range c.saw[look] {
			l.See(b)
		}
		if growth && i < len(at)-1 {
			continue
		}
		l.Each(c.ended[look], func(one query.Case) {
			if one.Holds != one.Holds {
				return
			}
			key := ""
			if one.Instance != nil {
				key = one.Instance.Key
			}
			if have, ok := into[key]; ok {
				one.Holds = better(have.value, one.Holds)
			}
			into[key] = level{one.Instance, one.Holds}
		})
	}
	return into
}

// compare returns the least and the most of a pair. The most is counted over the longer time.
func (c *Check) compare(p *compiled) (least, most map[string]level) {
	if p.growth {
		return c.values(p.least, true, math.Min, 1, 2), c.values(p.most, true, math.Max, 0, looks-1)
	}
	return c.values(p.least, false, math.Min, 0, 1, 2, looks-1), c.values(p.most, false, math.Max, 0, 1, 2, looks-1)
}

// A Verdict is the result of a check for a pair, or for one instance of it.
type Verdict struct {
	Pair *Pair
	// Instance is nil if the pair is about the machine.
	Instance *metric.Instance
	// Indom is the domain of the instance.
	Indom string
	State State
	// Least and Most are the values that were compared, both in Units; Least may exceed Most by
	// Beyond. They are set unless the two cannot be compared; then Why has the reason.
	Least, Most, Beyond float64
	Units               metric.Units
	Why                 string
}

// Name returns the name of the pair, with the instance of the verdict.
func (v *Verdict) Name() string {
	if v.Instance == nil {
		return v.Pair.Name
	}
	return v.Pair.Name + " [" + v.Instance.Name + "]"
}

// Compared reports whether there were values to compare, even if too small for a verdict.
func (v *Verdict) Compared() bool { return v.State != Untold || v.Why == tooLittle }

// Figures describes the values that were compared.
func (v *Verdict) Figures() string {
	return fmt.Sprintf("%s is %s, and %s is %s", v.Pair.Least, metric.Quantity(v.Least, v.Units), v.Pair.Most, metric.Quantity(v.Most, v.Units))
}

// State is the outcome of a verdict.
type State uint8

const (
	Untold State = iota // the two cannot be compared
	Agrees
	Disagrees
)

func (s State) String() string { return [...]string{"cannot be compared", "agrees", "disagrees"}[s] }

// tooLittle is why growth cannot be compared that is no more than the allowance.
const tooLittle = "too little moved to tell"

// leastSleep is how far the continuous clock must move ahead of the awake one for the machine
// to count as having slept: then no count of seconds is meaningful.
const leastSleep = int64(500e6)

// Verdicts returns the verdicts of a check that has ended, pair by pair.
func (c *Check) Verdicts() []Verdict {
	from, to := c.began[0], c.ended[looks-1]
	slept := (to.Cont-from.Cont)-(to.Awake-from.Awake) >= leastSleep
	var all []Verdict
	for i := range c.set.pairs {
		p := &c.set.pairs[i]
		v := Verdict{Pair: p.Pair, Why: p.idle}
		switch {
		case v.Why != "":
		case slept:
			v.Why = "the machine slept meanwhile"
		default:
			v.Why = c.why(p)
		}
		if v.Why != "" {
			all = append(all, v)
			continue
		}
		all = append(all, c.judge(p, v)...)
	}
	return all
}

func (c *Check) judge(p *compiled, v Verdict) []Verdict {
	v.Units, v.Indom, v.Beyond = p.most.Units(), p.most.Indom(), p.Beyond*p.scale
	if p.growth {
		v.Beyond *= float64(c.to-c.from) / 1e9
	}
	least, most := c.compare(p)
	var all []Verdict
	for _, key := range slices.Sorted(maps.Keys(least)) {
		m, ok := most[key]
		one := v
		one.Instance, one.Least, one.Most = least[key].in, float64(least[key].value*p.scale), m.value
		switch {
		case !ok:
			one.Why = c.lacks(p, key)
		case one.Least-one.Most > one.Beyond:
			one.State = Disagrees
		case p.growth && one.Least <= one.Beyond:
			one.Why = tooLittle
		default:
			one.State = Agrees
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		v.Why = anew
		all = append(all, v)
	}
	return all
}

// anew is why a metric that was read at every look has no growth.
const anew = "nothing was there, or a counter began anew"

// lacks returns why one instance cannot be compared although others can.
func (c *Check) lacks(p *compiled, key string) string {
	for _, b := range c.saw[looks-1] {
		row := slices.IndexFunc(b.Rows, func(in *metric.Instance) bool { return in != nil && in.Key == key })
		if row < 0 || b.Group.Indom != p.most.Indom() {
			continue
		}
		for i, d := range b.Group.Metrics {
			if miss := b.Cols[i].Miss; slices.Contains(p.needs, d.Name) && miss != nil && miss[row] != metric.Present {
				return d.Name + " is absent: " + miss[row].String()
			}
		}
	}
	return anew
}

// why returns why a pair cannot be compared; empty if it can.
func (c *Check) why(p *compiled) string {
	for _, name := range p.needs {
		if !c.seen[name] || c.waits[name] {
			return name + " was not read"
		}
		if why := c.absent[name]; why != metric.Present {
			return name + " is absent: " + why.String()
		}
	}
	if p.when == nil {
		return ""
	}
	for _, holds := range c.values(p.when, true, math.Min, 0, looks-1) {
		if holds.value != 1 {
			return p.Else
		}
	}
	return ""
}

// sure is how often in a row a pair must disagree, and tries how many checks `recorder check
// --witness` makes at most.
const sure, tries = 3, 9

// Sure runs check after check, with look to read the machine, until each pair that disagreed
// has done so often enough, or no longer does.
func (s *Set) Sure(now func() metric.Stamp, look func(*Check)) []Verdict {
	streaks := make(map[stateOf]int)
	for n := 1; ; n++ {
		c := s.Begin(now())
		for look(c); c.Next(now()); {
			look(c)
		}
		verdicts := c.Verdicts()
		unsure := false
		for i := range verdicts {
			v := &verdicts[i]
			if v.State != Disagrees {
				delete(streaks, v.of())
				continue
			}
			streaks[v.of()]++
			if streaks[v.of()] < sure {
				unsure = true
			}
		}
		if !unsure || n == tries {
			for i := range verdicts {
				if v := &verdicts[i]; v.State == Disagrees && streaks[v.of()] < sure {
					v.State, v.Why = Untold, "the two disagree now and then"
				}
			}
			return verdicts
		}
	}
}
