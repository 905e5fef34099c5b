package query

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// topper adds up what processes used, chunk by chunk. It keeps the processes that still live, the
// sums by group, and of the single processes that ended only those that may be among the biggest.
type topper struct {
	a     Archive
	w     Window
	group Grouping
	names func(string) bool // by name, the processes to add up; nil for all
	// only, if set, says which processes are added up: by the name that a process had first and the
	// owners that it had last.
	only   func(named, owned *metric.Instance) bool
	by     By
	most   int // how many single processes to rank; 0 for all
	every  int64
	own    map[string]float64  // by host: the seconds that were recorded
	begins map[[2]string]int64 // by boot: when processes were first read

	lives  map[string]*life
	free   []*life
	least  float64 // what a single process must exceed to be among the biggest
	groups map[groupKey]*Consumer
	ended  []*Consumer
	each   func(*Consumer) // if set, receives single processes that ended, which are then not kept
	count  int
	total  float64
	fields *fieldMap
	owned  bool // groups are owners
	// all, if set, receives what all processes used together, and open has, by boot and key, how many connections
	// each had at the end of the window.
	all  *Consumer
	open map[[2]string]float64

	digested bool                     // totals of crowds may be used
	exact    map[totalsKey]bool       // except these,
	bounded  []bounded                // and those used so far, if single processes are ranked
	hidden   func(*store.Totals) bool // if set, whether a process that is sought may be in a crowd
	silent   func(name string)        // if set, receives names of crowds that have no value of the fields
}

// groupKey identifies a group of a host; for single processes and for parents it includes the
// boot.
type groupKey struct{ host, boot, name string }

// life is a process for which more summaries may come.
type life struct {
	*Consumer
	latest  *metric.Instance // with the owners that it had last
	boot    string
	last    [NumProcessCounters]store.Point
	known   [NumProcessCounters]bool
	level   store.Point
	charged bool    // its footprint is known
	peaked  bool    // so is the peak that the kernel reports,
	before  float64 // and what that was when the window began
	seen    int64
}

func newConsumer(s *store.Summary, name string) Consumer {
	from, to := s.Seen()
	return Consumer{Archive: s.Archive, Name: name, From: from, To: to,
		Gains: noCounters(), Mean: unknown, Peak: unknown, Resident: unknown, Virtual: unknown, Connections: unknown}
}

var errNothing = errors.New("nothing was recorded in this window")

// bounds moves the window's beginning to the last reading before it, and finds when each boot's
// recording began.
func (t *topper) bounds(w Window) error {
	from, to, list := Covered(t.a, w)
	if len(list) == 0 {
		return errNothing
	}
	t.w = Window{Hosts: w.Hosts, From: max(from, w.From), To: to}
	if w.To != 0 {
		t.w.To = min(to, w.To)
	}
	if slices.ContainsFunc(t.a.Archives(), func(in *store.ArchiveInfo) bool { return w.Wants(in.Host.ID) && in.From < w.From }) {
		tick := lastProcessTick(t.a, w, w.From)
		if tick != 0 {
			t.w.From = tick
		}
	}
	t.spans()
	t.begins = make(map[[2]string]int64)
	earliest := make(map[[2]string]*store.ArchiveInfo)
	for _, info := range t.a.Archives() {
		key := [2]string{info.Host.ID, info.BootID}
		if first := earliest[key]; first == nil || info.From < first.From {
			earliest[key] = info
		}
		if iv := interval(info, metric.Process); iv > 0 {
			t.every = iv
		}
	}
	if t.every == 0 {
		t.every = int64(metric.Process.Interval())
	}
	for key, info := range earliest {
		t.begins[key] = info.From
		if w.Wants(info.Host.ID) && info.From >= t.w.From && info.From <= t.w.To {
			t.begins[key] = firstProcessTick(t.a, info, t.every)
		}
	}
	return nil
}

// spans computes for each host how many seconds of the window were recorded, boot by boot: what
// counters gained between archives of one boot is known, what happened between boots is not.
func (t *topper) spans() {
	type span struct{ from, to int64 }
	boots := make(map[[2]string]span)
	for _, info := range t.a.Archives() {
		from, to := max(info.From, t.w.From), min(info.To, t.w.To)
		if !t.w.Wants(info.Host.ID) || to < from {
			continue
		}
		key := [2]string{info.Host.ID, info.BootID}
		s, ok := boots[key]
		if !ok {
			s = span{from, to}
		}
		boots[key] = span{min(s.from, from), max(s.to, to)}
	}
	t.own = make(map[string]float64)
	for key, s := range boots {
		t.own[key[0]] += float64(s.to-s.from) / 1e9
	}
}

