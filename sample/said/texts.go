package said

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// mostOfText is how much is kept of the text of a report, mostOfDay of all texts of a day.
const (
	mostOfText = 256 << 10
	mostOfDay  = 8 << 20
)

// whole is the text of a report. text returns at most so many bytes of it, and its whole length,
// which is 0 if it is not known.
type whole struct {
	key, name string
	text      func(most int) (text string, size int64, err error)
}

// wholeText returns a text that was read already. It is complete if nothing of it was left unread.
func wholeText(kind, name string, pid int, at time.Time, text string, complete bool) *whole {
	if text == "" {
		return nil
	}
	return &whole{fmt.Sprintf("%s-%d-%d", kind, pid, at.UnixMicro()), kind + " " + name, func(most int) (string, int64, error) {
		size := int64(len(text))
		if !complete {
			size = 0
		}
		return text[:min(len(text), most)], size, nil
	}}
}

// Columns of the group of texts.
const (
	textColumn = iota
	sizeColumn
)

// TextGroup is the group of the texts of reports: one instance for each report, in the tick in which
// it was found. As with stacks, a text is a value like all others.
func TextGroup() *metric.Group {
	const source = "reports of the system, if keep_reports is on"
	return &metric.Group{Name: "report texts", Indom: metric.DomainReport, Metrics: []*metric.Desc{
		textColumn: {Name: metric.ReportText, PMID: metric.NewPMID(metric.OwnDomain, 24, 30), Type: metric.String, Sem: metric.Discrete,
			Indom: metric.DomainReport, Class: metric.Polled, Source: source, Help: "The text of a report of the system, as it is, at most 256 KB of it"},
		sizeColumn: {Name: metric.ReportSize, PMID: metric.NewPMID(metric.OwnDomain, 24, 31), Type: metric.U64, Sem: metric.Discrete, Units: metric.Bytes,
			Indom: metric.DomainReport, Class: metric.Polled, Source: source, Help: "How long a report of the system is, of which the text may be cut"},
	}}
}

// texts keeps the texts of reports.
type texts struct {
	on     atomic.Bool
	groups []*metric.Group // one if texts were to be kept at the last refresh, else none
	room   bucket          // of the day, in bytes
	asked  bool            // this reading takes texts
	found  []*whole
}

// KeepTexts says whether texts are kept: from the next archive on, or not from now on.
func (s *Source) KeepTexts(on bool) { s.texts.on.Store(on) }

func (t *texts) refresh() {
	t.groups = nil
	if t.on.Load() {
		t.groups = []*metric.Group{TextGroup()}
	}
}

// begin begins a reading.
func (t *texts) begin(now metric.Stamp, frames []*sample.Frame) {
	t.room.fill(now.Cont)
	t.found = nil
	t.asked = t.on.Load() && slices.ContainsFunc(frames, t.isOf)
}

func (t *texts) isOf(f *sample.Frame) bool { return f.Full().Indom == metric.DomainReport }

// keep takes a text, and returns its key, or "" if none is kept. Several facts may be of one report.
func (t *texts) keep(w *whole) string {
	if w == nil || !t.asked {
		return ""
	}
	if !slices.ContainsFunc(t.found, func(other *whole) bool { return other.key == w.key }) {
		t.found = append(t.found, w)
	}
	return w.key
}

// Why a text is absent.
var (
	noRoom   = metric.ReasonFor("no more than 8 MB of reports are kept in a day")
	gone     = metric.FailureFor("the report could not be read a second time, for its text")
	longText = metric.ReasonFor("the report is longer than what is read of it")
)

// fill puts the texts of this reading into their frame, and reports whether it is theirs.
func (t *texts) fill(f *sample.Frame) bool {
	if !t.isOf(f) {
		return false
	}
	for _, w := range t.found {
		row := f.Row(&metric.Instance{Key: w.key, Name: w.name})
		text, size, err := w.text(mostOfText)
		switch {
		case err != nil:
			f.SetMissing(row, textColumn, gone)
			f.SetMissing(row, sizeColumn, gone)
		case !t.room.take(float64(len(text))):
			f.SetMissing(row, textColumn, noRoom)
		default:
			f.SetString(row, textColumn, text)
		}
		if size > 0 {
			f.SetUint(row, sizeColumn, uint64(size))
		} else if err == nil {
			f.SetMissing(row, sizeColumn, longText)
		}
	}
	return true
}
