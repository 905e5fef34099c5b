// Package said makes events of what the system itself wrote down: reports of crashes, hangs and
// limits, lines of the kernel, failures of services, changes of software.
//
// It is one more source: where the platform's other sources read numbers, this one reads texts,
// each with a reader of its own package, and what it counts are the events.
package said

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/software"
)

// Fact is one thing that the system wrote down.
type Fact struct {
	Kind  metric.EventKind
	At    time.Time
	Text  string // a sentence
	Label []metric.Label
	// PID is the process that it is about, 0 if none. Began and Ticks are when that began, by the
	// clock and in ticks since boot, zero where it is not stated.
	PID   int32
	Began time.Time
	Ticks uint64
	// whole is the text of the report that says so; nil if there is none.
	whole *whole
}

// reader reads one place where the system writes.
type reader interface {
	// look passes what is new since the last look; the first time what is newer than since.
	look(now metric.Stamp, since time.Time, found func(Fact)) error
	close()
}

// Who is a process.
type Who struct {
	Key    string
	Owners []metric.Label
}

// Whose returns the process that a fact is about, if the recorder met it.
type Whose func(f *Fact) (Who, bool)

// Machine answers what the texts do not say.
type Machine struct {
	Zone  func() *time.Location // where it is
	Whose Whose
	// Updates returns the changes of apps since it was last called; nil if it is not known.
	Updates func() []software.Change
}

// Source is the source of these events.
type Source struct {
	group   *metric.Group
	on      catalog.Platform
	readers []reader
	whose   Whose
	since   time.Time
	counts  [len(counted)]uint64
	bucket  bucket
	texts   texts
	more    []unrecorded
	why     string
}

// counted are the kinds of events that have a counter, and its name.
var counted = [...]struct {
	kind metric.EventKind
	name string
}{
	{metric.EventCrash, "system.report.crashes"}, {metric.EventHang, "system.report.hangs"},
	{metric.EventKill, "system.report.kills"}, {metric.EventLimit, "system.report.limits"},
	{metric.EventReset, "system.report.resets"}, {metric.EventKernel, "system.report.kernel"},
	{metric.EventService, "system.report.services"}, {metric.EventSoftware, "system.report.software"},
	{"", "system.report.suppressed"},
}

const suppressed = len(counted) - 1

func newSource(on catalog.Platform, now time.Time, whose Whose, readers ...reader) *Source {
	s := &Source{on: on, readers: readers, whose: whose, since: now, bucket: bucket{most: atOnce, perSecond: perSecond}}
	s.texts.room = bucket{most: mostOfDay, perSecond: mostOfDay / (24.0 * 60 * 60)}
	s.Refresh()
	return s
}

// Since moves the beginning back, before the first reading: what was written since then has events, too.
func (s *Source) Since(t time.Time) {
	if t.Before(s.since) {
		s.since = t
	}
}

// Name implements sample.Source.
func (s *Source) Name() string { return "said" }

// Groups implements sample.Source.
func (s *Source) Groups() []*metric.Group { return append([]*metric.Group{s.group}, s.texts.groups...) }

// Refresh implements sample.Source.
func (s *Source) Refresh() error {
	var names []string
	for _, c := range counted {
		names = append(names, c.name)
	}
	s.group = catalog.Group(s.on, "said", names...)
	s.texts.refresh()
	return nil
}

// Close implements sample.Source.
func (s *Source) Close() error {
	for _, r := range s.readers {
		r.close()
	}
	return nil
}

// Notice says what cannot be read.
func (s *Source) Notice() string { return s.why }

// Read implements sample.Source.
func (s *Source) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	s.bucket.fill(at.Cont)
	s.texts.begin(at, frames)
	s.more = s.more[:0]
	var failed []error
	for _, r := range s.readers {
		if err := r.look(at, s.since, func(f Fact) { s.record(c, at, f) }); err != nil {
			failed = append(failed, err)
		}
	}
	s.recordMore(c, at)
	s.why = ""
	if err := errors.Join(failed...); err != nil {
		s.why = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	for _, f := range frames {
		f.Reset(at)
		if s.texts.fill(f) {
			continue
		}
		row := f.Row(nil)
		for i, n := range s.counts {
			f.SetUint(row, i, n)
		}
	}
	return nil
}

