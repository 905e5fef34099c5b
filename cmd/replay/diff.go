package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/when"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

type diffFlags struct {
	before, after, at string
	all               bool
	n                 int
}

func diffCommand(a *app) *cobra.Command {
	f := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff A..B C..D",
		Short: "What changed between two windows, most surprising first",
		Long: `diff compares two windows of one host: the metrics of the machine, what the
processes used, which are new and which are gone, and settings that were
changed. A difference counts if it is large beside the variation that the
series shows by itself, in both windows and in the rest of the recording; the
larger its part of the machine, the higher it stands.

Metrics that move together are one line; --all shows each.

Instead of two windows, --before 10m --at T compares the ten minutes before T
with the ten minutes after it (or --after as long); at the end of the
recording, the last ten minutes with the ten before.`,
		Example: `  replay diff 03:00..03:10 03:10..03:20
  replay diff --before 10m --at 03:12`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.load(); err != nil {
				return err
			}
			w, err := a.window()
			if err != nil {
				return err
			}
			first, second, err := a.diffWindows(w, f, args)
			if err != nil {
				return err
			}
			if err := a.diff(w, first, second, f); err != nil {
				return err
			}
			a.used.From, a.used.To = first.From, second.To
			absolute := []string{a.span(first), a.span(second)}
			delete(a.resolved, "at")
			a.finish(cmd, absolute, a.table())
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.before, "before", "", "length of the window before --at")
	fl.StringVar(&f.after, "after", "", "length of the window after --at (default: as --before)")
	fl.StringVar(&f.at, "at", "", "the instant between the windows (default: the end of the recording)")
	fl.BoolVar(&f.all, "all", false, "every difference, also those that another one stands for")
	fl.IntVarP(&f.n, "number", "n", 30, "at most so many lines; 0 for all")
	return cmd
}

func (a *app) span(w query.Window) string {
	at := func(wall int64) string { return time.Unix(0, wall).In(a.zone()).Format(time.RFC3339Nano) }
	return at(w.From) + ".." + at(w.To)
}

// diffWindows reads the windows from arguments or flags.
func (a *app) diffWindows(w query.Window, f *diffFlags, args []string) (first, second query.Window, err error) {
	switch {
	case len(args) == 2 && f.before == "" && f.at == "":
		if first, err = a.parseSpan(args[0]); err == nil {
			second, err = a.parseSpan(args[1])
		}
	case len(args) == 0 && f.before != "":
		first, second, err = a.aroundInstant(w, f)
	default:
		return first, second, fmt.Errorf("diff compares two windows: replay diff 03:00..03:10 03:10..03:20, or --before 10m --at 03:12")
	}
	if err != nil {
		return first, second, err
	}
	for _, part := range []query.Window{first, second} {
		part.Hosts = w.Hosts
		if _, _, list := query.Covered(a.archive, part); len(list) == 0 {
			return first, second, a.emptyWindow(part)
		}
	}
	return first, second, nil
}

func (a *app) parseSpan(text string) (query.Window, error) {
	from, to, ok := strings.Cut(text, "..")
	if !ok {
		return query.Window{}, fmt.Errorf("%q is not a window: write FROM..TO, such as 03:00..03:10", text)
	}
	ref := a.reference()
	start, err := ref.Parse(from)
	if err != nil {
		return query.Window{}, err
	}
	var end time.Time
	if strings.HasPrefix(to, "+") {
		d, err := when.Offset(to)
		if err != nil {
			return query.Window{}, err
		}
		end = start.Add(d)
	} else if end, err = ref.Parse(to); err != nil {
		return query.Window{}, err
	}
	if !end.After(start) {
		return query.Window{}, fmt.Errorf("the window %s ends before it begins", text)
	}
	return query.Window{From: start.UnixNano(), To: end.UnixNano()}, nil
}

func (a *app) aroundInstant(w query.Window, f *diffFlags) (first, second query.Window, err error) {
	before, err := when.Duration(f.before)
	if err != nil || before <= 0 {
		return first, second, fmt.Errorf("--before %s is not a length of time (write 10m)", f.before)
	}
	after := before
	if f.after != "" {
		if after, err = when.Duration(f.after); err != nil || after <= 0 {
			return first, second, fmt.Errorf("--after %s is not a length of time (write 10m)", f.after)
		}
	}
	_, end, _ := query.Covered(a.archive, query.Window{Hosts: w.Hosts})
	at := end - int64(after)
	if f.at != "" {
		if at, err = a.moment(f.at, w); err != nil {
			return first, second, err
		}
		// With nothing recorded after it, the end is what happened.
		if end-at < int64(after)/10 {
			at = min(at, end) - int64(after)
		}
	}
	return query.Window{From: at - int64(before), To: at}, query.Window{From: at, To: min(at+int64(after), end)}, nil
}

