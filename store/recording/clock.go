package recording

import (
	"cmp"
	"slices"
	"time"

	"tachograph/store/boltread"
	"tachograph/store/chunk"
	"tachograph/store/layout"
)

// How far the wall clock is believed. Between two boots it alone shows how long the machine was
// off, and within a boot it may be set. A stretch of time that only the wall clock vouches for,
// if it is more than a quarter of what is kept (at most trustAtMost), counts only after a
// further recording of length standing.
const (
	trustPart   = 4
	trustAtMost = 7 * 24 * time.Hour
	standing    = 48 * time.Hour
)

// A jump is a stretch of time that the wall clock alone vouches for: all archives before number
// before ended before it.
type jump struct {
	before int
	at     time.Time // where it began
	by     time.Duration
}

// doubt returns the last jump of the wall clock that is not to be believed yet; by is zero if
// there is none. list is in the order of recording; live are the archives being written.
func doubt(list, live []*storedArchive, rule Retention) jump {
	trust := min(rule.KeepFor/trustPart, trustAtMost)
	next, of := moment{rule.BootID, rule.Now.Wall, rule.Now.Cont}, len(list) // of is the number of the archive that next is in
	stood := time.Duration(0)                                                // of recording since the jump
	look := func(a *storedArchive, number int) (jump, bool) {
		if a.head == nil {
			return jump{}, false
		}
		spans := recordedSpans(a.path)
		for _, s := range slices.Backward(spans) {
			end, begin := moment{a.head.BootID, s.Last.Wall, s.Last.Cont}, moment{a.head.BootID, s.First.Wall, s.First.Cont}
			for _, earlier := range []moment{end, begin} {
				alone, vouched := earlier.to(next)
				if alone > trust && stood < standing {
					return jump{before: of, at: time.Unix(0, earlier.wall), by: alone}, true
				}
				stood += vouched
				next, of = earlier, number
			}
		}
		return jump{}, stood >= standing
	}
	for _, a := range live {
		if !layout.IsLiveName(a.path) {
			continue
		}
		if h, err := layout.ReadHeader(a.path); err == nil && h.Host.ID == rule.Host.ID && h.BootID == rule.BootID {
			a.head = h
			if j, end := look(a, len(list)); end {
				return j
			}
		}
	}
	for i, a := range slices.Backward(list) {
		if j, end := look(a, i); end {
			return j
		}
	}
	return jump{}
}

// A moment is a reading of the clocks in a boot.
type moment struct {
	boot       string
	wall, cont int64
}

// to returns how much of the time from m to a later moment the wall clock alone vouches for, and
// how much the continuous clock, which is never set, vouches for.
func (m moment) to(next moment) (alone, vouched time.Duration) {
	alone = time.Duration(next.wall - m.wall)
	if m.boot == next.boot && next.cont > m.cont {
		vouched = time.Duration(next.cont - m.cont)
		alone -= vouched
	}
	return alone, vouched
}

// recordedSpans returns the first and last stamps of an archive's chunks, one after the other.
// An archive that cannot be read has none, and so earns no trust.
func recordedSpans(path string) []chunk.Info {
	var spans []chunk.Info
	_ = layout.WithSnapshot(path, func(s *boltread.Snapshot) error {
		v := layout.Visitor{Index: func(_ uint32, in chunk.Info) { spans = append(spans, in) }}
		v.Visit(s, layout.BucketIndex)
		return nil
	})
	slices.SortFunc(spans, func(a, b chunk.Info) int { return cmp.Compare(a.First.Cont, b.First.Cont) })
	// Chunks of several classes cover the same time.
	var apart []chunk.Info
	for _, s := range spans {
		if n := len(apart); n == 0 || s.First.Cont > apart[n-1].Last.Cont {
			apart = append(apart, s)
		} else if s.Last.Cont > apart[n-1].Last.Cont {
			apart[n-1].Last = s.Last
		}
	}
	return apart
}

// lastSerial returns the highest serial number of the archives in a directory.
func (d *directory) lastSerial() (last uint64) {
	entries, err := d.fs.ReadDir(d.path)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !layout.IsArchiveName(e.Name()) {
			continue
		}
		if h, err := layout.ReadHeader(d.file(e.Name())); err == nil {
			last = max(last, h.Serial)
		}
	}
	return last
}