// add sums up the fields of all processes, or of those with the keys.
func (t *topper) add(fields *fieldMap, keys []string) {
	t.fields, t.owned = fields, t.group.OfOwners()
	t.lives = make(map[string]*life)
	t.groups = make(map[groupKey]*Consumer)
	t.ended, t.bounded, t.count, t.total, t.least = nil, nil, 0, 0, 0
	if t.all != nil {
		*t.all = Consumer{Gains: noCounters(), Connections: unknown}
	}
	if len(fields.names) == 0 {
		return
	}
	sel := t.w.Selection(fields.names...)
	sel.Keys = keys
	if t.names != nil {
		sel.Instance = func(_ string, in *metric.Instance) bool { return t.names(ProcessName(in)) }
	}
	chunk := int64(0) // when the present one began
	var decode func(*store.Totals) bool
	if t.digested {
		decode = t.decodes
	}
	for part := range t.a.Total(sel, decode) {
		summaries := part.Summaries
		if part.Totals != nil {
			if keys == nil {
				t.crowds(part.Totals)
			}
			continue
		}
		begin := int64(0)
		var l *life
		var in *metric.Instance
		for i := range summaries {
			s := &summaries[i]
			if s.Instance == nil {
				continue
			}
			if s.Count == 0 {
				if t.owned || t.only != nil {
					t.known(s)
				}
				continue
			}
			if s.Instance != in {
				in, l = s.Instance, t.life(s)
			}
			if begin == 0 || s.First.Wall < begin {
				begin = s.First.Wall
			}
			l.seen = max(l.seen, s.Last.Wall)
			from, to := s.Seen()
			l.From, l.To = min(l.From, from), max(l.To, to)
			t.summary(l, s)
		}
		if begin > chunk+t.every {
			// Another chunk has begun. What is not in its first metric may be in the next ones, but
			// all metrics of the one before have come.
			if chunk != 0 {
				t.settle(chunk)
			}
			chunk = begin
		}
	}
	t.settle(0)
	for _, c := range t.groups {
		if t.group != PerProcess {
			t.finish(c)
			t.sumUp(c)
		}
	}
}

// known returns the key of the life that a summary belongs to, and the life if it has begun. A process
// that was moved to another owner counts for its last one.
func (t *topper) known(s *store.Summary) (key string, l *life) {
	key = s.Instance.Key
	if len(t.begins) > 1 {
		key = s.Archive.Host.ID + "/" + s.Archive.BootID + "/" + key
	}
	l = t.lives[key]
	if l != nil {
		l.latest = s.Instance
	}
	return key, l
}

// life finds or begins the life that a summary belongs to.
func (t *topper) life(s *store.Summary) *life {
	key, l := t.known(s)
	if l != nil {
		return l
	}
	t.count++
	if n := len(t.free); n > 0 {
		l, t.free = t.free[n-1], t.free[:n-1]
		*l = life{Consumer: l.Consumer}
	} else {
		l = &life{}
	}
	if t.apart() {
		if l.Consumer == nil {
			l.Consumer = new(Consumer)
		}
		*l.Consumer = newConsumer(s, ProcessName(s.Instance))
	} else {
		k := t.keyOf(s.Archive, s.Instance)
		if l.Consumer = t.groups[k]; l.Consumer == nil {
			k.name = strings.Clone(k.name)
			c := newConsumer(s, k.name)
			l.Consumer = &c
			t.groups[k] = l.Consumer
		}
	}
	l.Count++
	if t.born(s) {
		l.Runs++
	}
	l.stand(s.Instance, s.First.Wall)
	l.latest, l.boot = s.Instance, s.Archive.BootID
	t.lives[key] = l
	return l
}

// apart reports whether each process is added up by itself first: which owner it belongs to is not
// known before its end.
func (t *topper) apart() bool { return t.group == PerProcess || t.owned || t.only != nil }

// join adds what a process used to its group.
func (t *topper) join(c *Consumer) {
	k := t.keyOf(c.Archive, c.Instance)
	g := t.groups[k]
	if g == nil {
		k.name = strings.Clone(k.name)
		g = new(Consumer)
		*g = *c
		g.Name = k.name
		t.groups[k] = g
		return
	}
	g.Count += c.Count
	g.Runs += c.Runs
	g.stand(c.Instance, c.since)
	g.From, g.To = min(g.From, c.From), max(g.To, c.To)
	for f := range c.Gains {
		g.Gains[f] = sum(g.Gains[f], c.Gains[f])
	}
	g.weight += c.weight
	g.seconds += c.seconds
	if !(c.Peak <= g.Peak) && c.Peak == c.Peak {
		g.Peak = c.Peak
	}
	g.Resident, g.Virtual = sum(g.Resident, c.Resident), sum(g.Virtual, c.Virtual)
	g.Connections = sum(g.Connections, c.Connections)
}

