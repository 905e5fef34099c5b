package query_test

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/store/query"
)

// The sum of a group is that of its processes.
func TestGroups(t *testing.T) {
	a := parse(t, "start 2026-11-20T03:00:00Z\n"+macBook+`instance process 1 000001 nginx service=web.service uid=33
instance process 2 000002 nginx service=web.service uid=33
instance process 3 000003 shop container=front
instance process 4 000004 sh
boot b1 -1h
every 5s 0s 20s process
  proc.psinfo.utime[1] rate=100
  proc.psinfo.utime[2] rate=200
  proc.psinfo.utime[3] rate=300
  proc.psinfo.utime[4] rate=400
  proc.memory.rss[1] 10
  proc.memory.rss[2] 20
  proc.memory.rss[3] 30
  proc.memory.rss[4] 40
  proc.memory.footprint[1] 9216
  proc.memory.footprint[3] 25600
`)
	list := query.Processes(a, query.Window{}, a.Archives()[0].To, nil)
	for by, want := range map[query.Grouping]string{
		query.PerOwner:   "service web.service 2 0.30 29 30; container front 1 0.30 25 30;  (no owner) 1 0.40 40 40",
		query.PerService: "service web.service 2 0.30 29 30;  (no service) 2 0.70 65 70",
		query.PerName:    " nginx 2 0.30 29 30;  shop 1 0.30 25 30;  sh 1 0.40 40 40",
	} {
		var got []string
		for _, g := range query.Groups(list, by) {
			got = append(got, fmt.Sprintf("%s %s %d %.2f %v %v", g.Kind, g.Sum.Name, len(g.Processes), g.Sum.CPU(), g.Sum.Memory()/1024, g.Sum.Levels[query.Resident]/1024))
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("by %s: %s\nwant %s", by, text, want)
		}
	}
}