func (a *app) diff(w query.Window, first, second query.Window, f *diffFlags) error {
	var rows out.Writer
	if !a.table() {
		var err error
		rows, err = a.rows(out.Column{Name: "kind"}, out.Column{Name: "subject"}, out.Column{Name: "instance"}, out.Column{Name: "aspect"},
			out.Column{Name: "before"}, out.Column{Name: "after"}, out.Column{Name: "units"}, out.Column{Name: "time"},
			out.Column{Name: "effect"}, out.Column{Name: "impact"}, out.Column{Name: "score"}, out.Column{Name: "related"}, out.Column{Name: "text"})
		if err != nil {
			return err
		}
	}
	for _, h := range a.archive.Hosts() {
		if !w.Wants(h.ID) {
			continue
		}
		one := query.Window{Hosts: []string{h.ID}, From: second.From, To: second.To}
		if _, _, list := query.Covered(a.archive, one); len(list) == 0 {
			continue
		}
		changes, err := query.Diff(a.archive, query.DiffRequest{Host: h.ID, A: first, B: second, All: f.all})
		if err != nil {
			return err
		}
		total := len(changes)
		if f.n > 0 && total > f.n {
			changes = changes[:f.n]
		}
		if rows == nil {
			a.diffText(&h, first, second, changes, total)
			continue
		}
		for _, c := range changes {
			if err := rows.Row(a.changeCells(&h, c)); err != nil {
				return err
			}
		}
	}
	if rows != nil {
		return rows.Close()
	}
	return nil
}

func (a *app) diffText(h *store.Host, first, second query.Window, changes []*query.Change, total int) {
	clock := func(w query.Window) string {
		return a.show(w.From) + " to " + time.Unix(0, w.To).In(a.zone()).Format("15:04:05")
	}
	a.stdout.Printf("%s  before: %s, after: %s\n", a.bold(h.Name), clock(first), clock(second))
	if len(changes) == 0 {
		a.stdout.Println("nothing changed that is out of the ordinary")
		return
	}
	width := 100
	if a.width > 40 {
		width = a.width
	}
	for i, c := range changes {
		for k, line := range wrap(a.sentence(c), width-4) {
			if k == 0 {
				a.stdout.Printf("%2d. %s\n", i+1, line)
			} else {
				a.stdout.Printf("    %s\n", line)
			}
		}
	}
	if total > len(changes) {
		a.stdout.Printf("and %d smaller ones (-n 0 shows all)\n", total-len(changes))
	}
}

func (a *app) changeCells(h *store.Host, c *query.Change) []out.Cell {
	before, after := number(c.Before), number(c.After)
	if c.OldText != "" && math.IsNaN(c.Before) {
		before, after = out.Str(c.OldText), out.Str(c.NewText)
	}
	at := out.Cell{}
	if c.At != 0 {
		at = out.At(c.At)
	}
	units := c.Units.String()
	return []out.Cell{hostCell(h), out.Str(string(c.Kind)), out.Str(c.Subject), out.Str(c.Instance), text(c.Aspect), before, after,
		out.Str(units), at, out.Number(c.Effect), out.Number(c.Impact), out.Number(c.Score), out.Whole(int64(c.Related)), out.Str(a.sentence(c))}
}

