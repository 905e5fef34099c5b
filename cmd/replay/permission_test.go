package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/exit"
)

func TestRefusalSaysWhatToDo(t *testing.T) {
	var out, errs bytes.Buffer
	a := newApp(&out, &errs, time.Now)
	a.open = func(paths ...string) (reader, error) {
		return nil, &fs.PathError{Op: "open", Path: paths[0], Err: fs.ErrPermission}
	}
	dir := t.TempDir()
	want := fmt.Sprintf("replay: no permission to read %s: run the same with sudo, or ", dir)
	if status := a.run([]string{"info", dir}); status != exit.Failed || !strings.HasPrefix(errs.String(), want) {
		t.Errorf("status %d: %s", status, errs.String())
	}
}
