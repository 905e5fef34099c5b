package query_test

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// A distrust lasts from the check that found it to the event that it is over, or to the
// next start of the recorder; one that is told again in an archive that began is the same.
func TestDistrusts(t *testing.T) {
	begin := func(at, pair, key, from string) string {
		return fmt.Sprintf("event %s distrust begin | found | indom=interface key=%s pair=%s metrics=network.in_disk because=it_lies from=2026-11-20T%sZ\n", at, key, pair, from)
	}
	text := `start 2026-11-20T00:00:00Z
host box os=Linux
interval fast 10s
metric network.in.bytes u64 counter interface fast byte
metric network.into u64 counter - fast byte
instance interface en0 en0
instance interface en1 en1
boot b1 -1h
event 0s recorder start | it started
` + begin("20m", "one", "en0", "00:15:00") + begin("25m", "two", "", "00:16:00") + begin("40m", "one", "en0", "00:15:00") +
		"event 50m distrust end | over | indom=interface key=en0 pair=one metrics=network.in_disk because=it_lies from=2026-11-20T00:15:00Z seconds=2100\n" +
		"event 1h recorder start | it started\n" + begin("80m", "one", "en1", "01:10:00") + `every 10s 0s 2h fast
  network.in.bytes[en0] rate=1
  network.in.bytes[en1] rate=1
  network.into rate=1
`
	parts, err := querytest.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	a := querytest.New(parts...)
	const minute = int64(60e9)
	midnight := a.Archives()[0].From
	show := func(from, to int64) string {
		var all []string
		w := query.Window{From: midnight + from*minute}
		if to != 0 {
			w.To = midnight + to*minute
		}
		for _, d := range query.Distrusts(a, w) {
			end := int64(0)
			if d.To != 0 {
				end = (d.To - midnight) / minute
			}
			all = append(all, fmt.Sprintf("%s %d-%d", d.Key, (d.From-midnight)/minute, end))
		}
		return strings.Join(all, ", ")
	}
	for _, c := range []struct {
		from, to int64
		want     string
	}{
		{0, 120, "en0 15-50,  16-60, en1 70-0"}, {0, 10, ""}, {30, 35, "en0 15-0,  16-0"}, {55, 58, " 16-0"}, {65, 69, ""}, {65, 90, "en1 70-0"}, {110, 0, "en1 70-0"},
	} {
		if got := show(c.from, c.to); got != c.want {
			t.Errorf("from %d to %d: %q, want %q", c.from, c.to, got, c.want)
		}
	}
	d := query.Distrusts(a, query.Window{})[0]
	m := func(name, indom string) *metric.Desc { return &metric.Desc{Name: name, Indom: indom} }
	host := a.Archives()[0].Host.ID
	for _, c := range []struct {
		desc *metric.Desc
		key  string
		want bool
	}{
		{m("network.in.bytes", "interface"), "en0", true}, {m("network.in.bytes", "interface"), "en1", false}, {m("network.into", ""), "", false},
		{m("network.in", ""), "", true}, {m("disk.x", "disk"), "en1", true},
	} {
		if got := d.Concerns(host, c.desc, &metric.Instance{Key: c.key}); got != c.want {
			t.Errorf("%s [%s]: %v", c.desc.Name, c.key, got)
		}
	}
	if d.Concerns("another", m("network.in.bytes", "interface"), &metric.Instance{Key: "en0"}) {
		t.Error("it concerns another host")
	}
}
