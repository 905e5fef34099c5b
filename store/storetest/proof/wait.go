package proof

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tachograph/store/disk/disktest"
	"tachograph/store/layout"
	"tachograph/testdata/patience"
)

// Killed copies a directory as a kill at this instant would leave it. The writer may go on
// meanwhile: journals are copied first, because it removes a journal only after the archive
// holds its records.
func Killed(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	copyAll := func(journals bool) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if _, _, ok := layout.ParseJournalName(e.Name()); ok != journals {
				continue
			}
			in, err := os.Open(filepath.Join(dir, e.Name()))
			if os.IsNotExist(err) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(in)
			in.Close()
			if err == nil {
				err = os.WriteFile(filepath.Join(to, e.Name()), data, 0o640)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	copyAll(true)
	copyAll(false)
	return to
}

// WaitFor waits until ok returns true.
func WaitFor(t testing.TB, ok func() bool) {
	t.Helper()
	patience.Until(t, "it is as it must become", ok)
}

// Waiting returns a context for one wait, which ends if the awaited event never comes.
func Waiting(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), patience.Stretch(time.Minute))
}

// PutFile writes a file, or removes it if b is nil.
func PutFile(t *testing.T, name string, b []byte) {
	t.Helper()
	err := os.Remove(name)
	if b != nil {
		err = os.WriteFile(name, b, 0o600)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

func Around(ops []disktest.Op, at int) string {
	if at >= len(ops) {
		return "the end"
	}
	op := ops[at]
	return fmt.Sprintf("%s %s at %d, %d bytes", op.Kind, filepath.Base(op.Name), op.Off, len(op.Data))
}
