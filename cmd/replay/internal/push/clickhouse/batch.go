package clickhouse

import (
	"context"
	"encoding/json"

	"tachograph/cmd/replay/internal/naming"
	"tachograph/cmd/replay/internal/push"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/query"
)

// A batch is rows of all tables, from one archive.
type batch struct {
	sink   *Sink
	id     push.BatchID
	info   *archive.Info
	bodies [tableCount]body
	values int
	told   told
}

const tableCount = 7

// Add adds the rows of an item.
func (b *batch) Add(item *archive.Item) error {
	if item.Archive != nil {
		b.info = item.Archive
	}
	switch {
	case item.Tick != nil:
		b.machine(item.Tick.At.Wall)
		b.tick(item.Tick)
	case item.Event != nil:
		b.machine(item.Event.At.Wall)
		b.event(item.Event)
	}
	return nil
}

// Size returns how large the batch is. It is called when everything has been added.
func (b *batch) Size() (values, bytes int) {
	for i := range b.bodies {
		b.bodies[i].seal()
		bytes += len(b.bodies[i].sealed)
	}
	return b.values, bytes
}

func (b *batch) body(name string) *body { return &b.bodies[numberOf()[name]] }

// machine adds the row of the host and its archive, the first time.
func (b *batch) machine(wall int64) {
	if !b.sink.tell(&b.told, [2]string{b.info.Host.ID, b.info.ID}) {
		return
	}
	h := &b.info.Host
	intervals, err := json.Marshal(b.info.Intervals)
	if err != nil {
		intervals = nil // numbers can always be encoded
	}
	to := b.body(archivesTable)
	r := appendText(appendText(to.raw, h.ID), b.info.ID)
	r = appendU32(appendU32(r, second(wall)), second(b.info.From))
	for _, s := range []string{h.Name, h.OS, h.Release, h.Arch, h.Model, h.Platform, b.info.BootID, b.info.TimeZone, b.info.Recorder, b.info.Config, string(intervals)} {
		r = appendText(r, s)
	}
	to.raw = appendLabels(r, h.Labels)
	to.done()
}

// describe adds the row of a metric's description, the first time.
func (b *batch) describe(d *metric.Desc, wall int64) {
	if !b.sink.tell(&b.told, d) {
		return
	}
	own := naming.Own(d)
	to := b.body(metricsTable)
	r := to.raw
	for _, s := range []string{d.Name, b.info.Host.Platform, d.Class.String(), d.Type.String(), d.Sem.String(), d.Units.String(), d.Indom} {
		r = appendText(r, s)
	}
	r = appendU32(r, second(wall))
	pmid := ""
	if d.PMID != 0 {
		pmid = d.PMID.String()
	}
	for _, s := range []string{b.info.Host.ID, pmid, d.Help, d.Source, d.Unsupported} {
		r = appendText(r, s)
	}
	r = append(r, uint8(d.Bits()))
	to.raw = appendText(r, own.Unit)
	to.done()
}

// introduce adds the row of an instance, the first time and when it has a new name.
func (b *batch) introduce(indom string, in *metric.Instance, wall int64) {
	if !b.sink.meet(&b.told, in) {
		return
	}
	boot := ""
	if metric.PerBoot(indom) {
		boot = b.info.BootID
	}
	to := b.body(instancesTable)
	r := to.raw
	for _, s := range []string{b.info.Host.ID, indom, in.Key, boot, in.Name, in.UserID()} {
		r = appendText(r, s)
	}
	r = appendI64(appendU32(r, second(wall)), in.Began())
	to.raw = appendLabels(r, in.Labels)
	to.done()
}

func (b *batch) tick(t *metric.Tick) {
	n := t.Values()
	b.values += n
	to := b.body(ticksTable)
	r := appendText(to.raw, b.info.Host.ID)
	r = appendText(r, t.Class.String())
	r = appendU32(r, second(t.At.Wall))
	r = appendText(r, b.info.BootID)
	r = appendI64(appendI64(appendI64(r, t.At.Cont), t.At.Wall), t.At.Awake)
	to.raw = appendU32(appendText(r, b.info.ID), uint32(n))
	to.done()
	for _, block := range t.Blocks {
		b.block(t, block)
	}
}

func (b *batch) block(t *metric.Tick, block *metric.Block) {
	p := b.sink.planOf(block.Group)
	for _, d := range block.Group.Metrics {
		b.describe(d, t.At.Wall)
	}
	for row, in := range block.Rows {
		if in != nil {
			b.introduce(block.Group.Indom, in, t.At.Wall)
		}
		if p.cells != nil && in != nil {
			b.process(t, block, p, row, in)
		}
		for _, col := range p.loose {
			b.sample(block, p, col, row, in)
		}
	}
}

