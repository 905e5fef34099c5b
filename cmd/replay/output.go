package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"tachograph/cmd/replay/internal/export"
	"tachograph/store/layout"
	"tachograph/store/rewrite"
)

// writeWhole writes a file that is there when it is whole, over one that is there but
// over none that was read.
func (a *app) writeWhole(ctx context.Context, dst string, write func(io.Writer) error) (int64, error) {
	return export.Target{Path: dst, Force: true, Sources: a.readFrom()}.Stream(ctx, write)
}

// readFrom are the files that are read: archives with their journals, also those that cannot
// be read, and definitions.
func (s *session) readFrom() []string {
	files := append([]string{s.ownDefinitions()}, s.derived...)
	for _, path := range s.paths {
		entries, err := os.ReadDir(path)
		if err != nil { // it is no directory
			journals, _ := layout.JournalsOf(path)
			files = append(append(files, path), journals...)
		}
		for _, e := range entries {
			if layout.IsArchiveName(e.Name()) || layout.IsJournalName(e.Name()) {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	}
	return files
}

// spare refuses to make an archive at dst where that would remove one that is read: it has
// another name while it is made, which a killed command may have left, and is made anew.
func (s *session) spare(dst string) error {
	scratch, _ := filepath.Glob(layout.GlobQuote(dst) + layout.TmpSuffix + "*")
	return export.Target{Sources: s.readFrom()}.Spare(scratch...)
}

// together makes one file, at dst, of archives that were just made, all of them.
func together(ctx context.Context, dst string, made []string) error {
	report, err := rewrite.Copy(dst, rewrite.CopyOptions{Context: ctx}, made...)
	if err != nil || len(report.Lost) == 0 {
		return err
	}
	_ = os.Remove(dst)
	return errors.New(report.Lost[0].What)
}
