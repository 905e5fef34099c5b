package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"tachograph/store/journal"
)

// journal decodes every record of a journal.
func (v *verifier) journal(f *os.File) {
	live, _, _ := parseJournalName(filepath.Base(v.path))
	r, err := journal.NewReader(f, nil)
	if err != nil {
		if st, e := f.Stat(); errors.Is(err, io.EOF) && e == nil && st.Size() == 0 {
			return // it was begun, and nothing was recorded in it
		}
		v.add("beginning", 0, 0, fmt.Errorf("it is damaged or was never written whole: %w", err))
		return
	}
	seq, known := v.sealed[live]
	if base := r.Header().Base; known && base > seq {
		v.add("beginning", 0, 0, fmt.Errorf("the %d records before it are missing", base-seq))
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
				v.add(fmt.Sprintf("byte %d", r.Offset()), last, last, err)
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
	if rest > 0 {
		v.add(fmt.Sprintf("byte %d", r.Offset()), last, last, fmt.Errorf("%d bytes behind the last sound record: one was cut short, or is damaged", rest))
	}
}
