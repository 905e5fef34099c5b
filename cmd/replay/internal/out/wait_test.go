package out

import (
	"strings"
	"testing"
	"time"
)

// A table on a terminal shows what it has when more rows take their time; in a file its
// columns are as wide as they need to be, however long that takes.
func TestSlowRows(t *testing.T) {
	for _, c := range []struct {
		width int
		shown bool
	}{{80, true}, {0, false}} {
		at := time.Unix(0, 0)
		var b strings.Builder
		w := New(&b, []Column{{Name: "name", Title: "NAME"}}, Options{Format: Table, Zone: time.UTC, Width: c.width, Now: func() time.Time { return at }})
		for _, name := range []string{"a", "b", "a longer name"} {
			if err := w.Row([]Cell{Str(name)}); err != nil {
				t.Fatal(err)
			}
			if name == "a" && b.Len() > 0 {
				t.Errorf("width %d: %q is shown at once", c.width, b.String())
			}
			at = at.Add(time.Second)
		}
		if shown := b.Len() > 0; shown != c.shown {
			t.Errorf("width %d: %q is shown before the end", c.width, b.String())
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
