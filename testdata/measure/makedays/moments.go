package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tachograph/sample/metric"
)

// Moment is a copy of the directory of a live archive, as a reader finds it there,
// and the second of the last tick, since 1970.
type Moment struct {
	Dir string
	At  int64
}

// momentsOver is what moments are taken of: the end of the last day.
const momentsOver = time.Hour

// quiet is for how long nothing may be written before a moment is taken. In life
// there is a second between two ticks, and what a turn leaves to be done is done.
const quiet = 20 * time.Millisecond

// moment takes one, if it is time.
func (k *maker) moment(at metric.Stamp, until int64) error {
	if k.moments <= 0 || at.Cont < until-int64(momentsOver) || at.Cont < k.nextMoment {
		return nil
	}
	k.nextMoment = at.Cont + int64(k.moments)
	k.waitQuiet()
	m := Moment{filepath.Join(k.out, fmt.Sprintf("moment%03d", len(k.made.Moments))), at.Wall / 1e9}
	k.made.Moments = append(k.made.Moments, m)
	return copyDir(k.work, m.Dir)
}

func (k *maker) waitQuiet() {
	for was, since := int64(-1), time.Now(); time.Since(since) < quiet; time.Sleep(time.Millisecond) {
		if s := k.w.Status(); s.JournalWritten != was || s.Queued > 0 {
			was, since = s.JournalWritten, time.Now()
		}
	}
}

// copyDir copies the files of a directory that a reader looks at.
func copyDir(from, to string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(d.Name(), ".live") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, d.Name()), text, 0o644)
	})
}
