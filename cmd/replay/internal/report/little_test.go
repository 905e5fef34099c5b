package report

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"tachograph/store/query/querytest"
)

// A page of next to nothing says what there is, and why the rest is not there.
func TestLittle(t *testing.T) {
	mac := mac(t)
	first := mac.Archives()[0].From
	for _, c := range []struct {
		name     string
		archive  *querytest.Archive
		from, to int64
		plots    bool
		absent   string
	}{
		{"no processes", twoBoots(t, ""), 0, 0, true, "Processes"},
		{"one sample of all", described(t, strings.ReplaceAll(oneSample, "AT", "10s")), 0, 0, false, "CPU by mode"},
		{"one sample of many", mac.(*querytest.Archive), first + 600e9, first + 600e9, true, ""},
		{"one sample with processes", described(t, processesHead+readings(5, 0, 0)), 0, 0, true, "CPU by mode"},
	} {
		p, err := Collect(context.Background(), c.archive, Request{Host: c.archive.Hosts()[0].ID, From: c.from, To: c.to})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var b bytes.Buffer
		if err := p.WriteHTML(&b); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		u := unpack(t, p)
		if u.Columns != 1 && c.name != "no processes" || c.plots != (len(u.Plots) > 0) {
			t.Errorf("%s: %d columns, %d plots", c.name, u.Columns, len(u.Plots))
		}
		if c.absent != "" && !slices.ContainsFunc(u.Absent, func(a Absent) bool { return a.What == c.absent && a.Why != "" }) {
			t.Errorf("%s: absent are %v", c.name, u.Absent)
		}
	}
	if _, err := Collect(context.Background(), mac, Request{Host: mac.Hosts()[0].ID, From: first - 2e12, To: first - 1e12}); err == nil || err.Error() != "nothing was recorded in that time" {
		t.Errorf("of a time before the recording: %v", err)
	}
}

// oneSample describes a recording of one sample, of which no rate can be told.
const oneSample = `start 2026-11-20T03:00:00Z
host box id=h1 os=Linux release=6.18 arch=amd64 platform=linux cpus=2 memory=1073741824
interval fast 1s
metric kernel.all.cpu.user u64 counter - fast millisec
boot b1 -1h
every 1s AT AT fast
  kernel.all.cpu.user rate=800 from=1000
`

// The library that draws has its licence with it, once to be read in the file and once on
// the page.
func TestLicence(t *testing.T) {
	var b bytes.Buffer
	if err := collect(t, mac(t), Request{}).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Copyright (c) 2022 Leon Sorokin", "Permission is hereby granted, free of charge", "THE SOFTWARE IS PROVIDED"} {
		if n := strings.Count(b.String(), text); n != 2 {
			t.Errorf("%q stands there %d times", text, n)
		}
	}
	if !strings.Contains(b.String(), "leeoniya/uPlot (v1.6.32)") || !strings.Contains(b.String(), "uPlot 1.6.32 (MIT)") {
		t.Error("the version that the page and the guide name is not that of the library")
	}
}
