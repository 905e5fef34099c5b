package storetest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"tachograph/sample/metric"
)

// A Repeater plays a dataset again and again: time goes on, counters keep growing, and each
// round has new processes.
type Repeater struct {
	ticks  []*metric.Tick
	period int64
	// growth is what a system-wide counter gains in one round.
	growth map[seriesKey]uint64
	insts  map[*metric.Instance]*metric.Instance
	round  int
}

type seriesKey struct {
	d  *metric.Desc
	in *metric.Instance
}

// NewRepeater loads the dataset at path: every systemEvery-th of its system-wide ticks, and
// every procEvery-th of its process ticks.
func NewRepeater(path string, systemEvery, procEvery int) (*Repeater, error) {
	d, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	r := &Repeater{growth: make(map[seriesKey]uint64)}
	first := make(map[seriesKey]uint64)
	var from, to int64
	for n := 0; ; n++ {
		system, proc, err := d.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			from = system.At.Wall
		}
		to = system.At.Wall
		if n%systemEvery == 0 {
			r.ticks = append(r.ticks, Clone(system))
			r.note(system, first)
		}
		if n%procEvery == 0 && len(proc.Blocks) > 0 {
			r.ticks = append(r.ticks, Clone(proc))
		}
	}
	r.period = to - from + 1e9
	return r, nil
}

func (r *Repeater) note(t *metric.Tick, first map[seriesKey]uint64) {
	for _, b := range t.Blocks {
		for c, d := range b.Group.Metrics {
			if d.Sem != metric.Counter {
				continue
			}
			for i, in := range b.Rows {
				k := seriesKey{d, in}
				if _, ok := first[k]; !ok {
					first[k] = b.Cols[c].Bits[i]
				}
				r.growth[k] = b.Cols[c].Bits[i] - first[k]
			}
		}
	}
}

// Clone returns a copy of t that shares only groups and instances with it.
func Clone(t *metric.Tick) *metric.Tick {
	c := &metric.Tick{Class: t.Class, At: t.At}
	for _, b := range t.Blocks {
		nb := &metric.Block{Group: b.Group, At: b.At, Rows: slices.Clone(b.Rows), Cols: make([]metric.Column, len(b.Cols))}
		for i := range b.Cols {
			nb.Cols[i].Bits = slices.Clone(b.Cols[i].Bits)
		}
		c.Blocks = append(c.Blocks, nb)
	}
	return c
}

// Skip passes over n rounds.
func (r *Repeater) Skip(n int) { r.round += n }

// Round calls fn with the ticks of the next round. The ticks are valid until
// fn returns.
func (r *Repeater) Round(fn func(*metric.Tick) error) error {
	shift := r.period * int64(r.round)
	r.insts = make(map[*metric.Instance]*metric.Instance)
	for _, t := range r.ticks {
		now := Clone(t)
		move := func(s *metric.Stamp) {
			s.Wall += shift
			s.Cont += shift
			s.Awake += shift
		}
		move(&now.At)
		for _, b := range now.Blocks {
			move(&b.At)
			r.advance(b)
		}
		if err := fn(now); err != nil {
			return err
		}
	}
	r.round++
	return nil
}

func (r *Repeater) advance(b *metric.Block) {
	for c, d := range b.Group.Metrics {
		for i, in := range b.Rows {
			b.Cols[c].Bits[i] += r.growth[seriesKey{d, in}] * uint64(r.round)
		}
	}
	for i, in := range b.Rows {
		if b.Group.Name == "process" {
			b.Rows[i] = r.renamed(in)
		}
	}
}

// renamed returns the process that takes the place of in in this round.
func (r *Repeater) renamed(in *metric.Instance) *metric.Instance {
	now := r.insts[in]
	if now == nil {
		pid, start, _ := strings.Cut(in.Key, "/")
		p, _ := strconv.Atoi(pid)
		s, _ := strconv.Atoi(start)
		p = 300 + (p+r.round*13000)%4000000
		_, comm, _ := strings.Cut(strings.TrimSpace(in.Name), " ")
		now = &metric.Instance{ID: uint64(r.round+1)<<32 + in.ID, Rev: in.Rev,
			Key: fmt.Sprintf("%d/%d", p, s+int(r.period/1e7)*r.round), Name: fmt.Sprintf("%06d %s", p, comm)}
		r.insts[in] = now
	}
	return now
}
