package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/cmd/replay/internal/why"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// longestName is how much of a name the page shows: no real name is longer.
const longestName = 200

// cut shortens a stranger's name and makes control characters in it visible.
func cut(s string) string {
	if len(s) > 4*longestName {
		s = s[:4*longestName]
	}
	return human.Cut(visible.Text(s), longestName)
}

// facts are the few facts that distinguish machines.
func facts(h *metric.Host) [][2]string {
	var out [][2]string
	add := func(what, text string) {
		if text != "" {
			out = append(out, [2]string{what, cut(text)})
		}
	}
	add("Model", h.Model)
	add("Product", h.Label("product"))
	add("System", strings.TrimSpace(h.OS+" "+h.Release))
	add("Architecture", h.Arch)
	add("Processors", h.Label("cpus"))
	if bytes, err := strconv.ParseFloat(h.Label("memory"), 64); err == nil {
		add("Memory", human.Bytes(bytes))
	}
	return out
}

// story collects what the page says in words and tables, other than the summary.
func (c *collector) story() error {
	gauges, err := query.Gauges(c.a, c.w, 1)
	if err != nil {
		return err
	}
	c.gauges(gauges)
	c.tops()
	c.ports()
	if err := c.marks(); err != nil {
		return err
	}
	c.absences()
	return nil
}

// gauges is the table of vital numbers, as replay prints it.
func (c *collector) gauges(list []*query.Gauge) {
	short := c.short()
	for _, g := range list {
		value := func(x float64) string { return human.Value(x, g.Units, g.Rate()) }
		last := value(g.Last)
		if g.Of == g.Of {
			last += " of " + value(g.Of)
		}
		title := strings.TrimSpace(g.Title + " " + cut(g.Instance))
		if strings.HasPrefix(g.Title, " ") {
			title = "\u2003" + title
		}
		c.page.doc.Gauges = append(c.page.doc.Gauges, []string{title, value(g.Mean), value(g.Max), short(g.MaxAt), last})
	}
}

// tops adds the rankings of names.
func (c *collector) tops() {
	const most = 8
	titles := []string{"CPU", "memory", "read", "written", "network traffic"}
	for i, r := range c.rankings {
		if len(r.Consumers) == 0 {
			continue
		}
		t := Top{Title: "Most " + titles[i], Heads: []string{"Name"}}
		keys := answer.InSummary
		if i == byNet {
			keys = []string{"net_in", "net_out", "cpu", "memory", "processes"}
		}
		for _, heading := range answer.Headings(answer.Places, keys) {
			heading = strings.Replace(heading, "cpu", "CPU", 1)
			t.Heads = append(t.Heads, strings.ToUpper(heading[:1])+heading[1:])
		}
		for _, one := range r.Consumers[:min(most, len(r.Consumers))] {
			place := &answer.Place{Consumer: one, Ranking: r}
			t.Rows = append(t.Rows, append([]string{cut(one.Name)}, answer.Texts(answer.Places, keys, place)...))
		}
		c.page.doc.Tops = append(c.page.doc.Tops, t)
	}
}

// mostEvents is how many events the page lists.
const mostEvents = 1000

// marks adds breaks and events: those that replay browse marks, and the other events that do not
// happen all the time.
func (c *collector) marks() error {
	d := &c.page.doc
	rec, err := moment.Open(c.a, c.host.ID, c.r.Defs)
	if err != nil {
		return err
	}
	marked := make(map[string]string) // the text of the mark
	key := func(e *store.Event) string { return fmt.Sprint(e.At.Wall, e.Kind, e.Text) }
	for _, m := range rec.Marks(c.w.From, c.w.To) {
		if m.Break() {
			d.Breaks = append(d.Breaks, Mark{From: milli(m.From), To: milli(m.To), Kind: string(m.Kind), Text: cutLong(m.Text), Drawn: true})
		} else if m.Event != nil {
			marked[key(m.Event)] = m.Text
		}
	}
	loops := make(map[string]*crashes)
	for e := range query.SortedEvents(c.a, c.w) {
		mark, drawn := marked[key(e)]
		if e.Kind == metric.EventProcessExit && rec.Crashed(e) {
			l := loops[e.Label("name")]
			if l != nil && e.At.Wall-l.since <= max(crashesApart, (c.w.To-c.w.From)/mostCrashes) {
				l.more++
				continue
			}
			l.close(d.Events)
			drawn = true
			if len(d.Events) < mostEvents {
				loops[e.Label("name")] = &crashes{at: len(d.Events), since: e.At.Wall}
			}
		}
		if query.Everyday(e.Kind) && !drawn {
			d.Everyday++
			continue
		}
		text := query.EventText(c.a, e, human.Bytes)
		if query.Killing(e) && !drawn {
			continue // The kernel's own line says it.
		}
		if slices.Contains(metric.SaidKinds, e.Kind) {
			if !drawn {
				continue // Another one says it, or that there are more like it.
			}
			text = strings.TrimPrefix(mark, string(e.Kind)+": ")
		}
		if len(d.Events) == mostEvents {
			d.MoreEvents++
			continue
		}
		d.Events = append(d.Events, Mark{From: milli(e.At.Wall), To: milli(e.At.Wall), Kind: visible.Text(string(e.Kind)), Text: cutLong(text),
			Drawn: drawn, Grave: slices.Contains(grave, e.Kind)})
	}
	for _, l := range loops {
		l.close(d.Events)
	}
	return nil
}

