package query

import (
	"fmt"
	"strconv"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
)

// killing is the beginning of the event text that package notice writes when the kernel's count
// of processes killed for lack of memory has grown.
const killing = "the kernel killed"

// Killing reports whether an event says that the kernel killed a process for lack of memory.
func Killing(e *store.Event) bool {
	return e.Kind == metric.EventMemory && strings.HasPrefix(e.Text, killing)
}

// killedBefore and killedAfter are how long before and after the kernel's count was seen to grow
// the end of a victim may have been seen. The count is read each second or so, ends only as
// seldom as processes are.
const (
	killedBefore = int64(10e9)
	killedAfter  = int64(5e9)
)

// mostKilled bounds how many ends are examined for one event.
const mostKilled = 50_000

// Victims returns the ends by signal 9 about the time of a killing event. The kernel says how
// many processes it killed, but not which: told reports whether the list is exactly those.
func Victims(a Archive, e *store.Event) (list []*store.Event, told bool) {
	looked := 0
	for end := range a.Events(e.At.Wall-killedBefore, e.At.Wall+killedAfter, metric.EventProcessExit) {
		if looked++; looked > mostKilled {
			return list, false
		}
		if end.Archive.Host.ID == e.Archive.Host.ID && (end.Label("how") == "signal 9" || end.Label("how") == "signal 9 core") {
			list = append(list, end)
		}
	}
	count := 1
	if n, err := strconv.Atoi(e.Label("count")); err == nil {
		count = n
	}
	return list, len(list) == count
}

// mostNamed is the most processes that a sentence names.
const mostNamed = 3

// EventText returns the text of an event. For a killing it adds the names of the victims, where
// they can be determined.
func EventText(a Archive, e *store.Event) string {
	if !Killing(e) {
		return e.Text
	}
	list, told := Victims(a, e)
	var names []string
	for _, end := range list {
		if len(names) == mostNamed {
			names = append(names, "others")
			break
		}
		names = append(names, fmt.Sprintf("%s (pid %s)", end.Label("name"), end.Label("pid")))
	}
	who := strings.Join(names, ", ")
	switch {
	case told:
		return e.Text + ": " + who
	case len(list) == 0:
		return e.Text + "; which cannot be told, as no end by signal 9 is recorded then"
	}
	return e.Text + "; which cannot be told for certain: " + who + " ended by signal 9 then"
}
