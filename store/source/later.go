package source

import (
	"errors"
	"sync"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/journal"
)

// later holds the ticks of a generation whose rows are decoded only when a question opens their
// chunk: most questions need the rows of few classes.
type later struct {
	outlines [metric.NumClasses]*chunk.Outline // nil where there is no tick
	halves   [journal.Halves]waiting
	any      bool
	// late says that there are late ticks. They belong between others, which must then be decoded
	// at once.
	late bool
}

// waiting are the ticks of a half that have not been decoded.
type waiting struct {
	mu    sync.Mutex
	ticks []*journal.Later
	err   error
}

// take keeps the record if it is a tick without rows.
func (l *later) take(rec *journal.Record) bool {
	l.late = l.late || rec.Kind == journal.KindLate
	if rec.Later == nil {
		return false
	}
	o := l.outlines[rec.Tick.Class]
	if o == nil {
		o = new(chunk.Outline)
		l.outlines[rec.Tick.Class] = o
	}
	o.Add(rec.Tick)
	w := &l.halves[rec.Later.Half()]
	w.ticks = append(w.ticks, rec.Later)
	l.any = true
	return true
}

// decode takes in the ticks of a half that wait.
func (f *tailFile) decode(half int) error {
	w := &f.later.halves[half]
	w.mu.Lock()
	defer w.mu.Unlock()
	var t metric.Tick
	for _, l := range w.ticks {
		if err := l.Decode(&t); err != nil {
			w.err = errors.Join(w.err, err)
			break
		}
		if err := f.taken.Tick(&t); err != nil {
			w.err = errors.Join(w.err, err)
		}
	}
	w.ticks = nil
	return w.err
}

// presentLater makes chunks of what f holds that are decoded when they are opened.
func (f *tailFile) presentLater(number func(*metric.Desc) uint32) {
	for class, o := range f.later.outlines {
		if o == nil {
			continue
		}
		l := &archive.Later{Make: sync.OnceValues(func() (*chunk.Chunk, error) { return f.makeChunk(metric.Class(class), number) })}
		for _, g := range o.Groups() {
			lg := archive.LaterGroup{Indom: g.Indom, Metrics: make([]uint32, len(g.Metrics))}
			for i, d := range g.Metrics {
				lg.Metrics[i] = number(d)
			}
			l.Groups = append(l.Groups, lg)
		}
		f.chunks = append(f.chunks, &archive.Beside{Info: o.Info(number), Later: l})
	}
}

// makeChunk makes the chunk of a class.
func (f *tailFile) makeChunk(class metric.Class, number func(*metric.Desc) uint32) (*chunk.Chunk, error) {
	if err := f.decode(journal.HalfOf(class)); err != nil {
		return nil, f.wrong(err)
	}
	c, _, err := f.taken.Builders[class].Present(number)
	return c, err
}