// sentence says in a line what changed.
func (a *app) sentence(c *query.Change) string {
	switch c.Kind {
	case query.TunableChange:
		s := fmt.Sprintf("%s was changed from %s to %s", subject(c), quoted(c.OldText), quoted(c.NewText))
		if u := c.Units.String(); u != "" {
			s += " " + u
		}
		return s + ", first seen at " + a.clock(c.At)
	case query.Happened:
		if c.NewText != "" {
			return fmt.Sprintf("%s at %s: %s", c.Subject, a.clock(c.At), c.NewText)
		}
		return fmt.Sprintf("%s at %s", c.Subject, a.clock(c.At))
	case query.ProcessNew:
		return a.newSentence(c)
	case query.ProcessVanished:
		return a.goneSentence(c)
	case query.ProcessChange:
		return fmt.Sprintf("%s %s: %s before, %s after%s", c.Subject, aspectWords(c), a.amount(c, c.Before), a.amount(c, c.After), times(c))
	}
	verb := "rose"
	if c.After < c.Before {
		verb = "fell"
	}
	s := fmt.Sprintf("%s %s from %s to %s%s", title(c), verb, a.amount(c, c.Before), a.amount(c, c.After), times(c))
	if c.Trend && c.After > c.Before {
		s += " and was still rising"
	} else if c.Trend {
		s += " and was still falling"
	}
	s += "  [" + subject(c) + "]"
	if c.Related > 0 {
		s += fmt.Sprintf(" and %d related", c.Related)
	}
	return s
}

func (a *app) clock(wall int64) string {
	return time.Unix(0, wall).In(a.zone()).Format("15:04:05")
}

func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " ,") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

func subject(c *query.Change) string {
	if c.Instance != "" {
		return c.Subject + "[" + c.Instance + "]"
	}
	return c.Subject
}

// title is what the metric is in words.
func title(c *query.Change) string {
	words := c.Subject
	if c.Metric != nil && c.Metric.Help != "" {
		words = strings.TrimSuffix(c.Metric.Help, ".")
	}
	if c.Instance != "" {
		words += " (" + c.Instance + ")"
	}
	return words
}

func (a *app) amount(c *query.Change, x float64) string {
	if c.Aspect == "cpu" {
		return human.Percent(x) + " of a core"
	}
	return human.Value(x, c.Units, c.Rate)
}

var aspectVerbs = map[string][2]string{
	"cpu":    {"uses more CPU", "uses less CPU"},
	"memory": {"holds more memory", "holds less memory"},
	"read":   {"reads more from disk", "reads less from disk"},
	"write":  {"writes more to disk", "writes less to disk"},
}

func aspectWords(c *query.Change) string {
	if c.After < c.Before {
		return aspectVerbs[c.Aspect][1]
	}
	return aspectVerbs[c.Aspect][0]
}

// times says how many times as much it is, where that says more than the
// numbers.
func times(c *query.Change) string {
	if c.Before <= 0 || c.After <= 0 || c.Units == (metric.Units{Other: "C"}) {
		return ""
	}
	if f := c.After / c.Before; f >= 2 {
		return fmt.Sprintf(" (%s times as much)", human.Figures(math.Round(f*10)/10))
	}
	return ""
}

// used lists what a process took over the window.
func used(c *query.Consumer, seconds float64) string {
	parts := []string{human.Percent(c.CPUTime()/seconds) + " of a core"}
	if c.Peak > 0 {
		parts = append(parts, human.Bytes(c.Peak))
	}
	for _, io := range []struct {
		x    float64
		verb string
	}{{c.Gains[query.ReadBytes], "read"}, {c.Gains[query.WrittenBytes], "written"}} {
		if io.x/seconds > 1e4 {
			parts = append(parts, human.Bytes(io.x/seconds)+"/s "+io.verb)
		}
	}
	return strings.Join(parts, ", ")
}

func (a *app) newSentence(c *query.Change) string {
	p := c.Process
	seconds := math.Max(float64(p.To-p.From)/1e9, 1)
	who := fmt.Sprintf("pid %d", query.ProcessID(p.Instance))
	if p.Count > 1 {
		who = fmt.Sprintf("%d processes", p.Count)
	}
	if p.User != "" {
		who += ", " + p.User
	}
	since := p.From
	if p.Start != 0 {
		since = p.Start
	}
	return fmt.Sprintf("%s is new (%s, since %s) and uses %s", c.Subject, who, a.clock(since), used(p, seconds))
}

func (a *app) goneSentence(c *query.Change) string {
	p := c.Process
	who := fmt.Sprintf("pid %d", query.ProcessID(p.Instance))
	if p.Count > 1 {
		who = fmt.Sprintf("%d processes", p.Count)
	}
	s := fmt.Sprintf("%s (%s) is gone: last seen at %s", c.Subject, who, a.clock(p.To))
	if c.Exit != nil && c.Exit.Label("how") != "" {
		s = fmt.Sprintf("%s (%s) is gone: it ended at %s, %s", c.Subject, who, a.clock(c.Exit.At.Wall), c.Exit.Label("how"))
	}
	return s
}
