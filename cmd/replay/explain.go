package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/config"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

func explainCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "explain METRIC",
		Short: "What a metric means, where it comes from, how this archive has it",
		Long: `explain says what a metric means, its unit and semantics, where each platform's
kernel keeps it, what is odd about it, and how it was recorded in the archive:
how often, what share of its values is there, and why others are not. Without
an archive it prints what the table of all metrics says.`,
		Args: needMetrics,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.loadIfAny(); err != nil {
				return err
			}
			q := &explainAnswer{a: a}
			if a.Archive != nil {
				var err error
				if q.w, err = a.Window(); err != nil {
					return err
				}
			}
			for _, name := range args {
				if err := q.find(name); err != nil {
					return err
				}
			}
			if err := a.present(q.text, q.rows); err != nil {
				return err
			}
			if a.Archive != nil {
				a.finish(cmd, args, false)
			}
			return nil
		},
	}
}

// loadIfAny opens the archive. If none was named, it is no error that the recorder's own is
// missing or cannot be opened.
func (a *app) loadIfAny() error {
	if len(a.Sources) == 0 && a.Given == nil {
		if _, err := os.Stat(config.ReadArchiveDir()); errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	err := a.load()
	if err != nil && len(a.Sources) == 0 && a.Given == nil {
		return nil
	}
	return err
}

// explainAnswer explains metrics, as they are in the archive if there is one.
type explainAnswer struct {
	a    *app
	w    query.Window
	list []explained
}

// explained is a metric: as the archive has it, or else as a platform's table has it.
type explained struct {
	*metric.Desc
	mac, linux *metric.Desc // nil where the platform does not have it
	recorded   bool
}

// find adds the metric with a name to the answer.
func (q *explainAnswer) find(name string) error {
	e := explained{mac: catalog.Find(catalog.Darwin, name), linux: catalog.Find(catalog.Linux, name)}
	if q.a.Archive != nil {
		e.Desc = q.a.Archive.Lookup(name)
	}
	e.recorded = e.Desc != nil
	if e.Desc = cmp.Or(e.Desc, e.mac, e.linux); e.Desc == nil {
		return fmt.Errorf("no metric %s%s", name, query.Suggest(name, knownNames(&q.a.session)))
	}
	q.list = append(q.list, e)
	return nil
}

func (q *explainAnswer) text() error {
	for i, e := range q.list {
		if i > 0 {
			q.a.stdout.Println()
		}
		q.meaning(e.Desc)
		q.sources(e.Desc, e.mac, e.linux)
		switch {
		case q.a.Archive == nil:
		case !e.recorded:
			q.field("archive", "does not know it: it was recorded by another version or on another platform")
		default:
			if err := q.behaviour(e.Desc); err != nil {
				return err
			}
		}
	}
	return nil
}

// sources prints where each platform finds a metric.
func (q *explainAnswer) sources(d, mac, linux *metric.Desc) {
	for _, on := range []struct {
		name string
		desc *metric.Desc
	}{{"macOS", mac}, {"Linux", linux}} {
		switch {
		case on.desc == nil:
		case on.desc.Unsupported != "":
			q.field(on.name, "not there: "+on.desc.Unsupported)
		default:
			q.field(on.name, on.desc.Source)
			if on.desc.LongHelp != d.LongHelp {
				q.field("", on.desc.LongHelp)
			}
		}
	}
}

func knownNames(s *session) []string {
	seen := make(map[string]bool)
	var names []string
	add := func(list []string) {
		for _, n := range list {
			if !seen[n] {
				seen[n] = true
				names = append(names, n)
			}
		}
	}
	if s.Archive != nil {
		add(metricNames(s.Archive))
	}
	for _, p := range catalog.Platforms {
		for _, d := range catalog.For(p) {
			add([]string{d.Name})
		}
	}
	return names
}

// field prints a labelled paragraph, or nothing if the text is empty.
func (q *explainAnswer) field(name, text string) {
	if text == "" {
		return
	}
	const indent = 12
	width := q.a.textWidth(80)
	for i, line := range human.Wrap(text, width-indent) {
		if i > 0 {
			name = ""
		}
		q.a.stdout.Printf("%-*s%s\n", indent, name, line)
	}
}

var semanticsWords = map[metric.Semantics]string{
	metric.Counter:  "counter: it only grows until its source is reset; shown as a rate",
	metric.Instant:  "instant: true at the moment it was read",
	metric.Discrete: "discrete: it holds until the next reading replaces it",
}

func (q *explainAnswer) meaning(d *metric.Desc) {
	q.a.stdout.Println(q.a.bold(d.Name))
	q.field("", d.Help)
	q.field("", d.LongHelp)
	units := d.Units.String()
	if units == "" {
		units = "none, a plain number"
	}
	if d.Sem == metric.Counter {
		rate, _ := query.RateUnits(d.Units)
		shown := rate.String()
		if d.Units.Time == 1 && rate.Time == 0 {
			shown = "utilisation: 1 is one core, or one device, busy all the time"
		}
		units += "; as a rate " + shown
	}
	q.field("units", units)
	q.field("semantics", semanticsWords[d.Sem])
	kind := d.Type.String()
	switch {
	case d.Clamped:
		kind += fmt.Sprintf("; the kernel stops counting at 2^%d", d.Bits())
	case d.Width != 0:
		kind += fmt.Sprintf("; the kernel's counter wraps at 2^%d", d.Width)
	}
	if d.Falls == metric.NeverRestarts {
		kind += "; never restarts: a fall is the kernel's jitter"
	}
	q.field("type", kind)
	if d.Indom != metric.NoIndom {
		q.field("instances", "one value for each "+d.Indom)
	}
	every := "read once for each archive"
	if iv := d.Class.Interval(); iv != metric.Once {
		every = "read every " + human.Duration(iv) + " by default"
	}
	q.field("class", d.Class.String()+", "+every)
	q.field("pmid", d.PMID.String())
	q.field("formula", d.Formula)
	q.field("source", d.Source)
}

func (q *explainAnswer) behaviour(d *metric.Desc) error {
	if d.Unsupported != "" {
		q.field("archive", "not recorded: "+d.Unsupported)
		return nil
	}
	for _, b := range query.Behaviours(q.a.Archive, q.w, d) {
		label := "archive"
		where := q.a.Show(b.Archive.From) + " to " + q.a.Show(b.Archive.To)
		if q.a.ManyHosts() {
			where = b.Archive.Host.Name + ", " + where
		}
		q.field(label, where+": "+behaviourText(b))
	}
	return nil
}

func behaviourText(b *query.Behaviour) string {
	d := b.Metric
	total := b.Present + b.Missing
	if d.Formula != "" {
		return "computed when it is read"
	}
	if total == 0 {
		return "no value"
	}
	var parts []string
	if b.Interval > 0 {
		parts = append(parts, "every "+human.Duration(time.Duration(b.Interval)))
	}
	if d.Indom != metric.NoIndom {
		parts = append(parts, cli.Count(b.Instances, "instance"))
	}
	parts = append(parts, fmt.Sprintf("%s values, %s present", human.Count(float64(total)), human.Percent(float64(b.Present)/float64(total))))
	for _, r := range b.Reasons {
		parts = append(parts, fmt.Sprintf("%s absent: %s", human.Count(float64(r.Count)), r.Reason))
	}
	switch {
	case b.Numeric && d.Sem != metric.Counter:
		parts = append(parts, fmt.Sprintf("between %s and %s", human.Value(b.Min, d.Units, false), human.Value(b.Max, d.Units, false)))
	case d.Type == metric.String && b.Latest.Str != "":
		parts = append(parts, fmt.Sprintf("last %q", b.Latest.Str))
	}
	if d.Sem == metric.Discrete {
		parts = append(parts, cli.Count(b.Changes, "change"))
	}
	if b.Resets > 0 {
		parts = append(parts, cli.Count(b.Resets, "reset"))
	}
	if b.Wraps > 0 {
		parts = append(parts, cli.Count(b.Wraps, "wrap"))
	}
	return strings.Join(parts, ", ")
}

func (q *explainAnswer) rows() error {
	rows, err := q.a.rowsOf(out.Column{Name: "metric"}, out.Column{Name: "pmid"}, out.Column{Name: "type"}, out.Column{Name: "semantics"},
		out.Column{Name: "units"}, out.Column{Name: "indom"}, out.Column{Name: "class"}, out.Column{Name: "help"}, out.Column{Name: "long_help"},
		out.Column{Name: "source"}, out.Column{Name: "formula"}, out.Column{Name: "width"}, out.Column{Name: "clamped"}, out.Column{Name: "unsupported"},
		out.Column{Name: "recorded"}, out.Column{Name: "instances"}, out.Column{Name: "present"}, out.Column{Name: "missing"}, out.Column{Name: "interval_ms"})
	if err != nil {
		return err
	}
	for _, d := range q.list {
		var instances, interval int64
		var present, missing uint64
		if d.recorded {
			for _, b := range query.Behaviours(q.a.Archive, q.w, d.Desc) {
				instances = max(instances, int64(b.Instances))
				present, missing, interval = present+b.Present, missing+b.Missing, b.Interval/1e6
			}
		}
		err = rows.Row([]out.Cell{{}, out.Str(d.Name), out.Str(d.PMID.String()), out.Str(d.Type.String()), out.Str(d.Sem.String()), out.Str(d.Units.String()),
			out.Str(d.Indom), out.Str(d.Class.String()), out.Str(d.Help), out.Str(d.LongHelp), out.Str(d.Source), out.Str(d.Formula),
			out.Whole(int64(d.Bits())), boolean(d.Clamped), out.Str(d.Unsupported), boolean(d.recorded), out.Whole(instances),
			out.Natural(present), out.Natural(missing), out.Whole(interval)})
		if err != nil {
			return err
		}
	}
	return rows.Close()
}
