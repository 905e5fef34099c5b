package query_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// The rows of a history are of the instants at which the process was read, and
// none is of a time after its end.
func TestHistoryRowsAreDated(t *testing.T) {
	parts, err := querytest.Parse(strings.NewReader(`
start 2026-11-20T03:00:00Z
host h
interval process 5s
metric proc.psinfo.utime u64 counter process process millisec
metric proc.memory.rss u64 instant process process Kbyte
instance process 7 000007 job pid=7
instance process 8 000008 stays pid=8
boot b1 -1h
every 5s 0s 57s process
  proc.psinfo.utime[7] rate=500 from=1
  proc.memory.rss[7] level=100
  proc.psinfo.utime[8] rate=100 from=1
  proc.memory.rss[8] level=200
tick process 60s
  proc.psinfo.utime[7] rate=500
  proc.memory.rss[7] !the process ended
  proc.psinfo.utime[8] rate=100
  proc.memory.rss[8] level=200
event 57s500ms process exit | job ended | indom=process key=7 how=exited
every 5s 65s 2m process
  proc.psinfo.utime[8] rate=100
  proc.memory.rss[8] level=200
`))
	if err != nil {
		t.Fatal(err)
	}
	a := querytest.New(parts...)
	begin := a.Archives()[0].From
	for _, c := range []struct{ name, want string }{
		{"job", "5000 10000 20000 25000 35000 40000 45000 55000 57500"},
		{"stays", "5000 10000 20000 25000 35000 40000 45000 55000 60000 70000 75000 80000 90000 95000 105000 110000 115000 120000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := query.NewMatcher([]string{c.name})
			if err != nil {
				t.Fatal(err)
			}
			list, _, err := query.Histories(a, query.Window{From: begin - second}, m, 7*second, time.UTC, 0, true)
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			var at []string
			for _, r := range list[0].Rows {
				at = append(at, fmt.Sprint((r.At-begin)/1e6))
			}
			if got := strings.Join(at, " "); got != c.want {
				t.Errorf("%s: rows at %s ms, want %s", c.name, got, c.want)
			}
		})
	}
}

// Sweeps take a little longer than their interval: a step between two of them
// has no row of its own.
func TestHistoryRowsWereRead(t *testing.T) {
	parts, err := querytest.Parse(strings.NewReader(`
start 2026-11-20T03:00:00Z
host h
interval process 5s
metric proc.psinfo.utime u64 counter process process millisec
metric proc.memory.rss u64 instant process process Kbyte
instance process 7 000007 job pid=7
boot b1 -1h
every 5400ms 0s 2m process
  proc.psinfo.utime[7] rate=500 from=1
  proc.memory.rss[7] level=100
`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := query.NewMatcher([]string{"job"})
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := query.Histories(querytest.New(parts...), query.Window{}, m, 5*second, time.UTC, 0, true)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	for _, r := range list[0].Rows {
		if memory := r.Memory(); memory != memory {
			t.Errorf("a row at %s without memory", time.Unix(0, r.At).UTC())
		}
	}
	if n := len(list[0].Rows); n != 23 {
		t.Errorf("%d rows of 23 readings", n)
	}
}
