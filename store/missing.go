package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// missing says what a live archive lacks whose journal is not beside it: what
// was recorded after last.
func (p progress) missing(path string, last int64) error {
	return fmt.Errorf("its journal is not beside it: %s and later ones are missing, and with them what was recorded after %s; copy the files of a live archive together",
		filepath.Base(journalName(path, p.Generation)), utc(last))
}

// hole says what is missing between two journal files.
func hole(records uint64, from, to int64) error {
	return fmt.Errorf("the %d records before it are missing, %s", records, stretch(from, to))
}

// errEmptied says that a journal has lost everything.
var errEmptied = errors.New("it is empty: its beginning is written when it is made, so that what it held is lost")

// stretch is a stretch of time in words.
func stretch(from, to int64) string {
	return fmt.Sprintf("%s to %s (%s)", utc(from), utc(to), roughly(max(0, time.Duration(to-from)).Round(time.Second)))
}

func utc(wall int64) string { return time.Unix(0, wall).UTC().Format("2006-01-02 15:04:05Z") }

// last is the wall clock up to which the file of an archive holds ticks, or
// when it was made if it holds none.
func (a *archive) last() int64 {
	last := int64(0)
	for _, r := range a.chunks {
		if r.memory == nil {
			last = max(last, r.info.To)
		}
	}
	if last == 0 {
		return a.created
	}
	return last
}
