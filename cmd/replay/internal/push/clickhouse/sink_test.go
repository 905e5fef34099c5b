package clickhouse

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/export/exporttest"
	"tachograph/cmd/replay/internal/naming"
	"tachograph/sample/metric"
	"tachograph/store/query/querytest"
	"tachograph/store/rewrite"
)

func parse(t testing.TB, text string) []*querytest.Part {
	t.Helper()
	parts, err := querytest.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// everything is one of each: types, reasons, hostile names, units of two systems, a
// clock that is set, two boots.
const everything = `start 2026-11-20T03:00:00Z
interval static 2562047h
interval polled 10s
interval fast 1s
interval process 5s
metric a.i32 i32 instant - fast
metric a.u32 u32 instant - fast
metric a.i64 i64 instant - fast
metric a.u64 u64 counter - fast byte
metric a.f32 f32 instant load fast
metric a.f64 f64 instant - fast millisec
metric a.text string discrete disk polled
metric filesys.full f64 instant filesys polled
metric proc.psinfo.utime u64 counter process process millisec
metric proc.memory.rss u64 instant process process Kbyte
metric proc.psinfo.nice i32 instant process process
metric proc.psinfo.sname string discrete process process
metric proc.wakeups.idle u32 counter process process count
metric proc.psinfo.utime_of_a_stranger f64 instant process process
host web';DROP-1 id=h'1 os=Linux release=6.1 arch=amd64 platform=linux memory=8GB zone=UTC
instance load 1m 1 minute
instance disk s'da\n s"da
instance filesys / /
instance process 612/1 000612 post';gres uid=26 user=pg'
instance process 613/1 000613 idle
boot b1 -1h
tick static 0s
every 1s 0s 20s fast
  a.i32 -2147483648
  a.u32 4294967295
  a.i64 -9223372036854775808
  a.u64 18446744073709551615
  a.f32[1m] 1.7
  a.f64 level=0.125 drift=0.5
every 10s 0s 20s polled
  a.text[s'da\n] "a'\\b	c"
  filesys.full[/] level=50 drift=0.01
every 5s 0s 20s process
  proc.psinfo.utime[612/1] rate=500 from=100
  proc.memory.rss[612/1] 100
  proc.psinfo.nice[612/1] -5
  proc.psinfo.sname[612/1] "S'"
  proc.wakeups.idle[612/1] 7
  proc.psinfo.utime_of_a_stranger[612/1] 0.5
  proc.psinfo.utime[613/1] 18446744073709551615
  proc.memory.rss[613/1] !permission denied
  proc.psinfo.nice[613/1] 0
  proc.psinfo.sname[613/1] !vanished
  proc.wakeups.idle[613/1] 4294967295
  proc.psinfo.utime_of_a_stranger[613/1] !permission denied
event 12s process exit | post';gres ended | pid=612 status=1
clock -30s
event 21s clock step | the clock was set back by 30 s
every 1s 21s 40s fast
  a.i32 1
  a.u32 !timed out
  a.i64 2
  a.u64 3
  a.f32[1m] !permission denied
  a.f64 -0.5
boot b2 38m
event 38m boot | started after a panic
every 1s 38m 38m5s fast
  a.i32 1
  a.u32 1
  a.i64 2
  a.u64 3
  a.f32[1m] 0.1
  a.f64 1e300
`

// expected are the rows that must come back for archives, as text.
func expected(t testing.TB, wide []field, paths ...string) (samples, processes, events, ticks []string) {
	t.Helper()
	columns := make(map[string]*field)
	for i := range wide {
		columns[wide[i].metric] = &wide[i]
	}
	seen := make(map[string]bool)
	for item, err := range rewrite.Read(rewrite.ReadOptions{}, paths...) {
		if err != nil {
			t.Fatal(err)
		}
		boot, host := item.Archive.BootID, item.Archive.Host.ID
		if e := item.Event; e != nil {
			events = append(events, fmt.Sprintf("%q %q %q %d %d %d %q %q %q %q", e.Kind, host, boot, e.At.Cont, e.At.Wall, e.At.Awake, e.Indom, e.Key, e.Text, e.Labels))
			continue
		}
		ticks = append(ticks, fmt.Sprintf("%q %s %q %d %d %d", host, item.Tick.Class, boot, item.Tick.At.Cont, item.Tick.At.Wall, item.Tick.At.Awake))
		for _, b := range item.Tick.Blocks {
			for row, in := range b.Rows {
				key, name := "", ""
				if in != nil {
					key, name = in.Key, in.Name
				}
				var cells []string
				for i, d := range b.Group.Metrics {
					v := b.Cols[i].At(d.Type, row)
					text := v.String()
					if d.Type == metric.F32 && v.Miss == 0 {
						text = strconv.FormatFloat(naming.Number(v), 'g', -1, 64)
					}
					if f := columns[d.Name]; f != nil && b.Group.Indom == "process" {
						if factor := f.factor(d); factor != 0 && v.Miss != 0 {
							cells = append(cells, d.Name+"="+v.Miss.String())
							continue
						} else if factor != 0 && fits(v.Bits, factor) {
							if factor > 1 {
								text = strconv.FormatUint(v.Bits*factor, 10)
							}
							cells = append(cells, d.Name+"="+strconv.Quote(text))
							continue
						}
					}
					if v.Miss != 0 {
						text = "!" + v.Miss.String()
					}
					samples = append(samples, fmt.Sprintf("%q %q %q %q %q %d %d %s %q", d.Name, host, key, name, boot, b.At.Cont, b.At.Wall, d.Type, text))
					seen[d.Type.String()] = true
				}
				if b.Group.Indom == "process" {
					slices.Sort(cells)
					processes = append(processes, fmt.Sprintf("%q %q %q %d %d %s %v", host, key, boot, b.At.Cont, b.At.Wall, item.Tick.Class, cells))
				}
			}
		}
	}
	return samples, processes, events, ticks
}

// stored are the rows that a server has, as the same text; once, if final.
func stored(t testing.TB, s *server, wide []field, database string) (samples, processes, events, ticks []string) {
	t.Helper()
	rows := func(statement string, fn func(c []string)) {
		for line := range strings.Lines(s.ask(statement + " FORMAT TabSeparated")) {
			cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			fn(cells)
		}
	}
	rows("SELECT metric, host, instance, name, boot, cont, wall, type, u, i, f, text, reason FROM "+database+".samples FINAL", func(c []string) {
		text := unescape(c[11])
		switch c[7] {
		case "u32", "u64":
			text = c[8]
		case "i32", "i64":
			text = c[9]
		case "f32", "f64":
			x, err := strconv.ParseFloat(c[10], 64)
			if err != nil {
				t.Fatal(err)
			}
			text = strconv.FormatFloat(x, 'g', -1, 64)
			if c[7] == "f64" {
				text = metric.Value{Type: metric.F64, Bits: math.Float64bits(x)}.String()
			}
		}
		if c[12] != "" {
			text = "!" + unescape(c[12])
		}
		samples = append(samples, fmt.Sprintf("%q %q %q %q %q %s %s %s %q", unescape(c[0]), unescape(c[1]), unescape(c[2]), unescape(c[3]), unescape(c[4]), c[5], c[6], c[7], text))
	})
	var names []string
	for _, f := range wide {
		names = append(names, f.column)
	}
	rows("SELECT host, instance, boot, cont, wall, class, arrayStringConcat(absent, '\\x01'), arrayStringConcat(reasons, '\\x01'), "+strings.Join(names, ", ")+" FROM "+database+".processes FINAL", func(c []string) {
		var cells []string
		if c[6] != "" {
			why := strings.Split(c[7], "\x01")
			for i, name := range strings.Split(c[6], "\x01") {
				cells = append(cells, name+"="+unescape(why[i]))
			}
		}
		for i, v := range c[8:] {
			if v != `\N` {
				cells = append(cells, wide[i].metric+"="+strconv.Quote(unescape(v)))
			}
		}
		slices.Sort(cells)
		processes = append(processes, fmt.Sprintf("%q %q %q %s %s %s %v", unescape(c[0]), unescape(c[1]), unescape(c[2]), c[3], c[4], c[5], cells))
	})
	rows("SELECT kind, host, boot, cont, wall, awake, indom, instance, text, arrayStringConcat(label_names, '\\x01'), arrayStringConcat(label_values, '\\x01') FROM "+database+".events FINAL", func(c []string) {
		var labels []metric.Label
		if c[9] != "" {
			values := strings.Split(c[10], "\x01")
			for i, n := range strings.Split(c[9], "\x01") {
				labels = append(labels, metric.Label{Name: unescape(n), Value: unescape(values[i])})
			}
		}
		events = append(events, fmt.Sprintf("%q %q %q %s %s %s %q %q %q %q", unescape(c[0]), unescape(c[1]), unescape(c[2]), c[3], c[4], c[5], unescape(c[6]), unescape(c[7]), unescape(c[8]), labels))
	})
	rows("SELECT host, class, boot, cont, wall, awake FROM "+database+".ticks FINAL", func(c []string) {
		ticks = append(ticks, fmt.Sprintf("%q %s %q %s %s %s", unescape(c[0]), c[1], unescape(c[2]), c[3], c[4], c[5]))
	})
	return samples, processes, events, ticks
}

func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\'`, "'", `\0`, "\x00", `\b`, "\b", `\f`, "\f", `\r`, "\r").Replace(s)
}