// stand makes in, first seen at wall, the instance that c shows, unless another was seen earlier.
func (c *Consumer) stand(in *metric.Instance, wall int64) {
	if c.Instance != nil && (wall > c.since || wall == c.since && in.Key >= c.Instance.Key) {
		return
	}
	c.Instance, c.Start, c.since = in, in.Began(), wall
}

// addCrowds counts the processes that were too many to have a row each.
func (t *topper) addCrowds() {
	for e := range t.a.Events(t.w.From, t.w.To, metric.EventProcessExits) {
		name, n := e.Label("name"), countOf(e.Label("count"))
		if name == "" || n == 0 || !t.w.Wants(e.Archive.Host.ID) {
			continue
		}
		if in := (&metric.Instance{Name: name}); t.only != nil && !t.only(in, in) {
			continue
		}
		k := groupKey{host: e.Archive.Host.ID, name: name}
		c := t.groups[k]
		if c == nil {
			if len(t.groups) >= mostRuns {
				continue
			}
			c = &Consumer{Archive: e.Archive, Name: name, Instance: &metric.Instance{Name: name}, From: e.At.Wall, To: e.At.Wall,
				Gains: noCounters(), Mean: unknown, Peak: unknown, Resident: unknown, Virtual: unknown, Connections: unknown}
			t.groups[k] = c
		}
		c.Count += n
		c.Runs += n
		t.count += n
		if t.by == ByRuns {
			t.total += float64(n)
		}
	}
}

func (t *topper) keyOf(info *store.ArchiveInfo, in *metric.Instance) groupKey {
	k := groupKey{host: info.Host.ID, name: t.group.key(in)}
	if t.group == PerProcess || t.group == PerParent {
		k.boot = info.BootID
	}
	return k
}

// summary adds the summary of one metric of a process in one chunk.
func (t *topper) summary(l *life, s *store.Summary) {
	name := s.Metric.Name
	if f, ok := t.fields.counter(s.Archive, name); ok {
		t.counter(l, f, s)
		return
	}
	f, ok := t.fields.level(s.Archive, name)
	if !ok {
		return // It belongs to another archive.
	}
	if f == Highest {
		t.highest(l, s)
		return
	}
	t.ending(l.Consumer, f, s)
	// Footprints come first: metrics come in the order of their names.
	if f == Footprint || f == Resident && !l.charged {
		l.charged = l.charged || f == Footprint
		t.level(l, s)
	}
}

// counter adds a counter's gain, also between chunks of the same process. If a process was not
// there at the reading before, it began in the window, and all that its counters show was used in
// it.
func (t *topper) counter(l *life, f ProcessCounter, s *store.Summary) {
	gain := s.Increase
	if l.known[f] {
		inc, _ := metric.Increase(s.Metric, l.last[f].Bits, s.First.Bits, float64(s.First.Cont-l.last[f].Cont)/1e9)
		gain += inc
	} else if t.born(s) {
		gain += metric.Number(s.Metric.Type, s.First.Bits)
	}
	l.last[f], l.known[f] = s.Last, true
	l.Gains[f] = sum(l.Gains[f], gain*base(s.Metric.Units))
}

// born reports whether the process began after the window did: the recording of its boot had
// begun before it was first seen, and it was not there then.
func (t *topper) born(s *store.Summary) bool {
	if at := s.Instance.Began(); at != 0 {
		return at >= t.w.From
	}
	begin := max(t.begins[[2]string{s.Archive.Host.ID, s.Archive.BootID}], t.w.From)
	late := t.every / 2
	if s.Archive.Step != 0 {
		late = min(late, int64(time.Second)/2) // An archive of steps needs no such margin for its first reading.
	}
	return s.First.Wall > begin+late
}

func (t *topper) level(l *life, s *store.Summary) {
	unit := base(s.Metric.Units)
	if peak := metric.Number(s.Metric.Type, s.Max) * unit; l.Peak != l.Peak || peak > l.Peak {
		l.Peak = peak
	}
	// The first value counts for the time since the one before it.
	before := t.every
	if l.level.Wall != 0 {
		before = s.First.Cont - l.level.Cont
	}
	if s.Lead != 0 {
		before = min(before, s.Lead)
	}
	l.weight += float64((s.Weighted + metric.Number(s.Metric.Type, s.First.Bits)*float64(before)/1e9) * unit)
	l.seconds += float64(s.Last.Cont-s.First.Cont+before) / 1e9
	l.level = s.Last
}

