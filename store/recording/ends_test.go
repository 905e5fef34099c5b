package recording

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/journal"
	"tachograph/store/layout"
	"tachograph/store/mend"
	"tachograph/store/storetest/proof"
)

// All that follow a journal describe its end in the same way: readers, Verify and Repair,
// and the recorder that continues it, in a gap event.
func TestEveryoneTellsTheSameEnd(t *testing.T) {
	dir, _ := recordedLive(t)
	other, _ := recordedLive(t)
	journals := slices.DeleteFunc(names(t, dir), func(name string) bool { return !layout.IsJournalName(name) })
	live := slices.DeleteFunc(names(t, dir), func(name string) bool { return !layout.IsLiveName(name) })[0]
	for _, c := range []struct {
		name   string
		change func(name string, b []byte) []byte
		says   string
		gap    string // for the last generation; before is for an earlier one
		before string
	}{
		{"cut short", func(_ string, b []byte) []byte { return b[:written(t, b)-3] }, "its last record is cut short, as by a crash", "", "records of the journal are lost to damage"},
		{"damaged", func(_ string, b []byte) []byte { b[written(t, b)-3] ^= 1; return b }, "are damaged", "bytes of the journal are damaged", "records of the journal are lost to damage"},
		{"another beginning", func(_ string, b []byte) []byte { b[1] ^= 1; return b }, "its beginning is damaged or was never written whole", "has lost its beginning", "has lost its beginning"},
		{"a damaged header", func(_ string, b []byte) []byte { b[15] ^= 1; return b }, "its beginning is damaged or was never written whole", "has lost its beginning", "has lost its beginning"},
		{"empty", func(string, []byte) []byte { return []byte{} }, "it is empty", "a journal of 0 bytes has lost its beginning", "a journal of 0 bytes has lost its beginning"},
		{"another archive's", func(name string, _ []byte) []byte {
			b, err := os.ReadFile(filepath.Join(other, name))
			if err != nil {
				t.Fatal(err)
			}
			return b
		}, "it belongs to another archive, ", "", "records of the journal are lost to damage"},
	} {
		for place, name := range map[string]string{"last": journals[len(journals)-1], "before another": journals[len(journals)-2]} {
			t.Run(c.name+"/"+place, func(t *testing.T) {
				says, gap := c.says, c.gap
				if place != "last" {
					gap = c.before
					if c.name == "cut short" {
						says = "are damaged" // a crash cannot leave it like that
					}
				}
				dir := copied(t, dir, func(string) bool { return true })
				b, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				proof.PutFile(t, filepath.Join(dir, name), c.change(name, b))
				if reader, verify := told(t, dir); !strings.Contains(reader, says) || !strings.Contains(verify, says) {
					t.Errorf("the reader says %q, verify %q, want %q", reader, verify, says)
				}
				rep, err := mend.Repair(filepath.Join(dir, live), filepath.Join(t.TempDir(), "r.tacho"), nil)
				if err != nil || len(rep.Lost) == 0 || !strings.Contains(strings.Join(rep.Damage, "\n"), says) {
					t.Errorf("repair: %+v, %v", rep, err)
				}
				synctest.Test(t, func(t *testing.T) {
					step(time.Hour)
					opt := testOptions(dir)
					opt.BootID = "boot-2"
					create(t, opt)
				})
				if got := gapTexts(t, dir); (gap == "") != (got == "") || !strings.Contains(got, gap) {
					t.Errorf("gaps %q, want %q", got, gap)
				}
			})
		}
	}
}

// written returns where the last record of a journal ends. The file may be longer than that
// and its mark.
func written(t *testing.T, b []byte) int64 {
	r, err := journal.NewReader(bytes.NewReader(b), nil, nil)
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return r.Offset()
}

func gapTexts(t *testing.T, dir string) string {
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var texts []string
	for e := range r.Events(0, 0, metric.EventGap) {
		texts = append(texts, e.Text)
	}
	return strings.Join(texts, "\n")
}