// compare says where rows differ, and that none is there twice.
func compare(t testing.TB, what string, want, got []string) {
	t.Helper()
	if len(want) == 0 {
		t.Errorf("%s: nothing to compare", what)
	}
	count := make(map[string]int)
	for _, s := range want {
		count[s]++
	}
	for _, s := range got {
		count[s]--
	}
	shown := 0
	for _, s := range slices.Sorted(maps.Keys(count)) {
		if n := count[s]; n != 0 {
			if shown++; shown > 6 {
				break
			}
			t.Errorf("%s: %+d of %s", what, -n, s)
		}
	}
	if len(want) != len(got) {
		t.Errorf("%s: %d rows, want %d", what, len(got), len(want))
	}
}

func check(t testing.TB, s *server, wide []field, database string, paths ...string) {
	t.Helper()
	samples, processes, events, ticks := expected(t, wide, paths...)
	samples2, processes2, events2, ticks2 := stored(t, s, wide, database)
	compare(t, "samples", samples, samples2)
	compare(t, "processes", processes, processes2)
	compare(t, "events", events, events2)
	compare(t, "ticks", ticks, ticks2)
}

func TestEverythingArrivesOnce(t *testing.T) {
	all := shards(t, 1)
	paths := exporttest.Archives(t, t.TempDir(), parse(t, everything))
	s := cluster(t, all, "once")[0]
	send(t, s, 50, paths...)
	check(t, all[0], s.wide, "once", paths...)

	// Once more, cut otherwise, by somebody who knows nothing of the first time.
	again := cluster(t, all, "once")[0]
	send(t, again, 17, paths...)
	check(t, all[0], s.wide, "once", paths...)
	for _, table := range tables() {
		once := all[0].ask("SELECT count() FROM once." + table.name + " FINAL")
		all[0].ask("OPTIMIZE TABLE once." + table.name + " FINAL")
		if n := all[0].ask("SELECT count() FROM once." + table.name); n != once && table.day == "" {
			t.Errorf("%s has %s rows after the merge, and %s with FINAL before", table.name, n, once)
		}
	}
	if n := all[0].ask("SELECT name, os FROM once.hosts FORMAT TabSeparated"); n != "web\\';DROP-1\tLinux\n" {
		t.Errorf("hosts: %q", n)
	}
	// 0.625 ms; a text and what is absent have no value.
	if n := all[0].ask("SELECT max(value) FROM once.samples WHERE metric = 'a.f64' AND boot = 'b1'"); n != "0.010125\n" {
		t.Errorf("a value in base units: %q", n)
	}
	if n := all[0].ask("SELECT count(value) FROM once.samples WHERE reason != '' OR type = 'string'"); n != "0\n" {
		t.Errorf("of what has no number, so many have a value: %q", n)
	}
}
