package query_test

import (
	"fmt"
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
			if got := query.EventText(a, e, nil); got != e.Text+c.want {
				t.Errorf("%s: %q, want %q behind %q", c.name, got, c.want, e.Text)
			}
		}
		if !found {
			t.Errorf("%s: there is no event", c.name)
		}
	}
}

// Whose the victims were is said, and that a control group was at its limit where processes were
// killed in it. A group that has others below it is not named.
func TestWhoseWereKilled(t *testing.T) {
	const head = `start 2026-11-20T03:00:00Z
host m id=1
interval process 5s
metric cgroup.memory.oom_kill u64 counter cgroup process count
metric cgroup.memory.current u64 instant cgroup process byte
metric cgroup.memory.limit u64 instant cgroup process byte
metric proc.psinfo.threads u32 instant process process
metric proc.owner.service string discrete process process
instance cgroup /system.slice /system.slice inner=yes service=backup.service
instance cgroup /system.slice/backup.service /system.slice/backup.service service=backup.service
instance cgroup /system.slice/web.service /system.slice/web.service service=web.service
instance process 7 000007 reportgen pid=7 service=backup.service
instance process 8 000008 zip pid=8 service=backup.service
instance process 9 000009 web pid=9 service=web.service
boot b 0s
event 29s process exit | reportgen ended | indom=process key=7 name=reportgen pid=7 how=signal_9
`
	ticks := func(backup, limit string, after int) string {
		var b strings.Builder
		for _, part := range []struct {
			span   string
			killed int
		}{{"0s 25s", 3}, {"30s 60s", 3 + after}} {
			fmt.Fprintf(&b, "every 5s %s process\n", part.span)
			for _, key := range []string{"7", "8", "9"} {
				fmt.Fprintf(&b, "  proc.psinfo.threads[%s] 1\n", key)
			}
			for _, path := range []string{"/system.slice", "/system.slice/backup.service"} {
				fmt.Fprintf(&b, "  cgroup.memory.oom_kill[%s] %d\n  cgroup.memory.current[%s] %s\n  cgroup.memory.limit[%s] %s\n", path, part.killed, path, backup, path, limit)
			}
			fmt.Fprintf(&b, "  cgroup.memory.oom_kill[/system.slice/web.service] 0\n  cgroup.memory.current[/system.slice/web.service] 100\n")
		}
		return b.String()
	}
	const one = "event 30s memory pressure | the kernel killed a process for lack of memory\n"
	const two = "event 30s memory pressure | the kernel killed 2 processes for lack of memory | count=2\n"
	also := func(name, key string) string {
		return "event 29s process exit | " + name + " ended | indom=process key=" + key + " name=" + name + " pid=" + key + " how=signal_9\n"
	}
	for _, c := range []struct{ name, rest, want string }{
		{"at its limit", one + ticks("500", "512", 1), "the kernel killed reportgen (pid 7) in backup.service, which was at its limit of 512 B"},
		{"far from its limit", one + ticks("300", "512", 1), "the kernel killed a process for lack of memory: reportgen (pid 7) in backup.service"},
		{"no limit", one + ticks("500", "!no limit is set", 1), "the kernel killed a process for lack of memory: reportgen (pid 7) in backup.service"},
		{"the group saw nothing", one + ticks("500", "512", 0), "the kernel killed a process for lack of memory: reportgen (pid 7) in backup.service"},
		{"two of one", two + also("zip", "8") + ticks("510", "512", 2), "the kernel killed reportgen (pid 7), zip (pid 8) in backup.service, which was at its limit of 512 B"},
		{"two of two", two + also("web", "9") + ticks("510", "512", 2), "the kernel killed 2 processes for lack of memory: reportgen (pid 7), web (pid 9)"},
	} {
		parts, err := querytest.Parse(strings.NewReader(head + c.rest))
		if err != nil {
			t.Fatal(err)
		}
		a := querytest.New(parts...)
		for e := range query.SortedEvents(a, query.Window{}, metric.EventMemory) {
			if got := query.EventText(a, e, func(x float64) string { return fmt.Sprintf("%.0f B", x) }); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	}
}
