package why

import (
	"slices"
	"testing"
)

// Linux adds what a child wrote to the numbers of the parent that waits for it: the parent wrote
// nothing of that itself.
func TestAdoptedWriting(t *testing.T) {
	exit := func(parent string) string {
		return "event 765s process exit | dump ended: exit 0 | indom=process key=99 pid=99 name=dump how=exit_0 proc.io.write_bytes=18000000000 parent=" + parent
	}
	for _, c := range []struct {
		name, event string
		writes      bool
	}{
		{"its own child did all of it", exit("70"), false},
		{"another one's child did", exit("1"), true},
		{"its own child did little", "event 765s process exit | dump ended: exit 0 | indom=process key=99 pid=99 name=dump how=exit_0 proc.io.write_bytes=4000000 parent=70", true},
	} {
		a := archive(t, map[string]string{"proc.io.write_bytes[70]": "rate=100000000"}, c.event)
		answer := ask(t, a, Request{Window: window})
		found := slices.ContainsFunc(answer.Lines, func(l Line) bool { return l.Kind == "writer" })
		if found != c.writes {
			t.Errorf("%s: %+v", c.name, answer.Lines)
		}
	}
}
