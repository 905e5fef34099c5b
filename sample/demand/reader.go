package demand

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

const (
	// handOver is how long a source may take before the next is read beside it. Reading one after
	// the other is cheaper, and makes fewer threads.
	handOver = 50 * time.Millisecond
)

// Options configure a Reader. Now is required.
type Options struct {
	// Now reads the three clocks.
	Now func() metric.Stamp
	// Worked is the processor time that this program has used so far. Without it, elapsed time
	// counts as work.
	Worked func() time.Duration
	// Within limits how long a Read takes; two seconds if it is zero.
	Within time.Duration
	// HandOver, if set, is how long a source may take before others are read beside it.
	HandOver time.Duration
	// MaxCPU, in cores, limits what reading may cost over time. Zero means no limit.
	MaxCPU float64
	// Anew disables sharing: each request reads everything anew, and all instances of each
	// source, however many.
	Anew bool
	// Changed is called, if Start was, when a source's groups have changed.
	Changed func()
	Log     *slog.Logger
}

// Reader reads sources on request. It is safe for concurrent use.
type Reader struct {
	opt     Options
	sources []*source
	places  atomic.Pointer[map[*metric.Desc]location]
	budget  budget
	placing sync.Mutex
	stop    chan struct{}
	closing sync.Once
}

// location says where a metric is read.
type location struct {
	source     *source
	full       *metric.Group
	group, col int
}