// sample adds a value as a row of its own.
func (b *batch) sample(block *metric.Block, p *plan, col, row int, in *metric.Instance) {
	d := block.Group.Metrics[col]
	to := b.body(samplesTable)
	r := append(to.raw, p.names[col]...)
	r = appendText(r, b.info.Host.ID)
	if in == nil {
		r = append(r, 0, 0)
	} else {
		r = appendText(appendText(r, in.Key), in.Name)
	}
	r = appendU32(r, second(block.At.Wall))
	r = appendText(r, b.info.BootID)
	r = appendI64(appendI64(r, block.At.Cont), block.At.Wall)
	r = append(r, uint8(d.Type))
	c := &block.Cols[col]
	if c.Miss != nil && c.Miss[row] != metric.Present {
		r = append(r, noNumber[:]...)
		r = append(r, 0)
		r = appendText(r, c.Miss[row].String())
	} else {
		switch kindOf(d.Type) {
		case "UInt64":
			r = append(appendU64(r, c.Bits[row]), noNumber[:16]...)
			r = append(r, 0, 0)
		case "Int64":
			r = append(r, noNumber[:8]...)
			r = append(appendU64(r, c.Bits[row]), noNumber[:8]...)
			r = append(r, 0, 0)
		case "Float64":
			r = append(r, noNumber[:16]...)
			r = appendU64(r, float(c, d.Type, row))
			r = append(r, 0, 0)
		default:
			r = append(r, noNumber[:]...)
			r = append(appendText(r, c.Word(row)), 0)
		}
	}
	to.raw = appendU32(appendU32(r, p.mul[col]), p.div[col])
	to.done()
}

var noNumber [24]byte

// process adds a reading of a process as a row.
func (b *batch) process(t *metric.Tick, block *metric.Block, p *plan, row int, in *metric.Instance) {
	to := b.body(processesTable)
	r := appendText(to.raw, query.ProcessName(in))
	r = appendText(appendText(r, b.info.Host.ID), in.Key)
	r = appendU32(r, second(block.At.Wall))
	r = appendText(r, b.info.BootID)
	r = appendI64(r, block.At.Cont)
	r = appendText(r, t.Class.String())
	r = appendI64(r, block.At.Wall)
	r = appendU32(r, uint32(query.ProcessID(in)))
	r = appendText(r, in.UserID())
	r = appendI64(r, in.Began())
	b.sink.absent, b.sink.reasons = b.sink.absent[:0], b.sink.reasons[:0]
	for i := range p.cells {
		if c := &p.cells[i]; c.col >= 0 {
			if col := &block.Cols[c.col]; col.Miss != nil && col.Miss[row] != metric.Present {
				b.sink.absent = append(b.sink.absent, block.Group.Metrics[c.col].Name)
				b.sink.reasons = append(b.sink.reasons, col.Miss[row].String())
			}
		}
	}
	r = appendTexts(appendTexts(r, b.sink.absent), b.sink.reasons)
	var large []int
	for i := range p.cells {
		c := &p.cells[i]
		if c.col < 0 {
			r = append(r, 1)
			continue
		}
		col := &block.Cols[c.col]
		switch {
		case col.Miss != nil && col.Miss[row] != metric.Present:
			r = append(r, 1)
		case c.typ == metric.String:
			r = appendText(append(r, 0), col.Word(row))
		case c.typ.Float():
			r = appendU64(append(r, 0), float(col, c.typ, row))
		case !fits(col.Bits[row], c.factor):
			large = append(large, c.col)
			r = append(r, 1)
		default:
			r = appendU64(append(r, 0), col.Bits[row]*c.factor)
		}
	}
	to.raw = r
	to.done()
	for _, col := range large {
		b.sample(block, p, col, row, in)
	}
}

func (b *batch) event(e *metric.Event) {
	to := b.body(eventsTable)
	r := appendText(appendText(to.raw, string(e.Kind)), b.info.Host.ID)
	r = appendU32(r, second(e.At.Wall))
	r = appendText(r, b.info.BootID)
	r = appendI64(appendI64(appendI64(r, e.At.Cont), e.At.Wall), e.At.Awake)
	for _, s := range []string{b.info.ID, e.Indom, e.Key, e.Text} {
		r = appendText(r, s)
	}
	to.raw = appendLabels(r, e.Labels)
	to.done()
}

// Send sends the rows, table by table; tables that others refer to come first.
func (b *batch) Send(ctx context.Context) error {
	for i := range b.bodies {
		body := &b.bodies[i]
		if body.seal(); body.rows == 0 {
			continue
		}
		if err := b.sink.insert(ctx, i, body, b.id.String()); err != nil {
			return err
		}
	}
	b.sink.took(&b.told)
	return nil
}
