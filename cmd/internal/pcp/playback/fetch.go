package playback

import (
	"context"
	"math"
	"time"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// Fetch returns the metrics in want, with their last values before the present position.
func (p *Player) Fetch(ctx context.Context, want []*metric.Desc) (*pcpserve.View, error) {
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	v := &pcpserve.View{At: p.stamp(now), Missing: make(map[*metric.Desc]metric.Reason)}
	there := p.there(now)
	given := make(map[*place]bool)
	for _, d := range want {
		switch c, ok := p.named[d.Name]; {
		case d.Unsupported != "":
			v.Missing[d] = metric.Unsupported
		case !there:
			v.Missing[d] = metric.NotRead
		case d.Formula != "":
			if b := p.compute(d, now); b != nil {
				v.Blocks = append(v.Blocks, b)
			} else {
				v.Missing[d] = metric.NotRead
			}
		case !ok || !p.holds(c.class, c.due, now):
			v.Missing[d] = metric.NotRead
		case !given[c.place]:
			given[c.place] = true
			v.Blocks = append(v.Blocks, c.block)
		}
	}
	return v, nil
}

// wait waits until the state at the beginning is known.
func (p *Player) wait(ctx context.Context) error {
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stamp is the time of a view. It started at the wall clock at which playback began, and passes
// at the speed of playback, so that rates between two views are right at any speed. If time
// stands still, it is zero, which means now.
func (p *Player) stamp(now time.Duration) metric.Stamp {
	if p.opt.Speed == 0 || p.began.IsZero() {
		return metric.Stamp{}
	}
	return metric.Stamp{Wall: p.began.UnixNano() + int64(p.before+now)}
}

// Instances returns the instances in the present blocks. Those of owners are only in what is computed
// from processes.
func (p *Player) Instances(ctx context.Context, indom string) ([]*metric.Instance, error) {
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if !p.there(now) {
		return nil, nil
	}
	var list []*metric.Instance
	seen := make(map[string]bool)
	for _, pl := range p.places {
		if pl.block.Group.Indom != indom || !p.holds(pl.class, pl.due, now) {
			continue
		}
		for _, in := range pl.block.Rows {
			if in != nil && !seen[in.Key] {
				seen[in.Key] = true
				list = append(list, in)
			}
		}
	}
	for _, d := range p.Catalog().Descs {
		if list == nil && d.Indom == indom && d.Formula != "" {
			if b := p.compute(d, now); b != nil {
				list = b.Rows
			}
		}
	}
	return list, nil
}

// compute returns the block of a computed metric, from the last ticks of its inputs; nil if
// there are none.
func (p *Player) compute(d *metric.Desc, now time.Duration) *metric.Block {
	e := p.exprs[d]
	if e == nil {
		var err error
		if e, err = query.Compile(p.recent, nil, d.Name); err != nil {
			return nil // Its inputs have not been read yet.
		}
		p.exprs[d] = e
	}
	class := metric.NumClasses
	best := metric.Once
	for _, name := range e.Metrics() {
		c, ok := p.named[name]
		if !ok {
			continue
		}
		every := p.info.Intervals[c.class]
		if c.block.Group.Metrics[c.column].Sem == metric.Discrete {
			every = max(every, metric.Once/2)
		}
		if class == metric.NumClasses || every < best {
			class, best = c.class, every
		}
	}
	if class == metric.NumClasses || !p.holds(class, p.last[class].due, now) {
		return nil
	}
	at, from, to, ok := p.recent.Last(class)
	if !ok {
		return nil
	}
	b := &metric.Block{Group: &metric.Group{Name: "computed " + d.Name, Indom: d.Indom, Metrics: []*metric.Desc{d}}, At: at, Cols: make([]metric.Column, 1)}
	for s, err := range query.Evaluate(p.recent, e, query.Request{Window: query.Window{From: from, To: to}, Mode: query.Raw}) {
		if err != nil || len(s.Wall) == 0 {
			continue
		}
		b.Rows = append(b.Rows, s.Instance)
		b.Cols[0].Push(whole(d, s.Value(len(s.Wall)-1)))
	}
	if len(b.Rows) == 0 {
		return nil
	}
	return b
}

// whole converts a computed number to the metric's type.
func whole(d *metric.Desc, v metric.Value) metric.Value {
	if v.Miss != metric.Present {
		return metric.Value{Type: d.Type, Miss: v.Miss}
	}
	x := v.Number()
	switch {
	case d.Type == metric.F64:
		return metric.Value{Type: d.Type, Bits: math.Float64bits(x)}
	case d.Type == metric.F32:
		return metric.Value{Type: d.Type, Bits: uint64(math.Float32bits(float32(x)))}
	case d.Type == metric.String || math.IsNaN(x) || math.Abs(x) >= 1<<63 || !d.Type.Signed() && x < 0:
		return metric.Value{Type: d.Type, Miss: metric.NotRead}
	}
	return metric.Value{Type: d.Type, Bits: uint64(int64(x))}
}
