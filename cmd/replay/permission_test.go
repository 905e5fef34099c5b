package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/store"
	"tachograph/store/fault"
)

func TestRefusalSaysWhatToDo(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	a := newApp(&out, &errs, time.Now)
	a.Open = func(paths ...string) (reader, error) {
		return nil, &fs.PathError{Op: "open", Path: paths[0], Err: fs.ErrPermission}
	}
	dir := t.TempDir()
	want := fmt.Sprintf("replay: no permission to read %s: run the same with sudo, or ", dir)
	if status := a.run([]string{"info", dir}); status != cli.Failed || !strings.HasPrefix(errs.String(), want) {
		t.Errorf("status %d: %s", status, errs.String())
	}
}

// What an answer lacks is told by what it is, once, and not while words are
// completed.
func TestLossesAreToldByKind(t *testing.T) {
	t.Parallel()
	info := func(r reader) *store.ArchiveInfo { return r.Archives()[0] }
	for _, c := range []struct {
		name   string
		kind   fault.Kind
		whole  bool // the file, not a part of an archive
		want   string
		status int
	}{
		{"a file that may not be read", fault.Denied, true, "replay: left out: no permission to read FILE: run the same with sudo, or ", cli.Yes},
		{"a file that is no archive", fault.NotArchive, true, "replay: WHAT; it is left out\n", cli.Yes},
		{"a part of an archive", fault.Damaged, false, "replay: FILE is damaged: WHAT; what is shown is what could be read ", cli.Yes},
		{"a mistake of the program", fault.Bug, false, "replay: FILE is damaged: WHAT; ", cli.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			open := func(...string) (reader, error) {
				r, err := openText("testdata/mac.txt")
				l := store.Loss{Loss: fault.Loss{What: "WHAT"}, Path: "FILE", Kind: c.kind}
				if !c.whole {
					l.Archive = info(r)
				}
				r.(memory).Lost = []store.Loss{l}
				return r, err
			}
			out, errs, status := replay(open, "events", "--utc", "--archive", "testdata/mac.txt")
			if status != c.status || out == "" || !strings.HasPrefix(errs, c.want) || strings.Count(errs, "FILE")+strings.Count(errs, "WHAT") > 2 {
				t.Errorf("status %d, %q, want %q", status, errs, c.want)
			}
			if _, errs, _ := replay(open, "__complete", "values", "--archive", "testdata/mac.txt", "kernel.all.l"); strings.Contains(errs, "FILE") || strings.Contains(errs, "WHAT") {
				t.Errorf("completion writes %q", errs)
			}
		})
	}
}

func TestRefusalNamesTheFile(t *testing.T) {
	t.Parallel()
	denied := &fault.Error{Op: "open archive", Path: "b.tacho", Err: fs.ErrPermission}
	open := func(...string) (reader, error) { return nil, errors.Join(denied) }
	_, errs, status := replay(open, "info", "testdata", "testdata/mac.txt")
	if status != cli.Failed || !strings.HasPrefix(errs, "replay: no permission to read b.tacho: ") {
		t.Errorf("status %d: %s", status, errs)
	}
}
