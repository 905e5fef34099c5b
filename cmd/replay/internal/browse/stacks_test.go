package browse

import (
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/cmd/replay/internal/stacks/stackstest"
	"tachograph/store"
)

// What was sampled near a moment is a tree in a window, of those that ran, of those that
// waited, or of all, as wide as the terminal is.
func TestStacks(t *testing.T) {
	s, err := store.Open(stackstest.Write(t, stackstest.Incident()...))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rec, err := moment.Open(s, "host-vm", nil)
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(time.Hour)
	if f.stacks, err = rec.Stacks(stackstest.At(60e9).Wall); err != nil || f.stacks == nil {
		t.Fatal(f.stacks, err)
	}
	if p, err := rec.Stacks(stackstest.At(3600e9).Wall); p != nil || err != nil {
		t.Errorf("an hour later there are %v, %v", p, err)
	}
	r := newRig(t, f, look{width: 80, height: 24})
	screen := func() string { return strings.Join(r.rows(), "\n") }
	r.keys("K")
	for _, want := range []string{"stacks, sampled from ", "594 samples", "67 %       -     51 %  indexer (612)", "27 %    24 %    100 %      ├ engine::Scanner::scan [libengine.so]", "Esc closes"} {
		if !strings.Contains(screen(), want) {
			t.Errorf("the window does not say %q:\n%s", want, screen())
		}
	}
	r.keys("w")
	if got := screen(); !strings.Contains(got, "394 samples, those that were waiting only") || strings.Contains(got, "Scanner") {
		t.Errorf("of those that wait:\n%s", got)
	}
	r.keys("r")
	r.keys("t")
	if got := screen(); !strings.Contains(got, "200 samples, those that were running only") || !strings.Contains(got, "├ thread (612)") || strings.Contains(got, "do_wait") {
		t.Errorf("of those that run, by thread:\n%s", got)
	}
	r.keys("a")
	r.keys("c")
	r.keys("G")
	if got := screen(); !strings.Contains(got, "this window") || !strings.Contains(got, "stacks --at ") {
		t.Errorf("the command is not told:\n%s", got)
	}
	r.keys("Esc")
	for _, width := range []int{30, 45, 60, 120} {
		r.resize(width, 24)
		for _, row := range r.rows() {
			if human.Width(row) > width {
				t.Errorf("in %d columns: %s", width, row)
			}
		}
	}
	r.keys("Esc")
	f.stacks = nil
	r.keys("K")
	if got := screen(); !strings.Contains(got, "no stacks were sampled within ten minutes") {
		t.Errorf("where there are none:\n%s", got)
	}
}
