package pcpimport

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/pcp/pcparchive"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/store/mend"
	"tachograph/store/rewrite"
)

const start = int64(1795300000_123456789)

// brought is an archive that was imported.
func brought(t testing.TB, bases ...string) (string, *Report) {
	t.Helper()
	dir := t.TempDir()
	n := 0
	r, err := Import(t.Context(), Options{Create: func(a rewrite.About) (Writer, error) {
		n++
		return rewrite.Create(filepath.Join(dir, fmt.Sprintf("%d.tacho", n)), a)
	}}, bases...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("%d.tacho", i+1))
		if found, err := mend.Verify(path, nil); err != nil || len(found) > 0 {
			t.Fatalf("%s: %v %v", path, err, found)
		}
	}
	return dir, r
}

// handmade is an archive as a program of PCP on a Mac writes it: a reboot and a restart
// of the recorder between marks, a metric with two names, a pid that is used again.
func handmade(t testing.TB, base string) {
	t.Helper()
	w, err := pcparchive.Create(base, pcparchive.Options{Force: true, Label: pcparchive.Label{PID: 1, Start: start, Host: "mac", TZ: "CET-1CEST"}})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	const procs = 3<<22 | 9
	mac := func(n uint32) uint32 { return 78<<22 | n }
	for _, d := range []pcparchive.Desc{
		{PMID: mac(1), Type: pcp.U32, InDom: pcp.Null, Semantics: pcp.Instant, Units: 0x01003000, Names: []string{"kernel.all.uptime"}},
		{PMID: mac(2), Type: pcp.U64, InDom: pcp.Null, Semantics: pcp.Counter, Units: 0x01002000, Names: []string{"kernel.all.cpu.user", "kernel.cpu.user"}},
		{PMID: mac(3), Type: pcp.U64, InDom: procs, Semantics: pcp.Instant, Units: 0x11000000, Names: []string{"proc.memory.rss"}},
		{PMID: mac(4), Type: pcp.AggregateStatic, InDom: pcp.Null, Semantics: pcp.Instant, Names: []string{"odd.blob"}},
		{PMID: mac(5), Type: pcp.String, InDom: pcp.Null, Semantics: pcp.Discrete, Names: []string{"vendor.name"}},
	} {
		d.PMID = d.PMID&^(0x1ff<<22) | map[bool]uint32{true: 3 << 22, false: 78 << 22}[d.InDom == procs]
		check(w.Desc(&d))
	}
	one := func(n uint32, typ pcp.Type, bits uint64, words ...string) pcparchive.Set {
		return pcparchive.Set{PMID: mac(n), Type: typ, Instances: pcparchive.Singular(), Values: &metric.Column{Bits: []uint64{bits}, Words: words}}
	}
	at := start
	who := [][]pcparchive.Instance{{{ID: 1, Name: "000001 launchd"}, {ID: 50, Name: "000050 ls"}}, {{ID: 1, Name: "000001 launchd"}}, {{ID: 1, Name: "000001 launchd"}, {ID: 50, Name: "000050 vi"}}}
	for stretch, uptime := range []uint64{1000, 1100, 7} {
		for i := range int64(3) {
			list := who[i]
			check(w.InDom(at, procs, list, false))
			rss := pcparchive.Set{PMID: 3<<22 | 3, Type: pcp.U64, Values: &metric.Column{}}
			for _, in := range list {
				rss.Instances, rss.Values.Bits = append(rss.Instances, in.ID), append(rss.Values.Bits, uint64(at%1000))
			}
			sets := []pcparchive.Set{one(2, pcp.U64, uint64(at/1e6)), rss}
			if i == 1 {
				sets = append(sets, one(1, pcp.U32, uptime+10), one(5, pcp.String, 0, "x\x00y"))
			}
			check(w.Result(at, sets))
			at += 10e9
		}
		check(w.Mark(at - 5e9))
		if stretch == 0 {
			at += 70e9 // a restart: 100 seconds after the first
		} else {
			at += 1000e9
		}
	}
	_, err = w.Finish()
	check(err)
}

