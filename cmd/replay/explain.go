package main

import (
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
			for i, name := range args {
				if err := a.explain(name, i == 0); err != nil {
					return err
				}
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
	if len(a.Sources) == 0 {
		if _, err := os.Stat(config.ReadArchiveDir()); errors.Is(err, os.ErrNotExist) {
			return nil
		}
	}
	err := a.load()
	if err != nil && len(a.Sources) == 0 {
		return nil
	}
	return err
}

func (a *app) explain(name string, first bool) error {
	var d *metric.Desc
	var w query.Window
	if a.Archive != nil {
		d = a.Archive.Lookup(name)
		var err error
		if w, err = a.Window(); err != nil {
			return err
		}
	}
	mac, linux := catalog.Find(catalog.Darwin, name), catalog.Find(catalog.Linux, name)
	recorded := d != nil
	for _, c := range []*metric.Desc{mac, linux} {
		if d == nil {
			d = c
		}
	}
	if d == nil {
		return fmt.Errorf("no metric %s%s", name, query.Suggest(name, a.knownNames()))
	}
	return a.present(func() error {
		if !first {
			a.stdout.Println()
		}
		a.explainText(d)
		a.explainSources(d, mac, linux)
		switch {
		case a.Archive == nil:
			return nil
		case !recorded:
			a.field("archive", "does not know it: it was recorded by another version or on another platform")
			return nil
		}
		return a.explainBehaviour(d, w)
	}, func() error { return a.explainRow(d, recorded, w) })
}

// explainSources prints where each platform finds a metric.
func (p *page) explainSources(d, mac, linux *metric.Desc) {
	for _, on := range []struct {
		name string
		desc *metric.Desc
	}{{"macOS", mac}, {"Linux", linux}} {
		switch {
		case on.desc == nil:
		case on.desc.Unsupported != "":
			p.field(on.name, "not there: "+on.desc.Unsupported)
		default:
			p.field(on.name, on.desc.Source)
			if on.desc.LongHelp != d.LongHelp {
				p.field("", on.desc.LongHelp)
			}
		}
	}
}

func (s *session) knownNames() []string {
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
func (p *page) field(name, text string) {
	if text == "" {
		return
	}
	const indent = 12
	width := p.textWidth(80)
	for i, line := range human.Wrap(text, width-indent) {
		if i > 0 {
			name = ""
		}
		p.stdout.Printf("%-*s%s\n", indent, name, line)
	}
}

var semanticsWords = map[metric.Semantics]string{
	metric.Counter:  "counter: it only grows until its source is reset; shown as a rate",
	metric.Instant:  "instant: true at the moment it was read",
	metric.Discrete: "discrete: it holds until the next reading replaces it",
}

func (p *page) explainText(d *metric.Desc) {
	p.stdout.Println(p.bold(d.Name))
	p.field("", d.Help)
	p.field("", d.LongHelp)
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
	p.field("units", units)
	p.field("semantics", semanticsWords[d.Sem])
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
	p.field("type", kind)
	if d.Indom != metric.NoIndom {
		p.field("instances", "one value for each "+d.Indom)
	}
	every := "read once for each archive"
	if iv := d.Class.Interval(); iv != metric.Once {
		every = "read every " + human.Duration(iv) + " by default"
	}
	p.field("class", d.Class.String()+", "+every)
	p.field("pmid", d.PMID.String())
	p.field("formula", d.Formula)
	p.field("source", d.Source)
}

func (a *app) explainBehaviour(d *metric.Desc, w query.Window) error {
	if d.Unsupported != "" {
		a.field("archive", "not recorded: "+d.Unsupported)
		return nil
	}
	for _, b := range query.Behaviours(a.Archive, w, d) {
		label := "archive"
		where := a.Show(b.Archive.From) + " to " + a.Show(b.Archive.To)
		if a.ManyHosts() {
			where = b.Archive.Host.Name + ", " + where
		}
		a.field(label, where+": "+behaviourText(b))
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

func (a *app) explainRow(d *metric.Desc, recorded bool, w query.Window) error {
	rows, err := a.rowsOf(out.Column{Name: "metric"}, out.Column{Name: "pmid"}, out.Column{Name: "type"}, out.Column{Name: "semantics"},
		out.Column{Name: "units"}, out.Column{Name: "indom"}, out.Column{Name: "class"}, out.Column{Name: "help"}, out.Column{Name: "long_help"},
		out.Column{Name: "source"}, out.Column{Name: "formula"}, out.Column{Name: "width"}, out.Column{Name: "clamped"}, out.Column{Name: "unsupported"},
		out.Column{Name: "recorded"}, out.Column{Name: "instances"}, out.Column{Name: "present"}, out.Column{Name: "missing"}, out.Column{Name: "interval_ms"})
	if err != nil {
		return err
	}
	var instances, interval int64
	var present, missing uint64
	if recorded {
		for _, b := range query.Behaviours(a.Archive, w, d) {
			instances = max(instances, int64(b.Instances))
			present, missing, interval = present+b.Present, missing+b.Missing, b.Interval/1e6
		}
	}
	err = rows.Row([]out.Cell{{}, out.Str(d.Name), out.Str(d.PMID.String()), out.Str(d.Type.String()), out.Str(d.Sem.String()), out.Str(d.Units.String()),
		out.Str(d.Indom), out.Str(d.Class.String()), out.Str(d.Help), out.Str(d.LongHelp), out.Str(d.Source), out.Str(d.Formula),
		out.Whole(int64(d.Bits())), boolean(d.Clamped), out.Str(d.Unsupported), boolean(recorded), out.Whole(instances),
		out.Natural(present), out.Natural(missing), out.Whole(interval)})
	if err != nil {
		return err
	}
	return rows.Close()
}
