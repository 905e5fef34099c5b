package query_test

import (
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// Whom the kernel killed is named where as many ended by signal 9 then as it killed, and
// where not, it is said that it cannot be told.
func TestWhoWasKilled(t *testing.T) {
	const head = "start 2026-11-20T03:00:00Z\nhost m id=1\nboot b 0s\n"
	end := func(at, name, how string) string {
		return "event " + at + " process exit | " + name + " ended | name=" + name + " pid=7 how=" + how + "\n"
	}
	one := "event 30s memory pressure | the kernel killed a process for lack of memory\n"
	two := "event 30s memory pressure | the kernel killed 2 processes for lack of memory | count=2\n"
	for _, c := range []struct{ name, events, want string }{
		{"one", one + end("28s", "hog", "signal_9") + end("29s", "other", "exit_0"), ": hog (pid 7)"},
		{"noticed later", one + end("34s", "hog", "signal_9"), ": hog (pid 7)"},
		{"long before", one + end("10s", "hog", "signal_9"), "; which cannot be told, as no end by signal 9 is recorded then"},
		{"nothing is known of ends", one, "; which cannot be told, as no end by signal 9 is recorded then"},
		{"two", two + end("28s", "hog", "signal_9") + end("29s", "pig", "signal_9"), ": hog (pid 7), pig (pid 7)"},
		{"one of two", one + end("28s", "hog", "signal_9") + end("29s", "pig", "signal_9"), "; which cannot be told for certain: hog (pid 7), pig (pid 7) ended by signal 9 then"},
		{"one is not known", two + end("28s", "hog", "signal_9"), "; which cannot be told for certain: hog (pid 7) ended by signal 9 then"},
	} {
		parts, err := querytest.Parse(strings.NewReader(head + c.events))
		if err != nil {
			t.Fatal(err)
		}
		a := querytest.New(parts...)
		found := false
		for e := range query.SortedEvents(a, query.Window{}, metric.EventMemory) {
			found = true
			if got := query.EventText(a, e); got != e.Text+c.want {
				t.Errorf("%s: %q, want %q behind %q", c.name, got, c.want, e.Text)
			}
		}
		if !found {
			t.Errorf("%s: there is no event", c.name)
		}
	}
}