// highest takes the peak that the kernel reports, which samples miss, if it surely was in the
// window: the process began in it, or the peak rose in it.
func (t *topper) highest(l *life, s *store.Summary) {
	unit := base(s.Metric.Units)
	if !l.peaked {
		l.peaked, l.before = true, metric.Number(s.Metric.Type, s.First.Bits)*unit
		if t.born(s) {
			l.before = 0
		}
	}
	if peak := metric.Number(s.Metric.Type, s.Max) * unit; peak > l.before && !(peak <= l.Peak) {
		l.Peak = peak
	}
}

// ending notes what was held at the end.
func (t *topper) ending(c *Consumer, f ProcessLevel, s *store.Summary) {
	to := &c.Resident
	switch f {
	case Virtual:
		to = &c.Virtual
	case Resident:
	default:
		return
	}
	x := metric.Number(s.Metric.Type, s.Last.Bits) * base(s.Metric.Units)
	if s.Averaged {
		x = math.NaN() // It ended within a step, which does not show what it held at its end.
	}
	switch {
	case t.group == PerProcess:
		*to = x
	case t.held(s.Last.Wall):
		*to = sum(*to, x)
	}
}

// finish computes what a process held while it lived, or what a group held together over the
// window.
func (t *topper) finish(c *Consumer) {
	for f, gain := range c.Gains {
		c.Gains[f] = max(0, gain) // The last reading may be a dip.
	}
	if t.open != nil {
		c.Connections = max(0, sum(c.Connections, 0)) // What has ended has none.
	}
	if c.seconds == 0 {
		return
	}
	if t.group == PerProcess {
		c.Mean = c.weight / c.seconds
		return
	}
	seconds := t.own[c.Archive.Host.ID] + float64(t.every)/1e9
	c.Mean = c.weight / seconds
	c.Peak = max(c.Peak, c.Mean)
}

// settle drops the processes that have ended: those that were last seen well before a chunk that
// began at begin. With begin 0 it drops all.
func (t *topper) settle(begin int64) {
	var over []string // in order, on which the last digits of sums depend
	for key, l := range t.lives {
		if begin == 0 {
			l.connections(t.open)
		}
		switch {
		case begin != 0 && l.seen >= begin-missedTicks*t.every:
		case t.apart():
			over = append(over, key)
		default:
			delete(t.lives, key)
		}
	}
	slices.Sort(over)
	for _, key := range over {
		l := t.lives[key]
		delete(t.lives, key)
		if t.only != nil && !t.only(l.Instance, l.latest) {
			t.count--
			t.free = append(t.free, l)
			continue
		}
		if t.owned {
			l.Instance = l.latest
		}
		if t.group != PerProcess {
			t.join(l.Consumer)
			t.free = append(t.free, l)
			continue
		}
		t.finish(l.Consumer)
		t.sumUp(l.Consumer)
		switch {
		case t.each != nil:
			c := *l.Consumer
			t.each(&c)
		case t.by == "":
			c := *l.Consumer
			t.groups[t.keyOf(l.Archive, l.Instance)] = &c
		case l.Amount(t.by) > t.least:
			c := *l.Consumer
			t.ended = append(t.ended, &c)
		}
		t.free = append(t.free, l)
	}
	if t.most > 0 && len(t.ended) > 2*t.most+256 {
		slices.SortFunc(t.ended, byAmount(t.by))
		clear(t.ended[t.most:])
		t.ended = t.ended[:t.most]
		t.least = t.ended[t.most-1].Amount(t.by)
	}
}

func (t *topper) sumUp(c *Consumer) {
	if t.all != nil {
		for f, gain := range c.Gains {
			t.all.Gains[f] = sum(t.all.Gains[f], gain)
		}
		t.all.Connections = sum(t.all.Connections, c.Connections)
	}
	if t.by == "" {
		return
	}
	if x := c.Amount(t.by); x > 0 {
		t.total += x
	}
}

// ranked returns the consumers, biggest first.
func (t *topper) ranked() []*Consumer {
	out := t.ended
	if t.group != PerProcess {
		for _, c := range t.groups {
			if c.Amount(t.by) > 0 {
				out = append(out, c)
			}
		}
	}
	slices.SortStableFunc(out, byAmount(t.by))
	return out
}