// crashes are those of processes of one name that share a mark, because they follow each other.
type crashes struct {
	at    int // the place of the mark
	since int64
	more  int
}

const (
	// crashesApart is how far apart crashes are that have a mark each, and mostCrashes about how
	// many marks a page has for each name.
	crashesApart = int64(time.Minute)
	mostCrashes  = 100
)

// close adds to the mark how many crashes it is for.
func (c *crashes) close(list []Mark) {
	if c != nil && c.more > 0 {
		list[c.at].Text += fmt.Sprintf(" (and %d more like it)", c.more)
	}
}

// grave are the kinds of events that a reader looks for first.
var grave = []metric.EventKind{metric.EventPanic, metric.EventMemory, metric.EventThrottle, metric.EventErrorBegin, metric.EventProcessExit,
	metric.EventCrash, metric.EventKill, metric.EventHang, metric.EventReset, metric.EventKernel, metric.EventService}

// cutLong is cut for a sentence, which may be longer than a name.
func cutLong(s string) string {
	const most = 500
	if len(s) > 4*most {
		s = s[:4*most]
	}
	return human.Cut(visible.Text(s), most)
}

// absences says why things that a reader would look for are missing.
func (c *collector) absences() {
	for i := range wishes {
		wish := &wishes[i]
		if base, _ := strings.CutSuffix(wish.id, "-all"); wish.wanted == "" || c.drawn(base, base+"-all") {
			continue
		}
		why := "not recorded"
		if d := wish.wantedMetric(c.a.Lookup); d != nil {
			if why = "recorded, but no value in this time"; d.Unsupported != "" {
				why = cutLong(d.Unsupported)
			}
		}
		c.page.doc.Absent = append(c.page.doc.Absent, Absent{What: wish.title, Why: why})
	}
	if !c.drawn("processes-cpu", "processes-memory") {
		why := "not recorded"
		if slices.ContainsFunc(c.a.Metrics(), func(d *metric.Desc) bool { return d.Class == metric.Process && d.Unsupported == "" }) {
			why = "recorded, but of this time nothing can be told of what they used"
		}
		c.page.doc.Absent = append(c.page.doc.Absent, Absent{What: "Processes", Why: why})
	}
}

// summary says in sentences what was out of the ordinary, the cause first: the answer of replay
// why for the instant or the window.
func (c *collector) summary(a query.Archive) error {
	d := &c.page.doc
	answer, err := why.Ask(c.ctx, a, why.Request{Host: c.host.ID, At: c.r.Cursor, Window: c.w, Defs: c.r.Defs, Format: c.short(), Zone: c.r.Zone})
	if err != nil {
		return err
	}
	for _, l := range answer.Lines {
		s := Sentence{Text: cutLong(l.Text), Kind: l.Kind, Since: milli(l.Since), Until: milli(l.Until)}
		if c.r.Shell != nil && len(l.More) > 0 {
			s.Command = visible.Text(c.r.Shell(l.More))
		}
		d.Summary = append(d.Summary, s)
	}
	d.Ordinary = !answer.Found
	if answer.Calm.To != 0 {
		d.Against = c.show(answer.Calm.From) + " to " + c.show(answer.Calm.To)
	}
	if w := answer.Window; w.From != c.w.From || w.To != c.w.To {
		d.Looked = c.show(w.From) + " to " + c.show(w.To)
	}
	return nil
}

// short returns a function that writes instants without the date if the window lies within one
// day.
func (c *collector) short() func(int64) string {
	in := func(wall int64) time.Time { return time.Unix(0, wall).In(c.r.Zone) }
	layout := "15:04:05"
	if c.w.To-c.w.From > int64(24*time.Hour) || in(c.w.From).YearDay() != in(c.w.To).YearDay() {
		layout = "2006-01-02 15:04:05"
	}
	return func(wall int64) string { return in(wall).Format(layout) }
}
