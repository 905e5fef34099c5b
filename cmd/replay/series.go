package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// seriesFlags are the flags of commands about series.
type seriesFlags struct {
	instances []string
	step      string
	units     string
	raw       bool
	last      bool
	explain   bool
	follow    followFlags
}

func (f *seriesFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.instances, "instance", "i", nil, "only instances whose name matches: a glob, or /regexp/ (repeatable)")
	fl.StringVar(&f.step, "step", "", "one row for each step of this length (10s, 5m, 1h); those of whole days (1d, 1w) begin at midnight")
	fl.StringVar(&f.units, "units", "", "convert to these units (MB/s, sec, ...)")
	fl.BoolVar(&f.explain, "explain", false, "say on stderr what was bridged or dropped")
}

// request prepares the request of a command and finds its targets.
func (a *app) request(f *seriesFlags, args []string, mode query.Mode) (query.Request, []query.Target, error) {
	var r query.Request
	if err := a.load(); err != nil {
		return r, nil, err
	}
	defs, err := a.Definitions()
	if err != nil {
		return r, nil, err
	}
	if r.Window, err = a.Window(); err != nil {
		return r, nil, err
	}
	targets, err := query.Targets(a.Archive, defs, args)
	if err != nil {
		return r, nil, err
	}
	if f.last {
		_, end, _ := query.Covered(a.Archive, r.Window)
		if r.To == 0 || r.To > end {
			r.To = end
		}
		r.From, r.Before = r.To, true
	}
	return r, targets, a.shape(&r, f, mode)
}

// shape sets the request's instances, step, mode and notes from the flags.
func (p *page) shape(r *query.Request, f *seriesFlags, mode query.Mode) (err error) {
	if r.Instance, r.Sought, err = query.InstanceFilter(f.instances); err != nil {
		return err
	}
	if f.step != "" {
		d, err := when.Duration(f.step)
		if err != nil {
			return fmt.Errorf("--step: %w", err)
		}
		if d <= 0 {
			return fmt.Errorf("--step must be longer than nothing")
		}
		r.Step, r.Zone = int64(d), p.Zone()
	}
	r.Mode = mode
	if f.raw {
		r.Mode = query.Raw
	}
	if f.explain {
		r.Note = p.note
	}
	return nil
}

// note prints what a computation bridged or dropped.
func (p *page) note(n query.Note) {
	name := n.Metric.Name
	if n.Instance != nil {
		name += "[" + n.Instance.Name + "]"
	}
	p.stderr.Printf("%s  %s: %s\n", p.In(n.Wall).Format(time.RFC3339Nano), name, n.Text)
}

// A converter turns values of one unit into the unit of --units.
type converter struct {
	text  string
	units metric.Units
}

func newConverter(text string) (*converter, error) {
	if text == "" {
		return nil, nil
	}
	u, err := metric.ParseUnits(text)
	if err != nil {
		return nil, fmt.Errorf("--units: %w", err)
	}
	return &converter{text, u}, nil
}

// factor returns what to multiply values in u by. plain is set if they are a metric's own
// values, which without units are no share of anything.
func (c *converter) factor(name string, u metric.Units, plain bool) (float64, error) {
	f, err := u.Factor(c.units)
	if plain && u == metric.NoUnits && c.units == metric.Percent {
		return 0, fmt.Errorf("%s is a plain number and no share of anything: it has no percent", name)
	}
	if err != nil {
		from := u.String()
		if from == "" {
			from = "a number without units"
		}
		return 0, fmt.Errorf("%s is in %s, which cannot be converted to %s: the dimensions differ", name, from, c.text)
	}
	return f, nil
}

// apply converts a cell. The table then shows the number with the unit as the user wrote it.
func (c *converter) apply(cell *out.Cell, factor float64) {
	switch cell.Kind {
	case out.Int:
		cell.F = float64(cell.I)
	case out.Uint:
		cell.F = float64(cell.U)
	case out.Float:
	default:
		return
	}
	cell.Kind, cell.U = out.Float, 0
	cell.F *= factor
	cell.Units, cell.Rate = &c.units, false
	cell.Human = strings.TrimSpace(human.Figures(cell.F) + " " + c.text)
}

// rows prints the values of a series. cells hold what its rows have in common. doubt, if not
// nil, gives the reason to distrust the value at a time.
func (conv *converter) rows(w out.Writer, cells []out.Cell, s *query.Series, factor float64, doubt func(int64) metric.Reason) error {
	cells[3] = out.Str("")
	if s.Instance != nil {
		cells[3] = out.Str(s.Instance.Name)
	}
	if bulk, ok := w.(out.SeriesWriter); ok && factor == 0 && doubt == nil {
		points := out.Points{Wall: s.Wall, Column: s.Column, Type: s.Type}
		return bulk.Series(cells[:1], cells[2:4], &points)
	}
	for i, wall := range s.Wall {
		cells[1] = out.At(wall)
		cells[4] = out.Value(s.Value(i), &s.Units, s.Rate)
		if factor != 0 {
			conv.apply(&cells[4], factor)
		}
		if doubt != nil && cells[4].Kind != out.Blank {
			cells[4].Reason = doubt(wall)
			cells[4].Alarm = cells[4].Reason != metric.Present
		}
		if err := w.Row(cells); err != nil {
			return err
		}
	}
	return nil
}

// nothing explains an empty answer.
func (s *session) nothing(targets []query.Target, f *seriesFlags, r query.Request) error {
	names := make([]string, 0, len(targets))
	for _, t := range targets {
		names = append(names, t.Name())
	}
	what := strings.Join(names[:min(3, len(names))], ", ")
	if len(f.instances) > 0 {
		if err := query.NoOwners(s.Archive, f.instances); err != nil {
			return err
		}
		var known []string
		for _, t := range targets {
			if t.Metric != nil {
				known = append(known, query.InstanceNames(s.Archive, r.Window, t.Metric)...)
			}
		}
		return nothing("no instance of %s matches %s%s", what, strings.Join(f.instances, " or "), query.Suggest(f.instances[0], known))
	}
	for _, t := range targets {
		if t.Metric != nil && t.Metric.Unsupported != "" {
			return nothing("%s was not recorded: %s", t.Metric.Name, t.Metric.Unsupported)
		}
	}
	from, to, _ := query.Covered(s.Archive, query.Window{Hosts: r.Hosts})
	before := ""
	if len(targets) == 1 && targets[0].Metric != nil {
		before = s.lastBefore(r, targets[0].Metric)
	}
	return nothing("no value of %s in this window%s (the archive covers %s to %s; replay explain %s tells more)",
		what, before, s.Show(from), s.Show(to), names[0])
}

// lastBefore describes the last value of a metric before the window, for a metric that was not
// read in the window. It returns "" if that is not a single value.
func (s *session) lastBefore(r query.Request, d *metric.Desc) string {
	from, _, _ := query.Covered(s.Archive, query.Window{Hosts: r.Hosts})
	q := query.Request{Window: r.Window, Metrics: []string{d.Name}, Instance: r.Instance, Sought: r.Sought, Mode: query.Raw, Before: true}
	q.From = max(q.From, from)
	said := ""
	for one, err := range query.Read(s.Archive, q) {
		if err != nil || said != "" {
			return ""
		}
		i := len(one.Wall) - 1
		if v := one.Value(i); one.Wall[i] < q.From && v.Miss == metric.Present {
			said = fmt.Sprintf(": it was last read before, at %s, and was %s", s.Show(one.Wall[i]), visible.Text(strings.TrimSpace(v.String()+" "+one.Units.String())))
		}
	}
	return said
}
