package journal

import (
	"errors"
	"fmt"
	"io"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/fault"
)

// A Follower reads the files of one archive's journal, its generations. The recorder that takes
// over after an earlier run uses it, and so do readers beside a recorder, verify and repair. Its
// fields hold the differences between these.
//
// To read the generations in order, call Follow for one after the other. Each generation can be
// read alone: to read them side by side, call Read for all of them, again for later records, and
// then Missing for one after the other.
type Follower struct {
	// Archive is the ID of the archive. If it is empty, the first generation sets it.
	Archive string
	// Seq is the last record that the archive holds, later the last one that there is. Counted
	// means that Seq is known.
	Seq     uint64
	Counted bool
	// Last is the wall clock of the archive's last tick, later of the last tick of all; 0 if it
	// is not known.
	Last int64
	// First is the first generation that the archive says is needed. The files of that one and
	// of the later ones got their beginning before their name. Archives of early writers do not
	// say, and it is 0.
	First uint64
	// All means that Read also hands out records that the archive holds.
	All bool
	// Live means that a recorder may be adding to the last generation.
	Live bool
}

// A Generation is one file of a journal.
type Generation struct {
	File   File
	Number uint64
	// Old means that another generation follows, so this one no longer grows.
	Old bool
	// Intern makes instances, see NewDecoder; it may be nil.
	Intern func(indom, key string) *metric.Instance
	// Later says that the rows of ticks are left for later, where the format allows it.
	Later bool

	reader *Reader // nil while there is no beginning
	seq    uint64  // the last record that was read
	last   int64   // wall clock of the last tick that was read
	end    End
	still  int  // how many times in a row nothing was new
	over   bool // nothing more can be read, whatever happens
}

// Header returns the generation's header, if its beginning could be read.
func (g *Generation) Header() (head Header, ok bool) {
	if g.reader == nil {
		return head, false
	}
	return g.reader.Header(), true
}

// A File is the file of a generation.
type File interface {
	io.ReaderAt
	// Size returns the current length in bytes.
	Size() (int64, error)
}

// A Verdict says how a generation ends.
type Verdict uint8

const (
	// Whole: it ends with its last record.
	Whole Verdict = iota
	// CutShort: it ends with the beginning of a record, as after a crash. That record was never
	// accepted.
	CutShort
	// Damaged: it ends with bytes that hold no record, or none that can be read.
	Damaged
	// Headless: its beginning is lost, and so is everything behind that.
	Headless
	// Emptied: it has lost everything.
	Emptied
	// Foreign: it belongs to another archive, or this program cannot read its format.
	Foreign
)

// An End describes what follows the last sound record of a generation: Rest bytes from byte At
// on. Err describes the problem, and is nil for a whole generation.
type End struct {
	Verdict  Verdict
	At, Rest int64
	Err      error
}

// A Hole is a run of records that are missing before a generation.
type Hole struct {
	Records uint64
	// From is the wall clock of the last tick before the hole, To is when the generation behind
	// it began.
	From int64
	To   metric.Stamp
}

func (h *Hole) Error() string {
	return fmt.Sprintf("the %d records before it are missing, %s", h.Records, fault.Stretch(h.From, h.To.Wall))
}

// Follow passes the records of the next generation in order to take, each once, valid during the
// call. Before the first, it calls lost if records are missing.
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

// Missing returns the records that are missing between the generation before g, or the archive,
// and g; nil if none are.
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

// Bytes behind the last record of a live journal are judged only after they have stayed the same
// for so many looks: they may be a record that is just being written.
const (
	looks     = 3
	lookAgain = time.Millisecond
)

// Read passes the new records of g to take, and returns what follows them.
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
		g.over = true // the archive holds all of it, and its file may be in use again
		return End{}
	}
	return f.judge(g, fault.Contain(func() error { return f.records(g, take) }))
}

// judge returns what follows the records of g that have been read. err, if it is not nil, is the
// error that stopped the reading.
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

// open reads the beginning of a generation. room is a buffer to use, which may be nil.
func (f *Follower) open(g *Generation, room []byte) error {
	r, err := NewReader(g.File, g.Intern, room)
	if err != nil {
		return err
	}
	r.later = g.Later
	if id := r.Header().Archive; f.Archive != "" && id != f.Archive {
		return fmt.Errorf("it belongs to another archive, %s", id)
	}
	if n := r.Header().Generation; g.Number > 0 && n != g.Number {
		return fmt.Errorf("%w of generation %d: that of generation %d stands in its place", ErrNotJournal, g.Number, n)
	}
	g.reader, g.seq = r, r.Header().Base
	return nil
}

// Next returns the next record of g that the archive does not hold, valid until the next call,
// and io.EOF if there is none yet. It does not examine the bytes that follow, because that costs
// more than reading does; Read does. After another error nothing more can be read from g.
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

// next returns the next record that is not in the archive, or any if f.All is set, and io.EOF if
// there is none, or if g has no beginning yet.
func (f *Follower) next(g *Generation) (*Record, error) {
	if g.reader == nil {
		if err := f.open(g, nil); err != nil {
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
