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

// writeWhole writes a file that appears under its name only when it is complete. It may replace
// a file, but none that this command has read.
func (s *session) writeWhole(ctx context.Context, dst string, write func(io.Writer) error) (int64, error) {
	return export.Target{Path: dst, Force: true, Sources: s.readFrom()}.Stream(ctx, write)
}

// readFrom returns the files that are read: archives with their journals, even unreadable ones,
// and definitions.
func (s *session) readFrom() []string {
	files := append([]string{s.OwnDefinitions()}, s.Derived...)
	for _, path := range s.Paths {
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

// spare refuses to make an archive at dst if that would remove an archive that is being read. An
// archive has a temporary name while it is made. A file that a killed command left under that
// name is removed first, so that name must not belong to an archive being read, either.
func (s *session) spare(dst string) error {
	scratch, _ := filepath.Glob(layout.GlobQuote(dst) + layout.TmpSuffix + "*")
	return export.Target{Sources: s.readFrom()}.Spare(scratch...)
}

// together joins archives that were just made into one file at dst. It fails if any of them
// cannot be copied whole.
func together(ctx context.Context, dst string, made []string) error {
	report, err := rewrite.Copy(dst, rewrite.CopyOptions{Context: ctx}, made...)
	if err != nil || len(report.Lost) == 0 {
		return err
	}
	_ = os.Remove(dst)
	return errors.New(report.Lost[0].What)
}
