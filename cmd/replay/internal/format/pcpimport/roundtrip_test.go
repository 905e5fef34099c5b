package pcpimport

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/export"
	"tachograph/cmd/replay/internal/export/exporttest"
	"tachograph/cmd/replay/internal/format/pcpexport"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
	"tachograph/store/rewrite"
)

// all is everything that archives hold, a line each: values with their instants on all
// clocks, instances with keys and labels, descriptions, events.
func all(t testing.TB, paths ...string) []string {
	t.Helper()
	var lines []string
	seen := make(map[string]bool)
	once := func(line string) {
		if !seen[line] {
			seen[line] = true
			lines = append(lines, line)
		}
	}
	for it, err := range rewrite.Read(rewrite.ReadOptions{Complete: catalog.Complete, Note: func(l store.Loss) { t.Error(l.What) }}, paths...) {
		if err != nil {
			t.Fatal(err)
		}
		a := it.Archive
		once(fmt.Sprintf("archive %+v %s %s %v %s", a.Host, a.BootID, a.TimeZone, a.Intervals, a.Recorder))
		if e := it.Event; e != nil {
			lines = append(lines, fmt.Sprintf("event %+v", *e))
			continue
		}
		for _, b := range it.Tick.Blocks {
			for c, d := range b.Group.Metrics {
				once(fmt.Sprintf("metric %+v", *d))
				for i, in := range b.Rows {
					who := ""
					if in != nil {
						who = in.Key
						once(fmt.Sprintf("instance %s %s %s %v %s", a.BootID, b.Group.Indom, in.Key, in.Labels, in.Name))
					}
					v := b.Cols[c].At(d.Type, i)
					lines = append(lines, fmt.Sprintf("value %s %v %+v %s [%s] %v %x %q %v", a.BootID, it.Tick.Class, b.At, d.Name, who, v.Type, v.Bits, v.Str, v.Miss))
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func exported(t testing.TB, dir string, w query.Window, metrics ...string) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "back")
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	request := &export.Request{Archive: r, Paths: []string{dir}, Window: w}
	for _, name := range metrics {
		request.Metrics = append(request.Metrics, r.Lookup(name))
	}
	if _, err := pcpexport.Format.Write(t.Context(), request, export.Target{Path: base, Stdout: io.Discard}); err != nil {
		t.Fatal(err)
	}
	return base
}

// What is exported and imported again is as it was: every value, instant, instance,
// description and event.
func TestThereAndBack(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, path := range append(files, "") {
		name := filepath.Base(path)
		var parts []*querytest.Part
		if path == "" {
			name = "two boots"
			parts, err = querytest.Parse(strings.NewReader(twoBoots))
		} else {
			parts, err = querytest.Load(path)
		}
		if err != nil || len(parts) == 0 {
			continue // other descriptions
		}
		hosts, ticks := make(map[string]bool), 0
		for _, p := range parts {
			hosts[p.Info.Host.ID] = true
			ticks += len(p.Ticks)
		}
		if len(hosts) != 1 || ticks == 0 || ticks > 20000 {
			continue
		}
		tried++
		t.Run(name, func(t *testing.T) {
			for _, p := range parts {
				narrow(p)
			}
			dir := t.TempDir()
			exporttest.Archives(t, dir, parts)
			back, report := brought(t, exported(t, dir, query.Window{}))
			want, got := all(t, dir), all(t, back)
			if !slices.Equal(got, want) {
				less, more := difference(want, got), difference(got, want)
				t.Errorf("of %d lines %d are missing and %d are new:\n-%s\n+%s", len(want), len(less), len(more),
					strings.Join(less[:min(8, len(less))], "\n-"), strings.Join(more[:min(8, len(more))], "\n+"))
			}
			if len(report.Notes)+len(report.Left) > 0 {
				t.Errorf("%+v", report)
			}
		})
	}
	if tried < 5 {
		t.Errorf("tried %d recordings", tried)
	}
}

// A part of a recording says how the machine is, which was read before it: it answers like a
// snapshot of that part, of which an export has the same, and so does one without a tick of
// the window.
func TestAPartHasWhatIsReadOnce(t *testing.T) {
	parts, err := querytest.Load("../../../testdata/mac.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	exporttest.Archives(t, dir, parts[:1])
	start := parts[0].Ticks[0].At.Wall
	w := query.Window{From: start + 8*60e9 + 1, To: start + 9*60e9 + 1}
	cut := filepath.Join(t.TempDir(), "cut.tacho")
	if _, err := rewrite.Copy(cut, rewrite.CopyOptions{ReadOptions: rewrite.ReadOptions{From: w.From, To: w.To}}, dir); err != nil {
		t.Fatal(err)
	}
	want := stands(t, cut, w)
	if len(want) != 4 || want["hinv.ncpu"] != "8" || want["cores"] != "8" {
		t.Fatalf("%v", want)
	}
	for name, source := range map[string]string{"archive": dir, "snapshot": cut} {
		back, report := brought(t, exported(t, source, w))
		if got := stands(t, back, w); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if len(report.Notes)+len(report.Left) > 0 {
			t.Errorf("%s: %+v", name, report)
		}
		alone, _ := brought(t, exported(t, source, w, "mem.physmem"))
		if got := stands(t, alone, w)["mem.physmem"]; got != want["mem.physmem"] {
			t.Errorf("%s alone: %s", name, got)
		}
	}
}

// stands is what an archive says of a machine in a window.
func stands(t testing.TB, path string, w query.Window) map[string]string {
	t.Helper()
	r, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := map[string]string{"cores": fmt.Sprint(query.Cores(r, w))}
	for s, err := range query.Read(r, query.Request{Window: w, Metrics: []string{"hinv.ncpu", "mem.physmem"}, Mode: query.Raw, Before: true}) {
		if err != nil {
			t.Fatal(err)
		}
		got[s.Name] += s.Value(0).String()
	}
	gauges, err := query.Gauges(r, w, 1)
	if err != nil {
		t.Fatal(err)
	}
	var means []string
	for _, g := range gauges {
		if g.Name == "cpu" || g.Name == "memory" {
			means = append(means, fmt.Sprintf("%s %.2f of %.2f", g.Name, g.Max, g.Of))
		}
	}
	got["gauges"] = strings.Join(means, ", ")
	return got
}

// narrow takes off bits that 32 cannot have: descriptions may say more.
func narrow(p *querytest.Part) {
	for _, tick := range p.Ticks {
		for _, b := range tick.Blocks {
			for c, d := range b.Group.Metrics {
				for i := range b.Cols[c].Bits {
					switch d.Type {
					case metric.U32:
						b.Cols[c].Bits[i] = uint64(uint32(b.Cols[c].Bits[i]))
					case metric.I32:
						b.Cols[c].Bits[i] = uint64(int64(int32(b.Cols[c].Bits[i])))
					}
				}
			}
		}
	}
}

func difference(a, b []string) []string {
	var list []string
	for _, s := range a {
		if _, ok := slices.BinarySearch(b, s); !ok {
			list = append(list, s)
		}
	}
	return list
}

// twoBoots has what PCP has no place for: a metric without a number, names that it does
// not take, units, absences, a pid of both boots and texts that are no UTF-8.
const twoBoots = `start 2026-11-20T23:59:30Z
host one id=H1 os=Linux platform=linux zone=Europe/Berlin
interval fast 10s
interval process 10s
boot b1 -1h
metric t.un-signed u64 counter disk fast byte
metric t.a i32 instant - fast
metric t.a.b i32 instant - fast
metric t.single f32 instant load fast
metric t.double f64 instant - fast percent
metric t.text string discrete - fast
metric proc.psinfo.utime u64 counter process process millisec
  width 32
  restarts never
metric proc.memory.rss u64 instant process process Kbyte
instance disk disk0 sda
instance disk disk1 sda
instance load 1 1_minute
instance process 7/1 000007_a label=x
instance process 7/2 000007_b
tick fast 0s
  t.un-signed[disk0] 1
  t.un-signed[disk1] 18446744073709551615
  t.a -1
  t.a.b !not read
  t.single[1] 0.1
  t.double 0.2
  t.text "x y"
tick process 1s
  proc.psinfo.utime[7/1] 5
  proc.memory.rss[7/1] !permission denied
tick process 11s
  proc.psinfo.utime[7/1] 6
  proc.memory.rss[7/1] !the kernel had other things to do
tick fast 12s
  t.un-signed[disk0] !unsupported
  t.un-signed[disk1] 0
  t.a !not read
  t.a.b 5
tick process 21s
  proc.psinfo.utime[7/2] 1
  proc.memory.rss[7/2] 2
event 15s sleep | it slept | seconds=2
boot b2 100s
tick fast 120s
  t.a 7
  t.a.b 8
tick process 121s
  proc.psinfo.utime[7/1] 1
  proc.memory.rss[7/1] !permission denied
`
