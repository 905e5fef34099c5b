package journal

import (
	"errors"
	"fmt"
	"io"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/fault"
)

// A Follower reads the files of one archive's journal, its generations, for
// everybody who does: the recorder that takes over what an earlier run left,
// readers beside a recorder, verify and repair. What they differ in is said by
// its fields.
//
// Who wants the generations in order calls Follow for one after the other.
// Since they stand alone, who wants them side by side calls Read for all of
// them, also again for news, and then Missing for one after the other.
type Follower struct {
	// Archive is the ID of the archive. If that is not known, the first
	// generation says it.
	Archive string
	// Seq is the last record that the archive holds, then the last one that
	// there is. Counted says that it is known.
	Seq     uint64
	Counted bool
	// Last is the wall clock of the last tick of the archive, then of all there
	// are; 0 if it is not known.
	Last int64
	// First is the first generation that the archive knows to be needed. That
	// one and those behind it had their beginning before they had their name.
	// Archives of early writers know of none, and it is 0.
	First uint64
	// All says that records which the archive holds are wanted as well.
	All bool
	// Live says that a recorder may be adding to the last generation.
	Live bool
}

// A Generation is one file of a journal.
type Generation struct {
	File   File
	Number uint64
	// Old says that another generation follows, and nobody adds to this one.
	Old bool
	// Intern makes instances, see NewDecoder; it may be nil.
	Intern func(indom, key string) *metric.Instance

	reader *Reader // nil while there is no beginning
	seq    uint64  // the last record that was read
	last   int64   // wall clock of the last tick that was read
	end    End
	still  int  // how many times there was nothing new
	over   bool // nothing more can be read, come what may
}

// Header is the generation's, if its beginning could be read.
func (g *Generation) Header() (head Header, ok bool) {
	if g.reader == nil {
		return head, false
	}
	return g.reader.Header(), true
}

// A File is what generations are read from.
type File interface {
	io.ReaderAt
	// Size is the current length in bytes.
	Size() (int64, error)
}

// A Verdict says how a generation ends.
type Verdict uint8

const (
	// Whole: with its last record.
	Whole Verdict = iota
	// CutShort: with the beginning of a record, as a crash leaves it. That one
	// was never accepted.
	CutShort
	// Damaged: with bytes that hold no record, or none that can be read.
	Damaged
	// Headless: its beginning is lost, and so is all that stood behind it.
	Headless
	// Emptied: it has lost everything.
	Emptied
	// Foreign: it is another archive's, or not for this program to read.
	Foreign
)

// An End is what stands behind the last sound record of a generation: Rest
// bytes from byte At on. Err says so, and is nil of a whole one.
type End struct {
	Verdict  Verdict
	At, Rest int64
	Err      error
}

// A Hole is records that are missing before a generation.
type Hole struct {
	Records uint64
	// From is the wall clock of the last tick before it, To when the
	// generation behind it began.
	From int64
	To   metric.Stamp
}

func (h *Hole) Error() string {
	return fmt.Sprintf("the %d records before it are missing, %s", h.Records, fault.Stretch(h.From, h.To.Wall))
}

// Follow hands the records of the next generation in order to take, each once,
// valid during the call. Before the first, lost is told what is missing.
func (f *Follower) Follow(g *Generation, take func(*Record), lost func(*Hole)) End {
	pass := func() {
		if hole := f.Missing(g); hole != nil {
			lost(hole)
		}
	}
	end := f.Read(g, func(rec *Record) {
		pass()
		take(rec)
	})
	pass()
	return end
}

// Missing returns the records that are missing between the generation before g,
// or the archive, and g; nil if none are.
func (f *Follower) Missing(g *Generation) *Hole {
	head, ok := g.Header()
	if !ok {
		return nil
	}
	var hole *Hole
	if f.Counted && head.Base > f.Seq {
		hole = &Hole{Records: head.Base - f.Seq, From: f.Last, To: head.At}
		if f.Last == 0 {
			hole.From = head.At.Wall
		}
	}
	f.Archive, f.Counted = head.Archive, true
	f.Seq, f.Last = max(f.Seq, g.seq), max(f.Last, g.last)
	return hole
}

