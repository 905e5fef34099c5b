package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/layout"
)

// Moment is a copy of the directory of a live archive, as a reader finds it, with the second of
// the last tick since 1970.
type Moment struct {
	Dir string
	At  int64
}

// momentsOver is the end of the last day, from which moments are taken.
const momentsOver = time.Hour

// quiet is how long nothing may be written before a moment is taken. A real recorder has a
// second between two ticks, in which it finishes its work.
const quiet = 20 * time.Millisecond

// moment takes a moment, if it is time; left is how long the day still lasts.
func (k *maker) moment(at metric.Stamp, left int64) error {
	if k.moments <= 0 || left > int64(momentsOver) || at.Cont < k.nextMoment {
		return nil
	}
	k.nextMoment = at.Cont + int64(k.moments)
	m := Moment{filepath.Join(k.out, fmt.Sprintf("moment%03d", len(k.made.Moments))), at.Wall / 1e9}
	k.made.Moments = append(k.made.Moments, m)
	for {
		k.waitQuiet()
		before, err := liveFiles(k.work)
		if err != nil {
			return err
		}
		err = copyFiles(k.work, m.Dir, before)
		after, listErr := liveFiles(k.work)
		if err == nil && listErr == nil && slices.Equal(before, after) {
			return nil
		}
		// The writer renamed or removed a file meanwhile.
		if err != nil && !errors.Is(err, fs.ErrNotExist) || listErr != nil {
			return errors.Join(err, listErr)
		}
		if err := os.RemoveAll(m.Dir); err != nil {
			return err
		}
	}
}

func (k *maker) waitQuiet() {
	for was, since := int64(-1), time.Now(); time.Since(since) < quiet; time.Sleep(time.Millisecond) {
		if s := k.w.Status(); s.JournalWritten != was || s.Queued > 0 {
			was, since = s.JournalWritten, time.Now()
		}
	}
}

// liveFiles returns the names of the files in dir that a reader of a live archive reads.
func liveFiles(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.Contains(e.Name(), layout.LiveSuffix) && !strings.HasSuffix(e.Name(), layout.TmpSuffix) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// copyFiles copies files of a directory into a new one.
func copyFiles(from, to string, names []string) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
