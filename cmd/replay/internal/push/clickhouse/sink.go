package clickhouse

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"tachograph/cmd/replay/internal/naming"
	"tachograph/cmd/replay/internal/push"
	"tachograph/sample/metric"
)

// Options say where and how rows are sent.
type Options struct {
	// Endpoint is the server's HTTP interface, with our credentials.
	Endpoint *push.Endpoint
	Layout   Layout
	// Create makes missing tables and adds missing columns.
	Create bool
}

// Batch is the recommended size of a batch. Each batch adds a part to every table, which the
// server has to merge, and many machines push.
var Batch = struct {
	Values int
	Age    time.Duration
}{500_000, 30 * time.Second}

// A Sink pushes what is recorded to ClickHouse. It is a push.Sink.
type Sink struct {
	opt     Options
	release release
	// inserts are the statements for each table, and wide the fields with a column there.
	inserts [tableCount]string
	wide    []field

	plans           map[*metric.Group]*plan
	absent, reasons []string

	mu    sync.Mutex
	known known
}

// New makes a Sink.
func New(opt Options) *Sink {
	return &Sink{opt: opt, plans: make(map[*metric.Group]*plan)}
}

// Prepare asks for the server's version and makes tables if the Options say so.
func (s *Sink) Prepare(ctx context.Context) error {
	answer, err := s.ask(ctx, "SELECT version()")
	if err != nil {
		return err
	}
	if s.release, err = parseRelease(answer); err != nil {
		return &push.Retry{Slow: true, Err: fmt.Errorf("what answers at %s is no ClickHouse: %w", s.opt.Endpoint, err)}
	}
	if !s.release.since(oldest.major, oldest.minor) {
		return &push.Fatal{Err: fmt.Errorf("ClickHouse %s is too old: %s and later are known to work", s.release, oldest)}
	}
	if err := s.opt.Layout.check(s.release); err != nil {
		return &push.Fatal{Err: err}
	}
	if s.opt.Create {
		for _, statement := range s.opt.Layout.statements(s.release) {
			if _, err := s.ask(ctx, statement); err != nil {
				return err
			}
		}
	}
	return s.look(ctx)
}

// look finds out which columns there are, and adds missing ones if tables are to be made.
func (s *Sink) look(ctx context.Context) error {
	answer, err := s.ask(ctx, "SELECT table, name FROM system.columns WHERE database = '"+s.opt.Layout.Database+"' FORMAT TabSeparated")
	if err != nil {
		return err
	}
	has := make(map[string]map[string]bool)
	for line := range strings.Lines(answer) {
		table, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if has[table] == nil {
			has[table] = make(map[string]bool)
		}
		has[table][name] = true
	}
	s.wide = nil
	for i, t := range tables() {
		if len(has[t.name]) == 0 {
			return &push.Retry{Slow: true, Err: fmt.Errorf("there is no table %s.%s: let --create make it", s.opt.Layout.Database, t.name)}
		}
		var names []string
		for _, c := range t.columns {
			if c.alias != "" {
				continue
			}
			if !has[t.name][c.name] && s.opt.Create {
				if err := s.add(ctx, &t, &c, has); err != nil {
					return err
				}
			}
			if !has[t.name][c.name] {
				if f := fieldOf(c.name); t.name == processesTable && f != nil {
					continue // its values become samples
				}
				return &push.Retry{Slow: true, Err: fmt.Errorf("the table %s.%s has no column %s: let --create add it", s.opt.Layout.Database, t.name, c.name)}
			}
			if f := fieldOf(c.name); t.name == processesTable && f != nil {
				s.wide = append(s.wide, *f)
			}
			names = append(names, c.name)
		}
		s.inserts[i] = fmt.Sprintf("INSERT INTO %s.%s (%s) FORMAT RowBinary", s.opt.Layout.Database, t.name, strings.Join(names, ", "))
	}
	return nil
}

// add adds a column to a table and, in a cluster, to the table behind it.
func (s *Sink) add(ctx context.Context, t *table, c *column, has map[string]map[string]bool) error {
	for _, name := range []string{s.opt.Layout.local(t), t.name} {
		if has[name] == nil || has[name][c.name] {
			continue
		}
		kind := c.define(s.release)
		if name != s.opt.Layout.local(t) { // a table that forwards rows stores none
			kind = c.name + " " + c.plainKind(s.release)
		}
		if _, err := s.ask(ctx, fmt.Sprintf("ALTER TABLE %s.%s ADD COLUMN %s", s.opt.Layout.Database, name, kind)); err != nil {
			return err
		}
		has[name][c.name] = true
	}
	return nil
}

func fieldOf(column string) *field {
	for i := range fields() {
		if f := &fields()[i]; f.column == column {
			return f
		}
	}
	return nil
}

// NewBatch begins a batch.
func (s *Sink) NewBatch(id push.BatchID) push.Batch {
	return &batch{sink: s, id: id, info: id.Archive}
}

// planOf returns how a group becomes rows.
func (s *Sink) planOf(g *metric.Group) *plan {
	if p := s.plans[g]; p != nil {
		return p
	}
	if len(s.plans) > 4096 { // an archive of unknown origin may have any number
		clear(s.plans)
	}
	p := &plan{}
	taken := make(map[int]bool)
	if g.Indom == processDomain {
		byName := make(map[string]int, len(g.Metrics))
		for i, d := range g.Metrics {
			byName[d.Name] = i
		}
		p.cells = make([]cell, len(s.wide))
		for i := range s.wide {
			f := &s.wide[i]
			p.cells[i].col = -1
			col, ok := byName[f.metric]
			if !ok {
				continue
			}
			if factor := f.factor(g.Metrics[col]); factor != 0 {
				p.cells[i] = cell{col: col, factor: factor, typ: g.Metrics[col].Type}
				taken[col] = true
			}
		}
	}
	for i, d := range g.Metrics {
		scale := naming.Own(d).Sources[0].Scale(d)
		p.mul, p.div = append(p.mul, math.Float32bits(float32(scale.Mul))), append(p.div, math.Float32bits(float32(scale.Div)))
		p.names = append(p.names, appendText(nil, d.Name))
		if !taken[i] {
			p.loose = append(p.loose, i)
		}
	}
	s.plans[g] = p
	return p
}

// float returns the bits of a number as a 64-bit float.
func float(c *metric.Column, t metric.Type, row int) uint64 {
	if t == metric.F32 {
		return math.Float64bits(naming.Number(metric.Value{Type: t, Bits: c.Bits[row]}))
	}
	return c.Bits[row]
}

var _ push.Sink = (*Sink)(nil)
