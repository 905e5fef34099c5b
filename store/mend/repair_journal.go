package mend

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/gather"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// follower returns a Follower that reads all records of the journals, because the archive's
// copies of them may be damaged.
func (r *repair) follower() *journal.Follower {
	f := &journal.Follower{All: true}
	if r.header != nil {
		f.Archive = r.header.ID
	}
	if r.sealed != nil {
		f.Seq, f.Counted, f.First = r.sealed.Sealed, true, r.sealed.Generation
	}
	for _, p := range r.rebuilt {
		f.Last = max(f.Last, p.sealed.Info.To)
	}
	return f
}

func (r *repair) generation(i int) *journal.Generation {
	g := &journal.Generation{File: r.journals[i], Old: i+1 < len(r.journals)}
	_, g.Number, _ = layout.ParseJournalName(strings.TrimSuffix(filepath.Base(r.journals[i].Name()), layout.DamagedSuffix))
	return g
}

// countJournals notes which ticks the journals hold, so that each can be taken from the better
// source. readJournals reports how the journals end.
func (r *repair) countJournals() {
	r.journalled = make(map[metric.Class][]int64)
	follow := r.follower()
	for i := range r.journals {
		follow.Follow(r.generation(i), func(rec *journal.Record) {
			if t := rec.Tick; t != nil {
				r.journalled[t.Class] = append(r.journalled[t.Class], t.At.Cont)
			}
		}, func(*journal.Hole) {})
	}
}

// readJournals adds the ticks and events of the journals that no whole chunk holds.
func (r *repair) readJournals() {
	j := &journalReader{repair: r, known: make(map[string]bool), taken: gather.NewIntake(r.cat.Descs), follow: r.follower()}
	if len(r.journals) == 0 && (r.totals == nil || !r.totals.Finished) {
		switch {
		case r.sealed != nil && r.sealed.Closed:
			// The recorder was stopped: the archive holds everything.
		case r.sealed != nil && r.sealed.Generation > 0:
			r.lose(j.follow.Last, 0, "what was recorded after that: the journal, from generation %d on, is not beside it", r.sealed.Generation)
		default:
			r.lose(j.follow.Last, 0, "what was recorded last: the archive was not finished and has no journal")
		}
	}
	for i := range r.allEvents {
		j.known[eventKey(&r.allEvents[i])] = true
	}
	for i, f := range r.journals {
		j.file(j.generation(i), f.Name())
	}
	for _, d := range j.taken.Descs {
		r.cat.Number(d)
	}
	j.settle()
	for _, b := range j.taken.Builders {
		j.flush(b)
	}
	r.allEvents = slices.AppendSeq(r.allEvents, j.taken.Events.All())
	if conf := j.taken.Conf; conf != nil {
		r.config, r.intervals = conf.Text, conf.Intervals
	}
}

func eventKey(e *metric.Event) string {
	return fmt.Sprintf("%d %d %s %s %s %s %v", e.At.Wall, e.At.Cont, e.Kind, e.Text, e.Indom, e.Key, e.Labels)
}

type journalReader struct {
	*repair
	known  map[string]bool // events
	taken  *gather.Intake
	follow *journal.Follower
	// flushed holds the continuous clocks of the last ticks that are already in chunks.
	flushed [metric.NumClasses]int64
}

// file reads one generation.
func (j *journalReader) file(g *journal.Generation, name string) {
	g.Intern = j.taken.Intern
	end := j.follow.Follow(g, j.take, func(h *journal.Hole) {
		j.lose(h.From, h.To.Wall, "%d records of the journal", h.Records)
		j.gap(h.To, h.From, fmt.Sprintf("%d records of the journal were lost to damage", h.Records))
	})
	if head, ok := g.Header(); ok && j.header == nil {
		j.header = &layout.Header{Format: layout.FormatVersion, ID: head.Archive, Created: head.At.Wall}
		j.lose(0, 0, "what the archive says about its host, boot and time zone")
	}
	if end.Err != nil {
		j.hurt("%s: %v", name, end.Err)
	}
	last := j.follow.Last
	name = filepath.Base(name)
	switch end.Verdict {
	case journal.Emptied:
		j.lose(last, 0, "what the journal %s held: it is empty", name)
	case journal.Headless, journal.Foreign:
		j.lose(last, 0, "what the journal %s held", name)
	case journal.CutShort, journal.Damaged:
		if !g.Old { // else the next one's beginning shows what is missing
			j.lose(last, 0, "what the journal held in its last %d bytes", end.Rest)
		}
	}
}

func (j *journalReader) take(rec *journal.Record) {
	switch {
	case rec.Kind == journal.KindLate && !j.wantsLate(rec.Tick), rec.Kind == journal.KindTick && !j.wants(rec.Tick):
		return
	}
	if rec.Event != nil {
		key := eventKey(rec.Event)
		if j.known[key] {
			return
		}
		j.known[key] = true
	}
	if err := j.taken.Take(rec); err != nil {
		j.hurt("%v", err)
	} else if rec.Tick != nil {
		j.report.Journal++
	}
}

// maxPiece limits the time that a chunk made of journals covers.
const maxPiece = 3600e9

// wants reports whether the repair takes t. If t does not fit into one chunk with the ticks before
// it, wants makes a chunk of those first.
func (j *journalReader) wants(t *metric.Tick) bool {
	b := j.taken.Builders[t.Class]
	if j.covered(t.Class, t.At.Cont) {
		return false
	}
	if b == nil {
		return true
	}
	last := b.Last().Cont
	if t.At.Cont <= last {
		return false // two generations may overlap
	}
	apart := slices.ContainsFunc(j.byClass[t.Class], func(p *rebuilt) bool {
		first := p.sealed.Info.First.Cont
		return last < first && first < t.At.Cont
	})
	if apart || t.At.Cont-b.First().Cont > maxPiece || b.Memory() > 16<<20 {
		j.settle()
		j.flush(j.taken.Builders[t.Class])
	}
	return true
}

// wantsLate is wants for a late tick. It is taken if no chunk lies between it and the ticks that
// were taken.
func (j *journalReader) wantsLate(t *metric.Tick) bool {
	b := j.taken.Builders[t.Class]
	if b == nil || j.covered(t.Class, t.At.Cont) {
		return false
	}
	return !slices.ContainsFunc(j.byClass[t.Class], func(p *rebuilt) bool {
		first := p.sealed.Info.First.Cont
		return t.At.Cont < first && first < b.First().Cont
	}) && t.At.Cont > j.flushed[t.Class]
}

// settle sorts late ticks in among the others.
func (j *journalReader) settle() {
	if err := j.taken.Settle(); err != nil {
		j.hurt("%v", err)
	}
}

// flush makes a chunk of the ticks in b.
func (j *journalReader) flush(b *chunk.Builder) {
	if b == nil {
		return
	}
	s, err := b.Seal(j.cat.Number)
	if err != nil {
		j.lose(b.First().Wall, b.Last().Wall, "class %s: %v", b.Class(), err)
	} else {
		j.rebuilt = append(j.rebuilt, &rebuilt{sealed: s, whole: true})
	}
	j.flushed[b.Class()] = b.Last().Cont
	j.taken.Builders[b.Class()] = nil
}
