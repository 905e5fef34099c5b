package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// deathStory prints what came before a death.
type deathStory struct {
	a     *app
	d     *query.Death
	lines []storyLine
}

// storyLine is one thing that came before: a figure before and in the end, or a text.
type storyLine struct {
	aspect              string
	at                  int64
	before, last, limit float64
	units, text         string
}

func (s *deathStory) show() error {
	if err := s.gather(); err != nil {
		return err
	}
	return s.a.present(s.text, s.rows)
}

func (s *deathStory) gather() error {
	s.said()
	before, err := query.BeforeDeath(s.a.Archive, s.d)
	if err != nil {
		return err
	}
	s.figures(before)
	s.stacks()
	if err := s.shortOf(); err != nil {
		return err
	}
	s.changed()
	return nil
}

func (s *deathStory) add(aspect string, at int64, text string) {
	s.lines = append(s.lines, storyLine{aspect: aspect, at: at, before: math.NaN(), last: math.NaN(), limit: math.NaN(), text: text})
}

// said lists what the system said.
func (s *deathStory) said() {
	for _, e := range s.d.Said {
		s.add("said", e.At.Wall, query.EventText(s.a.Archive, e, human.Bytes))
	}
	if frames := s.d.Frames(); len(frames) > 0 {
		s.add("frames", s.d.At, strings.Join(frames, " ← "))
	}
}

// figures says what the process used.
func (s *deathStory) figures(b *query.Before) {
	figure := func(aspect string, before, last, limit float64, units, text string) {
		s.lines = append(s.lines, storyLine{aspect, b.LastAt, before, last, limit, units, text})
	}
	if !math.IsNaN(b.Last) {
		text := human.Bytes(b.Last)
		if span := time.Duration(b.LastAt - b.FirstAt); span > 0 && b.First != b.Last {
			text = fmt.Sprintf("%s → %s in %s", human.Bytes(b.First), human.Bytes(b.Last), human.Duration(span.Round(time.Second)))
			if b.Last > b.First {
				text += fmt.Sprintf(" (%s more a minute)", human.Bytes((b.Last-b.First)/span.Minutes()))
			}
		}
		figure("memory", b.First, b.Last, math.NaN(), "byte", text)
	}
	if b.Limit > 0 {
		text := human.Bytes(b.Limit) + " in " + b.Group
		if !math.IsNaN(b.Held) {
			text += ", which held " + human.Bytes(b.Held)
		}
		figure("limit", math.NaN(), b.Held, b.Limit, "byte", text)
	}
	if !math.IsNaN(b.CPU) {
		text := answer.Share.Text(b.CPU) + " of a core in the last minute"
		if !math.IsNaN(b.CPUBefore) {
			text += ", " + answer.Share.Text(b.CPUBefore) + " before"
		}
		figure("cpu", b.CPUBefore, b.CPU, math.NaN(), "cores", text)
	}
	if !math.IsNaN(b.Thread) {
		text := human.Figures(b.Thread)
		if b.FirstThread != b.Thread {
			text = human.Figures(b.FirstThread) + " → " + text
		}
		figure("threads", b.FirstThread, b.Thread, math.NaN(), "", text)
	}
	if !math.IsNaN(b.Files) {
		text := human.Figures(b.Files) + " open"
		if !math.IsNaN(b.MostFiles) {
			text += " of " + human.Figures(b.MostFiles) + " allowed"
		}
		figure("files", math.NaN(), b.Files, b.MostFiles, "", text)
	}
	if b.History != nil {
		if did := strings.Join(gainsOf(b.History.Gains), ", "); did != "nothing" {
			s.add("in all", b.History.To, did+" in these minutes")
		}
	}
}

// stacks says what its threads were seen doing, where stacks were sampled.
func (s *deathStory) stacks() {
	w := query.Window{Hosts: []string{s.d.Archive.Host.ID}, From: s.d.At - int64(query.BeforeLength), To: s.d.At}
	key, pid := s.d.Instance.Key, s.d.PID()
	p := stacks.Read(s.a.Archive, stacks.Request{Window: w, Of: func(t *stacks.Thread) bool {
		return key != "" && t.Process == key || pid > 0 && t.PID == pid
	}})
	if hot, ok := p.Heaviest(); ok {
		s.add("stacks", p.To, hot.Sentence())
	}
}

const (
	// inWant is how long before a death the machine must have been short of something for it to
	// matter, and mostWants how many events about that are shown.
	inWant    = int64(time.Minute)
	mostWants = 3
	// mostChanges is how many changes are shown; those of the last hour if there are any, else of
	// the last day.
	mostChanges = 5
)

// wants are the kinds of events that say what a machine was short of, or what was wrong with it.
var wants = []metric.EventKind{metric.EventMemory, metric.EventThrottle, metric.EventKernel, metric.EventHang, metric.EventLimit}

