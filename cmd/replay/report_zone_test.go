package main

import (
	"encoding/csv"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/browsertest"
)

// A page shows every time in the zone that was asked for, wherever the browser is; what
// programs read has the offset of the zone.
func TestPageZone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("drives a browser")
	}
	const zone = "America/St_Johns"
	there, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if _, errs, status := replay(openText, "report", "-o", file, "--tz", zone, "--at", "2026-11-19 23:40", "testdata/mac.txt"); status != 0 {
		t.Fatal(errs)
	}
	b := browsertest.Start(t)
	p := b.Tab()
	p.Viewport(1400, 900, false)
	p.Go("file://" + file)
	p.Wait(ready)
	p.Eval(frames, nil)
	for what, selector := range map[string]string{"span": "header .span", "cursor": ".where", "processes": "#processes .note", "events": "#events .events tbody button"} {
		if text := p.Text(`document.querySelector("` + selector + `").textContent`); !strings.Contains(text, "2026-11-19 23:") || !strings.Contains(text, "NST") {
			t.Errorf("%s: %s", what, text)
		}
	}
	if text := p.Text(`document.querySelector("footer").textContent`); !strings.Contains(text, "zone "+zone) {
		t.Errorf("footer: %s", text)
	}
	p.ClickOn("#plot-cpu .csv")
	_, text := b.Download()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) < 1000 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	want := series(t, "rates", "kernel.all.cpu.user")
	for _, r := range rows[1:] {
		at, err := time.Parse(time.RFC3339, r[0])
		if err != nil || at.In(there).Format(time.RFC3339) != r[0] || !strings.HasSuffix(r[0], "-03:30") {
			t.Fatalf("time %s, %v", r[0], err)
		}
		if _, ok := want[at.UTC().Format(time.RFC3339)]; !ok {
			t.Errorf("replay says nothing of %s", r[0])
		}
	}
	complains(t, p)
}

// A value without neighbours is a dot where a line cannot be drawn.
func TestPageOneSample(t *testing.T) {
	t.Parallel()
	_, p := openReport(t, openText, "testdata/mac.txt", "--from", "2026-11-20 03:10", "--to", "2026-11-20 03:10")
	for _, id := range []string{"cpu", "load"} {
		var colours int
		p.Eval(`(() => { const c = document.querySelector("#plot-`+id+` canvas"), r = c.width / c.clientWidth, all = c.getContext("2d").getImageData(0, 0, c.width, c.height).data
			let n = 0
			for (let i = 0; i < all.length; i += 4) { const [a, b, d] = all.slice(i, i + 3); if (all[i + 3] > 128 && Math.max(a, b, d) - Math.min(a, b, d) > 60) n++ }
			return Math.round(n / r / r) })()`, &colours)
		if colours < 4 {
			t.Errorf("%s: %d coloured dots", id, colours)
		}
	}
	complains(t, p)
}
