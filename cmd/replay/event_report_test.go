package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
	"tachograph/sample/said"
	"tachograph/store"
	"tachograph/store/recording"
)

// killedWithReport records a tick with the text of a report, and returns the files as a kill would
// leave them just then.
func killedWithReport(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	at := metric.Stamp{Wall: time.Date(2026, 11, 20, 3, 12, 0, 0, time.UTC).UnixNano(), Awake: int64(time.Hour), Cont: int64(time.Hour)}
	w, err := recording.Create(recording.Options{Dir: dir, Host: metric.Host{ID: "a", Name: "mac", OS: "Darwin", Platform: "macos"}, BootID: "b", TimeZone: "UTC",
		Intervals: metric.Intervals{metric.Polled: 10 * time.Second}, Now: func() metric.Stamp { return at }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	event := metric.Event{At: at, Kind: metric.EventCrash, Text: "shop crashed",
		Labels: []metric.Label{{Name: "source", Value: "report"}, {Name: metric.LabelReportText, Value: "f00d"}}}
	size := uint64(len(text)) + 7
	group := said.TextGroup()
	if err := w.Describe(group.Metrics); err != nil {
		t.Fatal(err)
	}
	if err := w.Event(event); err != nil {
		t.Fatal(err)
	}
	err = w.Append(&metric.Tick{At: at, Class: metric.Polled, Blocks: []*metric.Block{{At: at, Group: group,
		Rows: []*metric.Instance{{Key: "f00d", Name: "shop-2026-11-20-031200.ips"}},
		Cols: []metric.Column{{Bits: []uint64{0}, Words: []string{text}}, {Bits: []uint64{size}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	left := t.TempDir()
	if err := os.CopyFS(left, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return left
}

func TestTextsOfReports(t *testing.T) {
	t.Parallel()
	text := "{\"bug_type\":\"309\"}\n\x1b]0;owned\a\x1b[31m\u009b2J\xff line\n" + strings.Repeat("secretly private 0123456789\n", 9000)
	dir := killedWithReport(t, text)
	status, out, errs := runReplay("events", "--report", "shop-2026-11-20-031200.ips", "--archive", dir)
	if status != cli.Yes || out != text || !strings.Contains(errs, "no more was kept") {
		t.Errorf("%d, %d bytes of %d, %s", status, len(out), len(text), errs)
	}
	if status, _, errs = runReplay("events", "--report", "other", "--archive", dir); status == cli.Yes || !strings.Contains(errs, "no text of a report other") {
		t.Errorf("%d %s", status, errs)
	}
	copied, hidden := filepath.Join(t.TempDir(), "a.tacho"), filepath.Join(t.TempDir(), "b.tacho")
	if status, out, errs = runReplay("snapshot", "--archive", dir, "-o", copied); status != cli.Yes {
		t.Fatalf("%d %s %s", status, out, errs)
	}
	if status, out, errs = runReplay("events", "--report", "f00d", "--archive", copied); status != cli.Yes || out != text {
		t.Errorf("of the mailed file: %d, %d bytes, %s", status, len(out), errs)
	}
	if status, out, errs = runReplay("verify", copied); status != cli.Yes {
		t.Errorf("%d %s %s", status, out, errs)
	}
	status, out, errs = runReplay("snapshot", "--archive", dir, "--redact", "-o", hidden)
	if status != cli.Yes || !strings.Contains(out, "their texts, which the recorder had kept, are left out") {
		t.Errorf("%d %s %s", status, out, errs)
	}
	r, err := store.Open(hidden)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows := 0
	for run := range r.Select(store.Selection{Metrics: []string{metric.ReportText, metric.ReportSize}}) {
		rows++
		if v := run.At(0); v.Str != "" || run.Instance.Key == "f00d" || strings.Contains(run.Instance.Name, "shop") {
			t.Errorf("%v of %+v", v.Str, run.Instance)
		}
	}
	if rows == 0 {
		t.Error("nothing says that there was a report")
	}

	// A terminal gets none of the sequences.
	var screen bytes.Buffer
	a := newApp(&screen, &screen, time.Now)
	a.stdout, a.terminalOut = visible.NewWriter(&screen, true), true
	if status := a.run([]string{"events", "--report", "f00d", "--archive", dir}); status != cli.Yes {
		t.Errorf("%d", status)
	}
	if got := screen.String(); strings.ContainsAny(got, "\x1b\a") || strings.Contains(got, "\xff") || strings.Contains(got, "\u009b") || !strings.Contains(got, "secretly private") {
		t.Errorf("%.200q", got)
	}
}
