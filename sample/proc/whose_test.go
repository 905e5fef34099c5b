package proc

import (
	"fmt"
	"testing"
	"time"

	"tachograph/sample/metric"
)

func TestProcessesThatEndedLately(t *testing.T) {
	var l lately
	base := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	in := func(key string, start time.Time) *metric.Instance {
		return &metric.Instance{Key: key, Labels: []metric.Label{{Name: "start", Value: start.Format(time.RFC3339Nano)}}}
	}
	l.add(7, 700, in("first", base))
	l.add(8, 800, in("other", base))
	l.add(7, 0, in("second", base.Add(time.Minute)))
	const unstated = -time.Hour
	for _, c := range []struct {
		pid       int32
		at, began time.Duration
		ticks     uint64
		want      string
	}{
		{7, 30 * time.Second, unstated, 0, "first"}, {7, time.Minute, unstated, 0, "second"}, {7, time.Hour, unstated, 0, "second"}, {7, -time.Minute, unstated, 0, ""},
		{7, -time.Second, unstated, 0, "first"}, {8, time.Hour, unstated, 0, "other"}, {9, 0, unstated, 0, ""},
		// What is stated of the beginning decides, whatever the clock says of the end.
		{7, time.Hour, 0, 0, "first"}, {7, time.Hour, time.Second, 0, "first"}, {7, time.Hour, 61 * time.Second, 0, "second"}, {7, time.Hour, 30 * time.Second, 0, ""},
		{8, -time.Hour, unstated, 800, "other"}, {8, time.Hour, 0, 801, ""}, {7, time.Hour, 0, 700, "first"},
		// The second's ticks are not known.
		{7, time.Hour, time.Minute, 777, "second"}, {7, time.Hour, 0, 777, ""}, {7, time.Hour, unstated, 777, "second"},
	} {
		w := &mentioned{pid: c.pid, at: base.Add(c.at), ticks: c.ticks}
		if c.began != unstated {
			w.began = base.Add(c.began)
		}
		got := ""
		if in := l.find(w); in != nil {
			got = in.Key
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	for i := range 3 * mostLately {
		l.add(int32(i), 0, in(fmt.Sprint(i), base))
	}
	if len(l.list) != mostLately || l.find(&mentioned{pid: 3*mostLately - 1, at: base}) == nil || l.find(&mentioned{pid: 8, at: base}) != nil {
		t.Errorf("%d are remembered", len(l.list))
	}
}

// A report about a process that is gone is not one about the living process with its pid.
func TestWhoseAPidWas(t *testing.T) {
	m, r := newFakeMac(t, &macPerson{pid: 7, unique: 5, micros: someMicros, begin: 11})
	r.read()
	m.processes[0] = &macPerson{pid: 7, unique: 6, micros: someMicros + 60_000_000, begin: 12}
	r.read()
	at := time.UnixMicro(someMicros + 90_000_000)
	for _, c := range []struct {
		began time.Time
		ticks uint64
		want  string
	}{
		{want: "6"}, {ticks: 12, want: "6"}, {ticks: 11, want: "5"}, {ticks: 10}, {began: time.UnixMicro(someMicros), want: "5"}, {began: at},
	} {
		if key, _, ok := r.source.Whose(7, at, c.began, c.ticks); key != c.want || ok != (c.want != "") {
			t.Errorf("began %v, %d ticks: %q", c.began, c.ticks, key)
		}
	}
}