func TestWhatPCPDoesNotSay(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x")
	handmade(t, base)
	dir, r := brought(t, base)
	if r.Boots != 2 || r.Host.Name != "mac" || r.Host.Platform != "macos" || r.Values != 3*(2*3+5+2) {
		t.Errorf("%+v", r)
	}
	var events []string
	lives := make(map[string]string)
	boots := make(map[string]int)
	for it, err := range rewrite.Read(rewrite.ReadOptions{}, dir) {
		if err != nil {
			t.Fatal(err)
		}
		boots[it.Archive.BootID]++
		if it.Archive.TimeZone != "+01:00" {
			t.Errorf("the zone is %s", it.Archive.TimeZone)
		}
		if it.Event != nil {
			events = append(events, string(it.Event.Kind)+" "+it.Event.Label("seconds"))
			continue
		}
		for _, b := range it.Tick.Blocks {
			for _, d := range b.Group.Metrics {
				if d.Name == "kernel.all.cpu.user" && (d.Units != metric.Milliseconds || d.Falls != metric.NeverRestarts) {
					t.Errorf("%+v", d)
				}
			}
			for _, in := range b.Rows {
				if in != nil {
					lives[it.Archive.BootID+in.Key] = in.Name
				}
			}
		}
	}
	if got := strings.Join(events, ", "); got != "gap 80.000" {
		t.Errorf("events: %s", got)
	}
	if len(boots) != 2 || len(lives) != 2*1+2*2+1 {
		t.Errorf("boots %v, processes %v", boots, lives)
	}
	if _, ok := boots["pcp-20261122T051000Z"]; !ok {
		t.Logf("boots %v", boots)
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	handmade(t, a)
	w, err := pcparchive.Create(b, pcparchive.Options{Label: pcparchive.Label{Start: start, Host: "other"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Mark(start); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	// Small files of many marks would become as many files.
	marks := func(name string, n int, before []pcparchive.Set) string {
		base := filepath.Join(dir, name)
		w, err := pcparchive.Create(base, pcparchive.Options{Label: pcparchive.Label{Start: start, Host: "marks"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Desc(&pcparchive.Desc{PMID: 78<<22 | 2, Type: pcp.U64, InDom: pcp.Null, Semantics: pcp.Counter, Names: []string{"x.y"}}); err != nil {
			t.Fatal(err)
		}
		for i := range int64(n) {
			if err := errors.Join(w.Result(start+i*10e9, before), w.Mark(start+i*10e9+5e9)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		return base
	}
	value := []pcparchive.Set{{PMID: 78<<22 | 2, Type: pcp.U64, Instances: pcparchive.Singular(), Values: &metric.Column{Bits: []uint64{1}}}}
	none := Options{Create: func(rewrite.About) (Writer, error) { t.Error("it makes an archive"); return nil, nil }}
	for _, c := range []struct {
		bases []string
		say   string
	}{
		{[]string{a, b}, "import the archives of one host at a time"},
		{[]string{b}, "holds no values"},
		{[]string{marks("boots", mostBoots+1, value)}, "tells of 1001 boots"},
		{[]string{marks("marks", mostStretches+1, value)}, "more than 16384 marks"},
		{[]string{filepath.Join(dir, "c")}, "there is no archive of PCP"},
	} {
		if _, err := Import(t.Context(), none, c.bases...); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%v: %v", c.bases, err)
		}
	}
	making := Options{Create: func(a rewrite.About) (Writer, error) { return rewrite.Create(filepath.Join(t.TempDir(), "x.tacho"), a) }}
	for name, c := range map[string]struct {
		write func(w *pcparchive.Writer) error
		say   string
	}{
		// One metric has thousands of instances, thousands of others have one of them.
		"cells": {func(w *pcparchive.Writer) (err error) {
			many := pcparchive.Set{PMID: 78<<22 | 1, Type: pcp.U32, Values: &metric.Column{Bits: make([]uint64, 3000)}}
			for i := range uint32(3000) {
				many.Instances = append(many.Instances, i)
			}
			sets := []pcparchive.Set{many}
			for i := range uint32(1500) {
				err = errors.Join(err, w.Desc(&pcparchive.Desc{PMID: 78<<22 | (i + 1), Type: pcp.U32, InDom: 78<<22 | 1, Semantics: pcp.Instant, Names: []string{fmt.Sprint("a.b", i)}}))
				if i > 0 {
					sets = append(sets, pcparchive.Set{PMID: 78<<22 | (i + 1), Type: pcp.U32, Instances: []uint32{1}, Values: &metric.Column{Bits: []uint64{1}}})
				}
			}
			return errors.Join(err, w.Result(start, sets), w.Result(start+1e10, sets))
		}, "a record in which 1500 metrics have 3000 instances: more than 4194304 values at a time"},
		// Of what is allowed at a time, much of which is absent, there is ever more.
		"absent": {func(w *pcparchive.Writer) (err error) {
			many := pcparchive.Set{PMID: 78<<22 | 1, Type: pcp.U32, Values: &metric.Column{Bits: make([]uint64, 2000)}}
			for i := range uint32(2000) {
				many.Instances = append(many.Instances, i)
			}
			sets := []pcparchive.Set{many}
			for i := range uint32(1000) {
				err = errors.Join(err, w.Desc(&pcparchive.Desc{PMID: 78<<22 | (i + 1), Type: pcp.U32, InDom: 78<<22 | 1, Semantics: pcp.Instant, Names: []string{fmt.Sprint("a.b", i)}}))
				if i > 0 {
					sets = append(sets, pcparchive.Set{PMID: 78<<22 | (i + 1), Type: pcp.U32, Instances: []uint32{1}, Values: &metric.Column{Bits: []uint64{1}}})
				}
			}
			for i := range int64(4) {
				err = errors.Join(err, w.Result(start+i*1e10, sets))
			}
			return err
		}, "more than 64 absent values for each that is there"},
		// Long names, and another selection of them each time.
		"groups": {func(w *pcparchive.Writer) (err error) {
			for i := range uint32(17) {
				err = errors.Join(err, w.Desc(&pcparchive.Desc{PMID: 78<<22 | i, Type: pcp.U32, InDom: pcp.Null, Semantics: pcp.Instant, Names: []string{strings.Repeat(string(rune('a'+i)), 1000)}}))
			}
			for n := range uint32(1 << 14) {
				sets := []pcparchive.Set{{PMID: 78<<22 | 16, Type: pcp.U32, Instances: pcparchive.Singular(), Values: &metric.Column{Bits: []uint64{1}}}}
				for i := range uint32(16) {
					if n>>i&1 != 0 {
						sets = append(sets, pcparchive.Set{PMID: 78<<22 | i, Type: pcp.U32, Instances: pcparchive.Singular(), Values: &metric.Column{Bits: []uint64{1}}})
					}
				}
				err = errors.Join(err, w.Result(start+int64(n+1)*1e9, sets))
			}
			return err
		}, "different selections of metrics, whose names come to more than 64 MB"},
	} {
		base := filepath.Join(dir, name)
		w, err := pcparchive.Create(base, pcparchive.Options{Label: pcparchive.Label{Start: start, Host: "much"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.write(w); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		if _, err := Import(t.Context(), making, base); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := &importer{survey: &survey{bases: []string{"x"}}, people: make(map[string]*instances), instances: mostInstances - 1}
	told := func(key string) *pcparchive.ReadSet {
		s := &pcparchive.ReadSet{Instances: []uint32{1}}
		s.Values.Bits, s.Values.Words = []uint64{0}, []string{key}
		return s
	}
	if err := m.meet("disk", told(`{"key":"a"}`)); err != nil {
		t.Error(err)
	}
	if err := m.meet("disk", told(`{"key":"b"}`)); err == nil || !strings.Contains(err.Error(), "more than 524288 instances") {
		t.Errorf("one instance too many: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	aborted := 0
	if _, err := Import(ended, Options{Create: func(rewrite.About) (Writer, error) { aborted++; return nil, context.Canceled }}, a); err == nil {
		t.Error("it does not end with its context")
	}
}

func TestZones(t *testing.T) {
	for _, c := range []struct {
		tz, zone, want string
	}{
		{"UTC", ":Etc/UTC", "Etc/UTC"}, {"CET-1CEST", "", "+01:00"}, {"EST5EDT", "", "EST5EDT"}, {"XYZ5", "", "-05:00"},
		{"IST-5:30", "", "+05:30"}, {":Europe/Berlin", "", "Europe/Berlin"}, {"", "", "UTC"}, {"X-99999999", "", "UTC"}, {"<+0330>-3:30", ":/etc/passwd", "UTC"},
	} {
		if got := zoneOf(pcparchive.Label{TZ: c.tz, Zone: c.zone}); got != c.want && c.want != "UTC" {
			t.Errorf("%s %s is %s, want %s", c.tz, c.zone, got, c.want)
		}
	}
}

func TestIntervals(t *testing.T) {
	for ns, want := range map[int64]time.Duration{999_800_000: time.Second, 60_010_000_000: time.Minute, 1_500_000_000: 1500 * time.Millisecond, 123: 123} {
		if got := rounded(ns); got != want {
			t.Errorf("%d is %v, want %v", ns, got, want)
		}
	}
}