// shortOf says what the machine was short of.
func (s *deathStory) shortOf() error {
	w := query.Window{Hosts: []string{s.d.Archive.Host.ID}, From: s.d.At - inWant, To: s.d.At}
	var names []string
	for name := range limits {
		names = append(names, name)
	}
	gauges, err := query.Gauges(s.a.Archive, w, 1, names...)
	if err != nil {
		return err
	}
	for _, g := range gauges {
		if g.Count == 0 || !alarming(g, g.Max) {
			continue
		}
		value := func(x float64) string { return human.Value(x, g.Units, g.Rate()) }
		text := strings.TrimSpace(strings.TrimSpace(g.Title)+" "+g.Instance) + ": " + value(g.Max)
		if g.Of == g.Of {
			text += " of " + value(g.Of)
		}
		s.lines = append(s.lines, storyLine{"short of", g.MaxAt, math.NaN(), g.Max, g.Of, g.Units.String(), text})
	}
	w.From = s.d.At - int64(query.BeforeLength)
	var list []*store.Event
	for e := range query.SortedEvents(s.a.Archive, w, wants...) {
		if !slices.ContainsFunc(s.d.Said, func(said *store.Event) bool { return said.At == e.At && said.Kind == e.Kind }) {
			list = append(list, e)
		}
	}
	s.events("machine", list, mostWants)
	return nil
}

// changes are the kinds of events that say that something was changed.
var changes = []metric.EventKind{metric.EventSoftware, metric.EventUpdate, metric.EventTunableChange}

// changed says what was changed before.
func (s *deathStory) changed() {
	for _, before := range []time.Duration{time.Hour, 24 * time.Hour} {
		w := query.Window{Hosts: []string{s.d.Archive.Host.ID}, From: s.d.At - int64(before), To: s.d.At}
		if list := slices.Collect(query.SortedEvents(s.a.Archive, w, changes...)); len(list) > 0 {
			s.events("changed", list, mostChanges)
			return
		}
	}
}

// events adds the latest of some events, the latest first.
func (s *deathStory) events(aspect string, list []*store.Event, most int) {
	slices.Reverse(list)
	for _, e := range list[:min(len(list), most)] {
		ago := human.Duration(time.Duration(s.d.At - e.At.Wall).Round(time.Second))
		s.add(aspect, e.At.Wall, fmt.Sprintf("%s before, %s", ago, query.EventText(s.a.Archive, e, human.Bytes)))
	}
	if more := len(list) - most; more > 0 {
		s.add(aspect, list[most].At.Wall, fmt.Sprintf("and %s before that (replay events --kind '%s')", cli.Count(more, "event"), list[most].Kind))
	}
}

// text prints the story for people.
func (s *deathStory) text() error {
	a, d := s.a, s.d
	who := "  " + strings.TrimPrefix(d.String(), d.Name()+" ")
	if d.String() == d.Name() {
		who = ""
	}
	a.stdout.Println(a.bold(d.Name() + who))
	a.labelledAs("died      ", a.Show(d.At), false)
	a.labelledAs("of        ", d.What(human.Bytes), true)
	if v := d.Version(); v != "" {
		a.labelled("version   ", v)
	}
	if l := d.Lived(); l > 0 {
		a.labelled("lived     ", human.Duration(l))
	}
	a.labelled("known by  ", strings.Join(d.Sources(), ", "))
	last := ""
	for i := range s.lines {
		l := &s.lines[i]
		label := fmt.Sprintf("%-10s", l.aspect)
		if l.aspect == last {
			label = strings.Repeat(" ", len(label))
		}
		last = l.aspect
		a.labelled(label, l.text)
	}
	return nil
}

// rows writes it for programs.
func (s *deathStory) rows() error {
	rows, err := s.a.rows(out.Column{Name: "died"}, out.Column{Name: "pid"}, out.Column{Name: "name"}, out.Column{Name: "kind"}, out.Column{Name: "aspect"},
		out.Column{Name: "time"}, out.Column{Name: "before"}, out.Column{Name: "last"}, out.Column{Name: "limit"}, out.Column{Name: "units"}, out.Column{Name: "text"})
	if err != nil {
		return err
	}
	what := storyLine{aspect: "death", at: s.d.At, before: math.NaN(), last: math.NaN(), limit: math.NaN(), text: s.d.What(human.Bytes)}
	for _, l := range append([]storyLine{what}, s.lines...) {
		pid := out.Cell{}
		if n := s.d.PID(); n > 0 {
			pid = out.Whole(int64(n))
		}
		err := rows.Row([]out.Cell{hostCell(&s.d.Archive.Host), out.At(s.d.At), pid, out.Str(s.d.Name()), out.Str(s.d.Kind()), out.Str(l.aspect),
			out.At(l.at), answer.Real(l.before), answer.Real(l.last), answer.Real(l.limit), answer.Text(l.units), out.Str(l.text)})
		if err != nil {
			return err
		}
	}
	return rows.Close()
}
