package query_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

const deathsHead = `start 2026-11-20T03:00:00Z
interval process 10s
metric proc.memory.rss u64 instant process process Kbyte
host box id=BOX os=Linux
boot b1 -1h
tick process 0s
  proc.memory.rss[1] 100
`

func archiveOf(t *testing.T, events ...string) query.Archive {
	t.Helper()
	parts, err := querytest.Parse(strings.NewReader(strings.Replace(deathsHead, "boot", "instance process 1 000001 init\nboot", 1) + strings.Join(events, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return querytest.New(parts...)
}

func deathsOf(t *testing.T, all bool, events ...string) *query.Deaths {
	t.Helper()
	return query.DeathsIn(archiveOf(t, events...), query.Window{}, all)
}

func plainBytes(x float64) string { return fmt.Sprint(x, " bytes") }

// What is said about one process within a minute is one death; about another, or later, it is another.
func TestOneDeathIsOneRow(t *testing.T) {
	t.Parallel()
	crash := "event 60s crash | crash: a (pid 7) died | source=report name=a pid=7 signal=SIGSEGV"
	for _, c := range []struct {
		name   string
		events []string
		want   string
	}{
		{"a report before the exit", []string{crash, "event 61s process exit | a ended | key=k7 pid=7 name=a how=signal_11"}, "SIGSEGV by report, exit"},
		{"an exit with 0 after a report", []string{crash, "event 61s process exit | a ended | key=k7 pid=7 name=a how=exit_0"}, "SIGSEGV by report, exit"},
		{"another process", []string{crash, "event 61s process exit | b ended | key=k8 pid=8 name=b how=signal_6"}, "signal 6 by exit; SIGSEGV by report"},
		{"the same pid much later", []string{crash, "event 121s process exit | a ended | key=k7 pid=7 name=a how=signal_11"}, "signal 11 by exit; SIGSEGV by report"},
		{"the nearest of two", []string{crash, "event 30s process exit | a ended | key=k6 pid=7 name=a how=signal_11", "event 62s process exit | a ended | key=k7 pid=7 name=a how=signal_11"},
			"SIGSEGV by report, exit; signal 11 by exit"},
		{"a key decides", []string{"event 60s crash | x | key=k6 source=report name=a pid=7 signal=SIGBUS", "event 30s process exit | a ended | key=k6 pid=7 name=a how=signal_7",
			"event 62s process exit | a ended | key=k7 pid=7 name=a how=signal_11"}, "signal 11 by exit; SIGBUS by report, exit"},
		{"the same pid begun at another time", []string{crash + " start=2026-11-20T02:00:00Z", "event 61s process exit | a ended | key=k7 pid=7 name=a how=signal_9 start=2026-11-20T03:00:30Z",
			"event 40s process exit | a ended | key=k6 pid=7 name=a how=signal_11 start=2026-11-20T02:00:00.5Z"}, "SIGSEGV by report, exit"},
		{"a kill says more than a crash", []string{crash, "event 60s kill | x | source=report name=a pid=7 by=jetsam reason=per-process-limit bytes=100 limit=90"},
			"killed by jetsam (per-process-limit), held 100 bytes, limit 90 bytes by report"},
		{"the kernel's count", []string{"event 60s process exit | a ended | key=k7 pid=7 name=a how=signal_9", "event 61s memory pressure | the kernel killed 1 process for lack of memory"},
			"killed by the kernel for want of memory by kernel's count, exit"},
		{"a count that cannot be told", []string{"event 60s process exit | a ended | key=k7 pid=7 name=a how=signal_9", "event 60s process exit | b ended | key=k8 pid=8 name=b how=signal_9",
			"event 61s memory pressure | the kernel killed 1 process for lack of memory"}, ""},
		{"a core dump with its stack", []string{"event 60s crash | x | source=kernel name=a pid=7 frames=libc.so.6+0x17", "event 61s process exit | a ended | key=k7 pid=7 name=a how=signal_11",
			"event 62s crash | x | source=core_dump name=a pid=7 signal=SIGSEGV frames=parse;read;main"}, "SIGSEGV in parse, called by read, called by main by core dump, kernel, exit"},
		{"the kernel's line, its count and systemd", []string{"event 60s kill | x | source=kernel name=a pid=7 group=/system.slice/a.service", "event 60s process exit | a ended | key=k7 pid=7 name=a how=signal_9",
			"event 60s process exit | b ended | key=k8 pid=8 name=b how=signal_9", "event 61s memory pressure | the kernel killed 1 process for lack of memory", "event 61s kill | x | source=journal unit=a.service"},
			"killed for want of memory in /system.slice/a.service by kernel, journal, kernel's count, exit"},
		{"a service without a process", []string{"event 60s service failure | x | source=journal unit=a.service result=timeout"}, "a.service failed, timeout by journal"},
		{"a service that ended well", []string{"event 60s service failure | x | source=journal unit=a.service result=done"}, ""},
		{"a fault that it survived", []string{"event 60s crash | x | source=report rule=fault name=a pid=7 signal=SIGABRT"}, ""},
		{"housekeeping of macOS", []string{"event 60s process exit | a ended | key=k7 pid=7 name=a how=idle_exit"}, ""},
		{"what others do", []string{"event 60s process exit | a ended | key=k7 pid=7 name=a how=signal_15", "event 60s process exit | a ended | key=k8 pid=8 name=a how=exit_1",
			"event 60s process exit | a ended | key=k9 pid=9 name=a how=exit_0"}, ""},
	} {
		var got []string
		for _, d := range deathsOf(t, false, c.events...).List {
			got = append(got, d.What(plainBytes)+" by "+strings.Join(d.Sources(), ", "))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}

// What the system said about a death is one thing, without the ends of processes, too.
func TestWordsAboutOneDeath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		events []string
		want   []string // what is left
	}{
		{"a kill, its count and systemd", []string{"event 60s kill | line | pid=7 name=a group=/system.slice/a.service", "event 61s memory pressure | the kernel killed 1 process", "event 61s kill | systemd | unit=a.service"}, []string{"line"}},
		{"two kills and one count", []string{"event 60s kill | one | pid=7 name=a", "event 60s kill | two | pid=8 name=b", "event 61s memory pressure | the kernel killed 2 processes | count=2"}, []string{"one", "two"}},
		{"more than the kernel named", []string{"event 60s kill | one | pid=7 name=a", "event 61s memory pressure | the kernel killed 2 processes | count=2"}, []string{"one", "the kernel killed 2 processes"}},
		{"another service", []string{"event 60s kill | line | pid=7 name=a service=b.service", "event 61s kill | systemd | unit=a.service"}, []string{"line", "systemd"}},
		{"a stack that comes later", []string{"event 60s crash | line | pid=7 name=a frames=libc.so.6+0x1", "event 70s crash | dump | pid=7 name=a frames=parse;main"}, []string{"dump"}},
		{"the same pid much later", []string{"event 60s crash | line | pid=7 name=a", "event 121s crash | dump | pid=7 name=a"}, []string{"line", "dump"}},
		{"a service that failed", []string{"event 60s crash | line | pid=7 name=a unit=a.service", "event 61s service failure | failed | unit=a.service result=signal"}, []string{"line", "failed"}},
	} {
		a := archiveOf(t, c.events...)
		words := query.WordsIn(a, query.Window{})
		var left []string
		for e := range query.SortedEvents(a, query.Window{}) {
			if e.Kind != metric.EventBoot && !words.Less(e) {
				left = append(left, e.Text)
			}
		}
		if !slices.Equal(left, c.want) {
			t.Errorf("%s: %q, want %q", c.name, left, c.want)
		}
	}
}

func TestOrdinaryEndsAreCounted(t *testing.T) {
	t.Parallel()
	events := []string{"event 60s process exit | a ended | key=k7 pid=7 name=a how=signal_15", "event 61s process exit | a ended | key=k8 pid=8 name=a how=exit_1"}
	if d := deathsOf(t, false, events...); len(d.List) != 0 || d.Others != 2 {
		t.Errorf("%d deaths and %d others", len(d.List), d.Others)
	}
	if d := deathsOf(t, true, events...); len(d.List) != 2 || d.Others != 0 {
		t.Errorf("of all, %d deaths and %d others", len(d.List), d.Others)
	}
}

// However many ends a stranger's archive has, the cost is bounded.
func TestManyDeaths(t *testing.T) {
	t.Parallel()
	var events []string
	for i := range 60_000 {
		at := time.Duration(i) * time.Millisecond
		events = append(events, fmt.Sprintf("event %s process exit | a ended | key=k%d pid=7 name=a how=signal_11", at, i),
			fmt.Sprintf("event %s crash | x | name=a pid=7 signal=SIGSEGV bytes=NaN start=9999-12-31T00:00:00Z frames=;;;", at))
	}
	d := deathsOf(t, true, events...)
	if !d.Missed || len(d.List) > 60_000 || len(d.List) < 20_000 {
		t.Errorf("%d deaths, missed %v", len(d.List), d.Missed)
	}
}