// record emits an event, unless there are too many.
func (s *Source) record(c *sample.Context, now metric.Stamp, f Fact) {
	i := slices.IndexFunc(counted[:], func(k struct {
		kind metric.EventKind
		name string
	}) bool {
		return k.kind == f.Kind
	})
	if i >= 0 {
		s.counts[i]++
	}
	if c.Emit == nil {
		return
	}
	if !s.bucket.take(1) {
		s.counts[suppressed]++
		s.hold(f)
		return
	}
	at := stampOf(f.At, now)
	if at.Cont != 0 && (f.Kind == metric.EventPanic || f.Kind == metric.EventReset) {
		// The boot before ended so; the report was written in this one.
		at = metric.Stamp{Wall: now.Wall - now.Cont - int64(time.Millisecond)}
	}
	e := metric.Event{At: at, Kind: f.Kind, Text: f.Text, Labels: f.Label}
	if f.PID > 0 {
		e.Labels = append(e.Labels, metric.Label{Name: "pid", Value: fmt.Sprint(f.PID)})
		if who, ok := s.find(&f); ok {
			e.Indom, e.Key, e.Labels = "process", who.Key, append(e.Labels, who.Owners...)
		}
	}
	if key := s.texts.keep(f.whole); key != "" {
		e.Labels = append(e.Labels, metric.Label{Name: metric.LabelReportText, Value: key})
	}
	c.Emit(e)
}

func (s *Source) find(f *Fact) (Who, bool) {
	if s.whose == nil {
		return Who{}, false
	}
	return s.whose(f)
}

// stampOf turns an instant of the wall clock into a stamp, given that of now. What was before the
// boot has no other clock.
func stampOf(t time.Time, now metric.Stamp) metric.Stamp {
	wall := t.UnixNano()
	ago := now.Wall - wall
	if ago < 0 {
		return now // the system's clock and ours differ by a moment
	}
	if ago > now.Cont {
		return metric.Stamp{Wall: wall}
	}
	return metric.Stamp{Wall: wall, Cont: now.Cont - ago, Awake: max(0, now.Awake-ago)}
}

// A bucket allows some of something at once, and so many a second in the long run.
type bucket struct {
	most, perSecond float64

	tokens float64
	at     int64
	begun  bool
}

// Of events.
const (
	perSecond = 20
	atOnce    = 400
)

func (b *bucket) fill(now int64) {
	if !b.begun {
		b.begun, b.tokens = true, b.most
	}
	b.tokens = min(b.most, b.tokens+float64(b.perSecond*float64(now-b.at))/1e9)
	b.at = now
}

func (b *bucket) take(n float64) bool {
	if b.tokens < n {
		return false
	}
	b.tokens -= n
	return true
}

// unrecorded are the facts of one kind and rule that have no event.
type unrecorded struct {
	kind metric.EventKind
	rule string
	n    int
	last time.Time
}

func (s *Source) hold(f Fact) {
	rule := f.label("rule")
	for i := range s.more {
		if u := &s.more[i]; u.kind == f.Kind && (u.rule == rule || len(s.more) >= mostUnrecorded) {
			u.n, u.last = u.n+1, f.At
			return
		}
	}
	s.more = append(s.more, unrecorded{f.Kind, rule, 1, f.At})
}

// mostUnrecorded is how many kinds of unrecorded facts are counted each for itself.
const mostUnrecorded = 32

func (s *Source) recordMore(c *sample.Context, now metric.Stamp) {
	for _, u := range s.more {
		what := strings.TrimSpace(string(u.kind) + " " + u.rule)
		e := metric.Event{At: stampOf(u.last, now), Kind: u.kind, Text: fmt.Sprintf("%d more of the kind %q, too many for an event each", u.n, what),
			Labels: []metric.Label{{Name: "more", Value: fmt.Sprint(u.n)}}}
		if u.rule != "" {
			e.Labels = append(e.Labels, metric.Label{Name: "rule", Value: u.rule})
		}
		c.Emit(e)
	}
}

func (f *Fact) label(name string) string {
	for _, l := range f.Label {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// add adds a label that has a value.
func (f *Fact) add(name, value string) {
	if value != "" {
		f.Label = append(f.Label, metric.Label{Name: name, Value: value})
	}
}
