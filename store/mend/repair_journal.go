package mend

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/fault"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// countJournals notes which ticks the journals hold, so that it can be decided
// what to take from where.
func (r *repair) countJournals() {
	r.journalled = make(map[metric.Class][]int64)
	for _, f := range r.journals {
		jr, err := journal.NewReader(f, nil)
		if err != nil || r.header != nil && r.header.ID != jr.Header().Archive {
			continue
		}
		_ = fault.Contain(func() error { // It is told when the journal is read.
			for {
				rec, err := jr.Next()
				if err != nil {
					return err
				}
				if t := rec.Tick; t != nil {
					r.journalled[t.Class] = append(r.journalled[t.Class], t.At.Cont)
				}
			}
		})
	}
}

// readJournals adds what the journals hold and no whole chunk does.
func (r *repair) readJournals() {
	if len(r.journals) == 0 && (r.totals == nil || !r.totals.Finished) {
		last := int64(0)
		for _, p := range r.pieces {
			last = max(last, p.sealed.Info.To)
		}
		switch {
		case r.sealed != nil && r.sealed.Closed:
			// The recorder was stopped: it holds everything.
		case r.sealed != nil && r.sealed.Generation > 0:
			r.lose(last, 0, "what was recorded after that: the journal, from generation %d on, is not beside it", r.sealed.Generation)
		default:
			r.lose(last, 0, "what was recorded last: the archive was not finished and has no journal")
		}
	}
	known := make(map[string]bool)
	for i := range r.allEvents {
		known[eventKey(&r.allEvents[i])] = true
	}
	j := &journalReader{repair: r, known: known, builders: make(map[metric.Class]*chunk.Builder)}
	if r.sealed != nil {
		j.seq, j.counted = r.sealed.Sealed, true
	}
	for _, piece := range r.pieces {
		j.last = max(j.last, piece.sealed.Info.To)
	}
	for i, f := range r.journals {
		if err := fault.Contain(func() error { j.file(f, i+1 == len(r.journals)); return nil }); err != nil {
			j.hurt("%s: %v", f.Name(), err)
			j.lose(j.last, 0, "what the journal %s held from here on", filepath.Base(f.Name()))
		}
	}
	for _, b := range j.builders {
		j.flush(b)
	}
}

func eventKey(e *metric.Event) string {
	return fmt.Sprintf("%d %d %s %s %s %s %v", e.At.Wall, e.At.Cont, e.Kind, e.Text, e.Indom, e.Key, e.Labels)
}

type journalReader struct {
	*repair
	known    map[string]bool
	builders map[metric.Class]*chunk.Builder
	// seq is the last record there is, if that is known; last its wall clock.
	seq     uint64
	counted bool
	last    int64
}

// file reads one generation; end says that no other follows.
func (j *journalReader) file(f *os.File, end bool) {
	st, err := f.Stat()
	if err != nil {
		j.hurt("%v", err)
		return
	}
	jr, err := journal.NewReader(f, nil)
	if errors.Is(err, io.EOF) && st.Size() == 0 {
		if j.sealed != nil && j.sealed.Generation > 0 {
			j.lose(j.last, 0, "what the journal %s held: it is empty", filepath.Base(f.Name()))
		}
		return
	}
	if err == nil && j.header != nil && j.header.ID != jr.Header().Archive {
		err = fmt.Errorf("it belongs to another archive, %s", jr.Header().Archive)
	}
	if err != nil {
		j.hurt("%s: its beginning: %v", f.Name(), err)
		j.lose(j.last, 0, "what the journal %s held", filepath.Base(f.Name()))
		return
	}
	head := jr.Header()
	if j.header == nil {
		j.header = &layout.Header{Format: layout.FormatVersion, ID: head.Archive, Created: head.At.Wall}
		j.lose(0, 0, "what the archive says about its host, boot and time zone")
	}
	if j.counted && head.Base > j.seq {
		j.lose(j.last, head.At.Wall, "%d records of the journal", head.Base-j.seq)
		j.gap(head.At, j.last, fmt.Sprintf("%d records of the journal were lost to damage", head.Base-j.seq))
	}
	j.last = max(j.last, head.At.Wall)
	for {
		rec, err := jr.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				j.hurt("%s: %v", f.Name(), err)
			}
			break
		}
		if rec.Tick != nil {
			j.last = rec.Tick.At.Wall
		}
		j.seq, j.counted = max(j.seq, rec.Seq), true
		j.take(rec)
	}
	rest := jr.Rest(st.Size())
	if rest == 0 {
		return
	}
	j.hurt("%s: %d bytes from byte %d on hold no sound record", f.Name(), rest, jr.Offset())
	if end {
		// Of earlier files, the next one's beginning tells what is missing.
		j.lose(j.last, 0, "what the journal held in its last %d bytes", rest)
	}
}

func (j *journalReader) take(rec *journal.Record) {
	switch rec.Kind {
	case journal.KindTick:
		j.tick(rec.Tick)
	case journal.KindEvent:
		if key := eventKey(rec.Event); !j.known[key] {
			j.known[key] = true
			j.allEvents = append(j.allEvents, *rec.Event)
		}
	case journal.KindDescribe:
		for _, d := range rec.Descs {
			j.cat.Number(d)
		}
	case journal.KindConfig:
		j.config = []byte(rec.Conf.Text)
		j.iv = make(map[string]int64)
		for c, d := range rec.Conf.Intervals {
			j.iv[c.String()] = int64(d)
		}
	}
}

// maxPiece bounds the chunks that are made of journals.
const maxPiece = 3600e9

func (j *journalReader) tick(t *metric.Tick) {
	if j.covered(t.Class, t.At.Cont) {
		return
	}
	b := j.builders[t.Class]
	if b == nil {
		b = chunk.NewBuilder(t.Class)
		j.builders[t.Class] = b
	}
	if n := b.Ticks(); n > 0 {
		last := b.Last().Cont
		if t.At.Cont <= last {
			return // two generations may overlap
		}
		apart := slices.ContainsFunc(j.byClass[t.Class], func(p *rebuilt) bool {
			first := p.sealed.Info.First.Cont
			return last < first && first < t.At.Cont
		})
		if apart || t.At.Cont-b.First().Cont > maxPiece || b.Memory() > 16<<20 {
			j.flush(b)
		}
	}
	j.report.Journal++
	if err := b.Append(t); err != nil {
		j.report.Journal--
		j.hurt("a tick of class %s: %v", t.Class, err)
	}
}

// flush makes a chunk of what b holds.
func (j *journalReader) flush(b *chunk.Builder) {
	if b.Ticks() == 0 {
		return
	}
	s, err := b.Seal(func(d *metric.Desc) uint32 { return j.cat.Number(j.described(d)) })
	if err != nil {
		j.lose(b.First().Wall, b.Last().Wall, "class %s: %v", b.Class(), err)
	} else {
		j.pieces = append(j.pieces, &rebuilt{sealed: s, whole: true})
	}
	b.Reset()
}

// described returns the full description of what a journal describes briefly.
func (r *repair) described(d *metric.Desc) *metric.Desc {
	for i := len(r.cat.Descs) - 1; i >= 0; i-- {
		if f := r.cat.Descs[i]; f.Name == d.Name && f.Type == d.Type && f.Sem == d.Sem && f.Units == d.Units && f.Indom == d.Indom && f.Width == d.Width {
			return f
		}
	}
	return d
}
