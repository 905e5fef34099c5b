package report

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestResources(t *testing.T) {
	for _, c := range []struct {
		subtype, message string
		kind             Kind
		want             *Limit
	}{
		{"MEMORY", "(Limit 200 MB) Crossed High Water Mark", Memory, &Limit{Allowed: 200 << 20}},
		{"WAKEUPS", "(Limit 150/sec) Observed 214/sec over 300 secs", Wakeups, &Limit{Value: 64200, Over: 300 * time.Second, Allowed: 45000, Per: 300 * time.Second}},
		{"CPU_FATAL", "(Limit 50%) Observed 75% over 180 secs", CPU, &Limit{Value: 135, Over: 180 * time.Second, Allowed: 90, Per: 180 * time.Second}},
		{"THREADS", "(Limit 2000)", Threads, &Limit{Allowed: 2000}},
		{"PORTS", "(Limit many)", Resource, nil},
		{"", "", Resource, nil},
	} {
		text := fmt.Sprintf(`{"bug_type":"385"}{"pid":7,"exception":{"type":"EXC_RESOURCE","subtype":%q,"message":%q}}`, c.subtype, c.message)
		r, err := Parse(strings.NewReader(text), "x.ips")
		if err != nil || r.Kind != c.kind || (r.Limit == nil) != (c.want == nil) || r.Limit != nil && *r.Limit != *c.want {
			t.Errorf("%s %s: %+v, %v, %v", c.subtype, c.message, r.Limit, r.Kind, err)
		}
	}
}
