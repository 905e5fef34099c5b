package said

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/report"
)

// textsOf reads a source that keeps texts, and returns those of one reading.
func (r *rig) textsOf(after time.Duration) *metric.Block {
	r.t.Helper()
	var f *sample.Frame
	for _, g := range r.source.Groups() {
		if g.Indom == metric.DomainReport {
			f = sample.NewFrame(g, func(*metric.Desc) bool { return true })
		}
	}
	if f == nil {
		r.t.Fatal("no group of texts")
	}
	r.now.Wall, r.now.Awake, r.now.Cont = r.now.Wall+int64(after), r.now.Awake+int64(after), r.now.Cont+int64(after)
	r.events = nil
	c := &sample.Context{Now: func() metric.Stamp { return r.now }, Emit: func(e metric.Event) { r.events = append(r.events, e) }}
	if err := r.source.Read(c, []*sample.Frame{r.frame, f}); err != nil {
		r.t.Fatal(err)
	}
	return f.Block()
}

func (r *rig) keep() {
	r.source.KeepTexts(true)
	if err := r.source.Refresh(); err != nil {
		r.t.Fatal(err)
	}
	r.frame = sample.NewFrame(r.source.group, func(*metric.Desc) bool { return true })
}

func TestTextsAreKeptOnlyWhenAsked(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "Library/Logs/DiagnosticReports")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"bug_type":"309","incident_id":"A","name":"shop"}` + "\n" + `{"pid":7,"asi":{"x":["` + "\xff\u009b31m" + strings.Repeat("private ", 40<<10) + `"]}}`
	file := filepath.Join(dir, "shop-2026-01-02-030405.ips")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, begin0, begin0.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	places := []report.Place{report.HomePlace(home)}
	from := func() reader {
		return &folders{folder: report.NewFolder(nil, report.Mark{}), changed: func(metric.Stamp) ([]report.Place, bool) { return places, true }, done: func() {}}
	}
	off := newRig(t, nil, from())
	off.read(2 * time.Hour)
	if len(off.source.Groups()) != 1 || len(off.events) != 1 || off.events[0].Label(metric.LabelReportText) != "" {
		t.Errorf("kept without being asked: %+v", off.events)
	}
	on := newRig(t, nil, from())
	on.keep()
	b := on.textsOf(2 * time.Hour)
	if len(on.events) != 1 || len(b.Rows) != 1 || b.Rows[0].Key != on.events[0].Label(metric.LabelReportText) || b.Rows[0].Name != filepath.Base(file) {
		t.Fatalf("%+v, %+v", on.events, b)
	}
	if got := b.Cols[textColumn].Word(0); got != text[:mostOfText] || b.Cols[sizeColumn].Bits[0] != uint64(len(text)) {
		t.Errorf("%d bytes of %d", len(got), b.Cols[sizeColumn].Bits[0])
	}
	if b = on.textsOf(10 * time.Second); len(b.Rows) != 0 {
		t.Error("kept a second time")
	}
	on.source.KeepTexts(false)
	if b = on.textsOf(10 * time.Second); len(b.Rows) != 0 {
		t.Error("kept though no longer asked")
	}
}

func TestTextsOfADayAreBounded(t *testing.T) {
	s := &scripted{}
	r := newRig(t, nil, s)
	r.keep()
	one := func(key string, text func(int) (string, int64, error)) Fact {
		return Fact{Kind: metric.EventCrash, At: begin0, Text: key, whole: &whole{key, key, text}}
	}
	long := func(most int) (string, int64, error) { return strings.Repeat("x", most), 1 << 20, nil }
	flood := func() {
		for i := range mostOfDay/mostOfText + 1 {
			s.facts = append(s.facts, one(string(rune('A'+i)), long))
		}
	}
	flood()
	last := mostOfDay / mostOfText
	b := r.textsOf(time.Second)
	if len(b.Rows) != last+1 || b.Cols[textColumn].Miss[last-1] != metric.Present || b.Cols[textColumn].Miss[last] != noRoom {
		t.Errorf("%d rows, %v", len(b.Rows), b.Cols[textColumn].Miss)
	}
	s.facts = []Fact{one("gone", func(int) (string, int64, error) { return "", 0, errors.New("gone") }), one("cut", wholeText("core", "x", 1, begin0, "text", false).text), one("cut", long)}
	b = r.textsOf(24 * time.Hour)
	if len(b.Rows) != 2 || b.Cols[textColumn].Miss[0] != gone || b.Cols[sizeColumn].Miss[0] != gone || b.Cols[textColumn].Word(1) != "text" || b.Cols[sizeColumn].Miss[1] != longText {
		t.Errorf("%+v", b)
	}
}