// Of what stands behind the last record of a live journal, nothing is said
// before it has stood still for so many looks: it may be a record that is just
// being written.
const (
	looks     = 3
	lookAgain = time.Millisecond
)

// Read hands to take the records of g that are new, and says what stands behind
// them.
func (f *Follower) Read(g *Generation, take func(*Record)) End {
	for !g.over {
		was := g.end
		g.end = f.read(g, take)
		if g.still++; g.end.At != was.At || g.end.Rest != was.Rest {
			g.still = 0
		}
		if g.end.Rest == 0 || g.still >= looks || g.Old || !f.Live {
			break
		}
		time.Sleep(lookAgain)
	}
	return g.end
}

func (f *Follower) read(g *Generation, take func(*Record)) (end End) {
	if g.Number > 0 && g.Number < f.First && !f.All {
		g.over = true // the archive holds all of it, and its file may be used again
		return End{}
	}
	return f.judge(g, fault.Contain(func() error { return f.records(g, take) }))
}

// judge says what stands behind the records of g that have been read, of which err,
// if it is not nil, stopped the reading.
func (f *Follower) judge(g *Generation, err error) (end End) {
	size, e := g.File.Size()
	if err == nil {
		err = e
	}
	g.over = err != nil
	begun := g.reader != nil
	if end.Rest = size; begun {
		end.At = g.reader.Offset()
		end.Verdict, end.Rest = g.reader.behind(size)
	}
	switch {
	case !begun && (errors.Is(err, ErrNotJournal) || err == nil && end.Rest > 0):
		end.Verdict, end.Err = Headless, errors.New("its beginning is damaged or was never written whole")
	case !begun && err != nil:
		end.Verdict, end.Err = Foreign, err
	case err != nil:
		end.Verdict, end.Err = Damaged, err
	case !begun && f.First > 0 && g.Number >= f.First:
		end.Verdict, end.Err = Emptied, errors.New("it is empty: its beginning is written when it is made, so that what it held is lost")
	case end.Rest == 0:
	case !g.Old && end.Verdict == CutShort:
		end.Err = errors.New("its last record is cut short, as by a crash")
	default:
		end.Verdict, end.Err = Damaged, fmt.Errorf("%d bytes from byte %d on are damaged", end.Rest, end.At)
	}
	return end
}

// open reads the beginning of a generation.
func (f *Follower) open(g *Generation) error {
	r, err := NewReader(g.File, g.Intern)
	if err != nil {
		return err
	}
	if id := r.Header().Archive; f.Archive != "" && id != f.Archive {
		return fmt.Errorf("it belongs to another archive, %s", id)
	}
	if n := r.Header().Generation; g.Number > 0 && n != g.Number {
		return fmt.Errorf("%w of generation %d: that of generation %d stands in its place", ErrNotJournal, g.Number, n)
	}
	g.reader, g.seq = r, r.Header().Base
	return nil
}

// Next returns the next record of g that the archive does not hold, valid until the
// next call, and io.EOF where there is none yet. It does not ask what stands there:
// that costs more than reading does, and Read says it. After another error nothing
// more can be read of g.
func (f *Follower) Next(g *Generation) (rec *Record, err error) {
	if g.over {
		return nil, io.EOF
	}
	err = fault.Contain(func() (err error) {
		rec, err = f.next(g)
		return err
	})
	if err != nil && !errors.Is(err, io.EOF) {
		g.end = f.judge(g, err)
		if g.over = true; g.end.Err != nil {
			err = g.end.Err
		}
	}
	return rec, err
}

func (f *Follower) records(g *Generation, take func(*Record)) error {
	for {
		rec, err := f.next(g)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		take(rec)
	}
}

// next returns the next record that is wanted, and io.EOF where there is none, or
// where the beginning of g is not there yet.
func (f *Follower) next(g *Generation) (*Record, error) {
	if g.reader == nil {
		if err := f.open(g); err != nil {
			return nil, err
		}
	}
	for {
		rec, err := g.reader.Next()
		if err != nil {
			return nil, err
		}
		g.seq = rec.Seq
		if rec.Kind == KindTick {
			g.last = rec.Tick.At.Wall
		}
		if f.All || rec.Seq > f.Seq {
			return rec, nil
		}
	}
}
