package report

import (
	"slices"
	"strings"
	"testing"
)

// A crash that is known only from the end of the process has a mark; one that the system spoke of has
// no second one, and a crash loop does not fill the list.
func TestCrashesAreMarked(t *testing.T) {
	var events strings.Builder
	events.WriteString(`event 60s process exit | x ended: exit 0 | indom=process key=1 pid=1 name=x how=exit_0
event 70s process exit | a ended: signal 6 | indom=process key=7 pid=7 name=a how=signal_6
event 80s crash | b crashed | pid=8 name=b
event 80s process exit | b ended: signal 11 | indom=process key=8 pid=8 name=b how=signal_11
event 81s crash | b dumped core, in parse | pid=8 name=b frames=parse;main
event 90s kill | the kernel ended c | pid=9 name=c rule=killed
event 91s memory pressure | the kernel killed a process for lack of memory
event 91s process exit | c ended: signal 9 | indom=process key=9 pid=9 name=c how=signal_9
`)
	for range 30 {
		events.WriteString("event 100s process exit | d ended: signal 11 | indom=process key=10 pid=10 name=d how=signal_11\n")
	}
	var got []string
	for _, e := range unpack(t, collect(t, twoBoots(t, events.String()), Request{})).Events {
		if e.Drawn && (e.Kind == "process exit" || e.Kind == "crash" || e.Kind == "kill") || e.Kind == "memory pressure" {
			got = append(got, e.Text)
		}
	}
	want := []string{"a ended: signal 6", "b dumped core, in parse", "the kernel ended c", "d ended: signal 11 (and 29 more like it)"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
