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
	l.add(7, in("first", base))
	l.add(8, in("other", base))
	l.add(7, in("second", base.Add(time.Minute)))
	for _, c := range []struct {
		pid  int32
		at   time.Duration
		want string
	}{
		{7, 30 * time.Second, "first"}, {7, time.Minute, "second"}, {7, time.Hour, "second"}, {7, -time.Minute, ""},
		{7, -time.Second, "first"}, {8, time.Hour, "other"}, {9, 0, ""},
	} {
		got := ""
		if in := l.find(c.pid, base.Add(c.at)); in != nil {
			got = in.Key
		}
		if got != c.want {
			t.Errorf("pid %d after %s: %q, want %q", c.pid, c.at, got, c.want)
		}
	}
	for i := range 3 * mostLately {
		l.add(int32(i), in(fmt.Sprint(i), base))
	}
	if len(l.pids) != mostLately || l.find(3*mostLately-1, base) == nil || l.find(8, base) != nil {
		t.Errorf("%d are remembered", len(l.pids))
	}
}
