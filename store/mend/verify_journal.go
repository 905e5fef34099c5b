package mend

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tachograph/store/journal"
	"tachograph/store/layout"
)

// missingJournal tells that the archive at v.path lacks the journal that it says
// it has. open are the files that were looked at.
func (v *verifier) missingJournal(open []*os.File) {
	own := v.owner[filepath.Base(v.path)]
	if own == nil || own.finished || own.progress.Generation == 0 {
		return
	}
	want := layout.JournalName(v.path, own.progress.Generation)
	if slices.ContainsFunc(open, func(f *os.File) bool { return f != nil && f.Name() == want }) {
		return
	}
	if _, err := os.Lstat(want); err == nil {
		return // begun meanwhile
	}
	if now, err := layout.ReadProgress(v.path); err != nil || now != own.progress {
		return // the writer went on meanwhile
	}
	v.add("journal", 0, 0, own.progress.Missing(v.path, own.last))
}

// journal decodes every record of a journal.
func (v *verifier) journal(f *os.File) {
	live, generation, _ := layout.ParseJournalName(filepath.Base(v.path))
	own := v.owner[live]
	r, err := journal.NewReader(f, nil)
	if err != nil {
		if st, e := f.Stat(); errors.Is(err, io.EOF) && e == nil && st.Size() == 0 {
			if own != nil && own.progress.Generation > 0 && generation >= own.progress.Generation {
				v.add("beginning", own.last, 0, journal.ErrEmptied)
			}
			return // an early writer began it, and recorded nothing in it
		}
		v.add("beginning", 0, 0, fmt.Errorf("it is damaged or was never written whole: %w", err))
		return
	}
	if own != nil && own.id != "" && r.Header().Archive != own.id {
		v.add("beginning", 0, 0, fmt.Errorf("it belongs to another archive, %s", r.Header().Archive))
		return
	}
	seq, known := v.sealed[live]
	if head := r.Header(); known && head.Base > seq {
		from := head.At.Wall
		if own != nil {
			from = own.last
		}
		v.add("beginning", from, head.At.Wall, journal.Hole(head.Base-seq, from, head.At.Wall))
	}
	seq = max(seq, r.Header().Base)
	var last, rest int64
	// What stands behind the last sound record may be one that is just being
	// written.
	for still := 0; still < 3; still++ {
		for {
			rec, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				v.add(fmt.Sprintf("byte %d", r.Offset()), last, 0, err)
				return
			}
			if rec.Tick != nil {
				last = rec.Tick.At.Wall
			}
			seq, still = max(seq, rec.Seq), 0
		}
		st, err := f.Stat()
		if err != nil {
			v.add("file", 0, 0, err)
			return
		}
		if rest = r.Rest(st.Size()); rest == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if known {
		v.sealed[live] = seq
	}
	if own != nil {
		own.last = max(own.last, last)
	}
	if rest > 0 {
		v.add(fmt.Sprintf("byte %d", r.Offset()), last, 0, fmt.Errorf("%d bytes behind the last sound record: one was cut short, or is damaged", rest))
	}
}