// New makes a Reader of sources. It owns them from now on.
func New(sources []sample.Source, opt Options) *Reader {
	if opt.Within == 0 {
		opt.Within = 2 * time.Second
	}
	if opt.HandOver == 0 {
		opt.HandOver = handOver
	}
	if opt.Worked == nil {
		opt.Worked = func() time.Duration { return time.Duration(opt.Now().Awake) }
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	r := &Reader{opt: opt, stop: make(chan struct{})}
	r.budget.begin(opt.MaxCPU, opt.Now().Awake)
	for i, s := range sources {
		r.sources = append(r.sources, newSource(i, s))
	}
	r.place()
	return r
}

// place records where each metric is.
func (r *Reader) place() {
	r.placing.Lock()
	defer r.placing.Unlock()
	places := make(map[*metric.Desc]location)
	for _, s := range r.sources {
		for g, group := range s.known() {
			for col, d := range group.Metrics {
				places[d] = location{s, group, g, col}
			}
		}
	}
	r.places.Store(&places)
}

// Groups returns the groups of all sources.
func (r *Reader) Groups() []*metric.Group {
	var all []*metric.Group
	for _, s := range r.sources {
		all = append(all, s.known()...)
	}
	return all
}

// Status returns the statistics of each source.
func (r *Reader) Status() []Status {
	var all []Status
	for _, s := range r.sources {
		s.mu.Lock()
		st := s.status
		s.mu.Unlock()
		st.Source = s.name
		all = append(all, st)
	}
	return all
}

// Reading is the answer to one Read.
type Reading struct {
	At metric.Stamp
	// Blocks hold each requested metric that was read, once. They never change.
	Blocks []*metric.Block
	// Missing holds the other metrics, with the reason.
	Missing map[*metric.Desc]metric.Reason
	// Costs lists the sources that were read for this, in their order, and Took is how long the
	// whole Read took.
	Costs []Cost
	Took  time.Duration
}

// Cost is the cost of reading one source.
type Cost struct {
	Source  string
	Metrics int
	Values  int
	Took    time.Duration
	Err     error
	// Part and Of are set where only some of the instances could be read in time.
	Part, Of int
}

// Read returns current values of the metrics in want. What has not come when ctx ends, or when
// Options.Within is over, is missing with reason TimedOut; its reading goes on.
func (r *Reader) Read(ctx context.Context, want []*metric.Desc) *Reading {
	began := r.opt.Now()
	out := &Reading{At: began, Missing: make(map[*metric.Desc]metric.Reason)}
	asked := r.ask(want, began.Awake, out.Missing)
	var todo []*request
	for _, q := range asked {
		switch {
		case q.stale() == nil:
			q.served.Store(true)
		case q.source.answers(began.Awake):
			todo = append(todo, q)
		}
	}
	if len(todo) > 0 {
		r.read(ctx, todo)
	}
	for _, q := range asked {
		q.collect(out)
	}
	out.Took = time.Duration(r.opt.Now().Awake - began.Awake)
	return out
}

// ask sorts want by source. It adds to missing what cannot be read.
func (r *Reader) ask(want []*metric.Desc, now int64, missing map[*metric.Desc]metric.Reason) []*request {
	broke, news := r.budget.broke(now)
	if news && broke {
		r.opt.Log.Warn("reading costs more than the budget: what is expensive to read is shared for longer", "max_cpu", r.opt.MaxCPU)
	} else if news {
		r.opt.Log.Info("the budget has room again: values are as new as their metrics allow")
	}
	places := *r.places.Load()
	bySource := make([]*request, len(r.sources))
	for _, d := range want {
		p, ok := places[d]
		switch {
		case d.Unsupported != "" || d.Formula != "":
			missing[d] = metric.Unsupported
			continue
		case !ok:
			missing[d] = metric.NotRead // its source has other groups by now
			continue
		}
		q := bySource[p.source.place]
		if q == nil {
			q = &request{source: p.source, began: now, broke: broke}
			if r.opt.Anew {
				q.after = p.source.reads()
			}
			bySource[p.source.place] = q
		}
		q.add(p, d)
	}
	return slices.DeleteFunc(bySource, func(q *request) bool { return q == nil })
}

// job is the reading of some sources by successive goroutines: each takes over when the one
// before has been with a source for long.
type job struct {
	r     *Reader
	ctx   context.Context
	todo  []*request
	next  atomic.Int32
	ended atomic.Int32
	done  chan struct{}
}

func (r *Reader) read(ctx context.Context, todo []*request) {
	inner, cancel := context.WithTimeout(ctx, r.opt.Within)
	defer cancel()
	j := &job{r: r, ctx: inner, todo: todo, done: make(chan struct{})}
	go j.work()
	ticker := time.NewTicker(r.opt.HandOver)
	defer ticker.Stop()
	for last := int32(0); ; {
		select {
		case <-j.done:
			// When time is over the requests that still wait for a turn end as well.
			if inner.Err() != nil {
				r.timeOver(ctx, todo)
			}
			return
		case <-inner.Done():
			r.timeOver(ctx, todo)
			return
		case <-ticker.C:
			ended := j.ended.Load()
			if ended == last && int(j.next.Load()) < len(todo) {
				go j.work()
			}
			last = ended
		}
	}
}

// work reads one source after the other, until all are read or taken by other goroutines.
func (j *job) work() {
	for j.ctx.Err() == nil {
		i := int(j.next.Add(1)) - 1
		if i >= len(j.todo) {
			return
		}
		j.r.serve(j.ctx, j.todo[i])
		if int(j.ended.Add(1)) == len(j.todo) {
			close(j.done)
		}
	}
}

// timeOver gives up the sources that have been busy for at least half of Options.Within. A
// caller that cancelled says nothing about a source.
func (r *Reader) timeOver(ctx context.Context, todo []*request) {
	if ctx.Err() != nil && context.Cause(ctx) != context.DeadlineExceeded {
		return
	}
	now := r.opt.Now().Awake
	for _, q := range todo {
		if q.source.leave(now, r.opt.Within/2) {
			r.opt.Log.Warn("it does not answer and is left alone until it does; the others go on", "source", q.source.name)
		}
	}
}

// serve reads a source for q, unless another request has read it meanwhile.
func (r *Reader) serve(ctx context.Context, q *request) {
	s := q.source
	if !s.take(ctx.Done()) {
		return
	}
	defer func() { <-s.turn }()
	now := r.opt.Now().Awake
	if !s.answers(now) {
		return
	}
	if cols := q.stale(); cols != nil {
		s.begins(now)
		worked := r.opt.Worked()
		cost := s.read(r, q, cols)
		repay := r.budget.spend(r.opt.Worked() - worked)
		if s.count(&cost, s.free(r.opt.Now().Awake), repay) {
			r.opt.Log.Warn("only some of its instances can be read in time, the others follow the next times", "source", s.name, "read", cost.Part, "of", cost.Of)
		}
		q.cost.Store(&cost)
		q.stale() // sets q's found readings
	}
	q.served.Store(true)
}

// Instances returns the current instances of an instance domain, in no order.
func (r *Reader) Instances(ctx context.Context, indom string) ([]*metric.Instance, error) {
	var want []*metric.Desc
	for _, g := range r.Groups() {
		if g.Indom != indom {
			continue
		}
		if d := cheapest(g); d != nil {
			want = append(want, d)
		}
	}
	if len(want) == 0 {
		return nil, nil
	}
	reading := r.Read(ctx, want)
	byKey := make(map[string]*metric.Instance)
	for _, b := range reading.Blocks {
		for _, in := range b.Rows {
			if in != nil {
				byKey[in.Key] = in
			}
		}
	}
	if len(reading.Blocks) == 0 && len(reading.Missing) > 0 {
		return nil, fmt.Errorf("%s: its instances have not been read in time: %w", indom, context.DeadlineExceeded)
	}
	return slices.Collect(maps.Values(byKey)), nil
}

// Forget drops the readings of d's group, so that the next request reads it again.
func (r *Reader) Forget(d *metric.Desc) {
	p, ok := (*r.places.Load())[d]
	if !ok {
		return
	}
	p.source.mu.Lock()
	defer p.source.mu.Unlock()
	if p.group < len(p.source.recent) {
		p.source.recent[p.group] = nil
	}
}

// cheapest returns the metric of g that is likely to be read with the least effort.
func cheapest(g *metric.Group) *metric.Desc {
	var best *metric.Desc
	for _, d := range g.Metrics {
		if d.Unsupported == "" && d.Formula == "" && (best == nil || best.Class == metric.Costly && d.Class != metric.Costly) {
			best = d
		}
	}
	return best
}

// Close ends the looking for changes and closes all sources that answer.
func (r *Reader) Close() error {
	var first error
	r.closing.Do(func() {
		close(r.stop)
		for _, s := range r.sources {
			// Keep the turn: nothing is read any more.
			if s.takeWithin(time.Second) {
				if err := s.Source.Close(); err != nil && first == nil {
					first = err
				}
			}
		}
	})
	return first
}
