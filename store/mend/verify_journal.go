package mend

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"tachograph/store/journal"
	"tachograph/store/layout"
)

// missingJournal reports that the archive at v.path lacks a journal that it should have. open
// are the files that were checked.
func (v *verifier) missingJournal(open []*layout.File) {
	own := v.owner[filepath.Base(v.path)]
	if own == nil || own.finished || own.progress.Generation == 0 {
		return
	}
	want := layout.JournalName(v.path, own.progress.Generation)
	if slices.ContainsFunc(open, func(f *layout.File) bool { return f != nil && f.Name() == want }) {
		return
	}
	if _, err := os.Lstat(want); err == nil {
		return // it appeared meanwhile
	}
	if now, err := layout.ReadProgress(v.path); err != nil || now != own.progress {
		return // the writer went on meanwhile
	}
	if finished(v.path) {
		return // its journal is removed before it is
	}
	v.add("journal", 0, 0, own.progress.Missing(v.path, own.Last, slices.ContainsFunc(open[min(1, len(open)):], func(f *layout.File) bool { return f != nil })))
}

// finished reports whether the archive recorded in the file at path is beside it as a finished
// archive.
func finished(path string) bool {
	live, err := layout.ReadHeader(path)
	if err != nil {
		return false
	}
	beside, err := layout.FilesAt(filepath.Dir(path))
	return err == nil && slices.ContainsFunc(beside, func(name string) bool {
		if base := filepath.Base(name); layout.IsLiveName(base) || layout.IsJournalName(base) {
			return false
		}
		h, err := layout.ReadHeader(name)
		return err == nil && h.ID == live.ID
	})
}

// journal decodes every record of a journal. behind are the files that come after it.
func (v *verifier) journal(f *layout.File, behind []string) {
	live, number, _ := layout.ParseJournalName(filepath.Base(v.path))
	own := v.owner[live]
	if own == nil {
		own = &owner{}
		v.owner[live] = own
	}
	own.Live = true
	own.goOn(filepath.Join(filepath.Dir(v.path), live))
	g := &journal.Generation{File: f, Number: number}
	g.Old = slices.ContainsFunc(behind, func(name string) bool {
		next, _, _ := layout.ParseJournalName(filepath.Base(name))
		return next == live
	})
	end := own.Follow(g, func(*journal.Record) {}, func(h *journal.Hole) {
		v.add("beginning", h.From, h.To.Wall, h)
	})
	if end.Err != nil && v.inPlace(f) {
		where := "file"
		if end.At > 0 {
			where = fmt.Sprintf("byte %d", end.At)
		}
		v.add(where, own.Last, 0, end.Err)
	}
}

// goOn notes how many records the archive at path holds by now. A journal whose records it took
// over since then may have been written over.
func (o *owner) goOn(path string) {
	if now, err := layout.ReadProgress(path); err == nil {
		o.Seq = max(o.Seq, now.Sealed)
	}
}

// inPlace reports whether f is still the file with its name. A recorder removes a journal, and
// writes another one over it, once the archive holds its records.
func (v *verifier) inPlace(f *layout.File) bool {
	was, err := f.Stat()
	if err != nil {
		return true
	}
	is, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(was, is)
}
