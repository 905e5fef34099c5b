package cases

import (
	"os"
	"testing"
)

// TestLaidOver lays a trouble over a recording as if that were of a real machine:
// totals are still what their parts come to.
func TestLaidOver(t *testing.T) {
	dir := t.TempDir()
	_, path, err := Make("tuned", 1, 0, "runaway", "compile", dir)
	if err != nil {
		t.Fatal(err)
	}
	tapes := t.TempDir()
	if err := os.Rename(path, tapes+"/builds.tacho"); err != nil {
		t.Fatal(err)
	}
	list, err := Tapes(tapes)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	for _, kind := range []string{"runaway", "writer"} {
		c, path, err := MakeOver("tuned", 1, 0, kind, list[0], dir)
		if err != nil {
			t.Fatal(err)
		}
		sumsUp(t, kind+" over builds", c, path)
	}
}
