// Package gather collects what is recorded, from a recorder or from a journal, until it becomes
// chunks and records of an archive.
package gather

import (
	"fmt"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/journal"
)

// A Batch is what has been collected: ticks in a builder for each class, events,
// additions to the catalogue and the latest configuration.
type Batch struct {
	Builders [metric.NumClasses]*chunk.Builder // nil where there is no tick
	Events   Events
	Descs    []*metric.Desc
	Conf     *journal.Config

	// late are ticks that came late, until Settle merges them with the others. since are the
	// continuous clocks up to which late ticks come too late.
	late  [metric.NumClasses]*chunk.Builder
	since [metric.NumClasses]int64
}

// Tick adds a tick. It refuses a tick that contradicts itself, which changes nothing.
func (b *Batch) Tick(t *metric.Tick) error {
	if t.Class >= metric.NumClasses {
		return fmt.Errorf("tick of unknown class %d", t.Class)
	}
	to := b.Builders[t.Class]
	if to == nil {
		to = chunk.NewBuilder(t.Class)
	}
	err := to.Append(t)
	if err == nil {
		b.Builders[t.Class] = to
	}
	return err
}

// Still returns which values stand still in t, the tick that was added last. The result is
// valid until the next call with the same room.
func (b *Batch) Still(t *metric.Tick, room *journal.Still) *journal.Still {
	room.Since = room.Since[:0]
	for i, blk := range t.Blocks {
		if i == len(room.Rows) {
			room.Rows = append(room.Rows, nil)
		}
		var since metric.Stamp
		since, room.Rows[i] = b.Builders[t.Class].Still(blk.Group, room.Rows[i][:0])
		room.Since = append(room.Since, since)
	}
	return room
}

// Memory returns roughly how many bytes of memory the ticks and events take.
func (b *Batch) Memory() int64 {
	n := b.Events.Memory()
	for c, to := range b.Builders {
		for _, to := range [...]*chunk.Builder{to, b.late[c]} {
			if to != nil {
				n += to.Memory()
			}
		}
	}
	return n
}

// Standing returns how many of these bytes the present instances take, however few ticks there
// are.
func (b *Batch) Standing() (n int64) {
	for _, to := range b.Builders {
		if to != nil {
			n += to.Standing()
		}
	}
	return n
}

// Cells counts the cells of one tick of each class.
func (b *Batch) Cells() (n int64) {
	for _, to := range b.Builders {
		if to != nil {
			n += to.Cells()
		}
	}
	return n
}

// Values counts the cells of the ticks.
func (b *Batch) Values() (n int64) {
	for c, to := range b.Builders {
		for _, to := range [...]*chunk.Builder{to, b.late[c]} {
			if to != nil {
				n += to.Values()
			}
		}
	}
	return n
}

// First returns when the first tick was, if there is one.
func (b *Batch) First() (first metric.Stamp, ok bool) {
	for c, to := range b.Builders {
		for _, to := range [...]*chunk.Builder{to, b.late[c]} {
			if to != nil && (!ok || to.First().Cont < first.Cont) {
				first, ok = to.First(), true
			}
		}
	}
	return first, ok
}

// Empty reports whether b holds nothing.
func (b *Batch) Empty() bool {
	none := [metric.NumClasses]*chunk.Builder{}
	return b.Builders == none && b.late == none && b.Events.Empty() && len(b.Descs) == 0 && b.Conf == nil
}

// Known are the latest descriptions of a catalogue by name. A journal omits from descriptions
// what values do not need.
type Known map[string]*metric.Desc

// Learn adds descriptions to k; a nil one is lost.
func (k Known) Learn(ds []*metric.Desc) {
	for _, d := range ds {
		if d != nil {
			k[d.Name] = d
		}
	}
}

// Complete returns the description that k has for d, or d.
func (k Known) Complete(d *metric.Desc) *metric.Desc {
	full := k[d.Name]
	if full != nil && full.Type == d.Type && full.Sem == d.Sem && full.Units == d.Units && full.Indom == d.Indom &&
		full.Class == d.Class && full.Width == d.Width && full.Clamped == d.Clamped {
		return full
	}
	return d
}

// An Intake collects what a journal holds. Generations that are read separately have an Intake
// each.
type Intake struct {
	Batch
	known Known
	done  map[*metric.Group]bool
	insts map[[2]string]*metric.Instance
}

// NewIntake returns an Intake for the journal of an archive with this catalogue, whose entries
// may be nil where they are lost.
func NewIntake(catalog []*metric.Desc) *Intake {
	in := &Intake{known: make(Known), done: make(map[*metric.Group]bool), insts: make(map[[2]string]*metric.Instance)}
	in.known.Learn(catalog)
	return in
}

// Intern returns the one instance with that key: the same in all generations.
func (in *Intake) Intern(indom, key string) *metric.Instance {
	at := [2]string{indom, key}
	i := in.insts[at]
	if i == nil {
		i = &metric.Instance{ID: uint64(len(in.insts)) + 1, Key: key}
		in.insts[at] = i
	}
	return i
}

// Take adds a record. It leaves out a tick that contradicts itself, and returns an error for
// it.
func (in *Intake) Take(rec *journal.Record) error {
	switch rec.Kind {
	case journal.KindTick:
		in.Complete(rec.Tick)
		if err := in.Tick(rec.Tick); err != nil {
			return fmt.Errorf("record %d: %w", rec.Seq, err)
		}
	case journal.KindLate:
		in.Complete(rec.Tick)
		if err := in.Late(rec.Tick); err != nil {
			return fmt.Errorf("record %d: %w", rec.Seq, err)
		}
	case journal.KindEvent:
		in.Events.Add(rec.Event)
	case journal.KindDescribe:
		in.Descs = append(in.Descs, rec.Descs...)
		in.known.Learn(rec.Descs)
	case journal.KindConfig:
		in.Conf = rec.Conf
	}
	return nil
}

// Complete gives the metrics of a tick their descriptions from the catalogue.
func (in *Intake) Complete(t *metric.Tick) {
	for _, b := range t.Blocks {
		if in.done[b.Group] {
			continue
		}
		in.done[b.Group] = true
		for i, d := range b.Group.Metrics {
			b.Group.Metrics[i] = in.known.Complete(d)
		}
	}
}
