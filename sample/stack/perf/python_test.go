package perf

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/stack"
	"tachograph/sample/stack/python"
)

// Waits in different functions of a Python program are not added up. Where a thread was in its
// program is not said of a wait that was over when that was read.
func TestWaitsInPython(t *testing.T) {
	w := newWaits(pid7, 0, nil)
	for i, c := range []struct {
		function string
		read     uint64 // after the beginning; it goes on after 10 ms
	}{{"f", 2 * ms}, {"g", 9 * ms}, {"f", 3 * ms}, {"late", 11 * ms}, {"", 0}} {
		at := 100 * ms * uint64(i)
		for _, b := range [][]byte{sleeps(8, at, 0x10), leaves(8, at)} {
			var r switched
			if !r.parse(b) {
				t.Fatalf("%x", b)
			}
			w.hear(&r, r.chain, stack.Whole)
		}
		if want := []int32{8}; !slices.Equal(w.fresh, want) {
			t.Errorf("%v began to wait, want %v", w.fresh, want)
		}
		w.fresh = w.fresh[:0]
		if c.read > 0 {
			x := w.waiting(8)
			x.python.places = append(x.python.places, python.Place{Name: c.function, File: "a.py", Line: 2, Start: 1})
			x.python.at = at + c.read
		}
		w.end(8, at+10*ms)
	}
	var got []string
	w.flush(func(s *sum) {
		text := fmt.Sprint(s.waited / ms)
		for _, p := range s.python.places {
			text += " in " + p.Name
		}
		got = append(got, text)
	})
	slices.Sort(got)
	if want := "10 in g; 20; 20 in f"; strings.Join(got, "; ") != want {
		t.Errorf("%s, want %s", strings.Join(got, "; "), want)
	}
}
