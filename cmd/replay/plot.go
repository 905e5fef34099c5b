package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/chart"
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

const (
	plotWidth = 72 // columns, where the output is no terminal
	plotMost  = 12 // charts
)

func plotCommand(a *app) *cobra.Command {
	f := &seriesFlags{}
	height := 8
	var file pictureFlags
	cmd := &cobra.Command{
		Use:   "plot METRIC...",
		Short: "Series as charts in the terminal, or as a picture",
		Long: `plot draws a chart for each series over the window: counters as rates, each dot
the mean of its part of the window. For numbers use rates with --step.

With --output it writes one picture instead, SVG or PNG by its ending: a panel for
each metric, its instances as lines; times at which nothing was recorded are shaded,
and what happened is marked. "-o -" writes SVG to the standard output, which with
--png is PNG.`,
		Example: `  replay plot kernel.all.cpu.user disk.all.total_bytes --from -1h
  replay plot network.interface.in.bytes -i en0 --height 16
  replay plot kernel.all.load mem.util.used --from 03:00 --to 04:00 -o night.svg
  replay plot mem.util.used -o memory.png --size 1600x900 --dark`,
		Args: needMetrics,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !a.table() {
				return fmt.Errorf("plot draws; replay rates --step gives the numbers as %s", a.format)
			}
			if height < 1 || height > 200 {
				return fmt.Errorf("--height %d: use 1 to 200 lines", height)
			}
			if err := file.check(cmd); err != nil {
				return err
			}
			if file.path != "" {
				return a.plotPicture(cmd, f, args, &file)
			}
			if err := a.plot(f, args, height); err != nil {
				return err
			}
			a.finish(cmd, args, false)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.instances, "instance", "i", nil, "only instances whose name matches (repeatable)")
	fl.IntVar(&height, "height", height, "lines of each chart in the terminal")
	file.register(cmd)
	return cmd
}

// drawn is a series to be drawn.
type drawn struct {
	host, name, instance string
	units                metric.Units
	rate                 bool
	values               []float64
}

// title is the name of the series, with its host if there are several.
func (d *drawn) title(host bool) string {
	title := d.name
	if d.instance != "" {
		title += "[" + d.instance + "]"
	}
	if host {
		title = d.host + "  " + title
	}
	return title
}

func (a *app) plot(f *seriesFlags, args []string, height int) error {
	width := a.textWidth(plotWidth + 14)
	list, from, to, err := a.gather(f, args, chart.Points(max(width-8, 10)))
	if err != nil {
		return err
	}
	shown := list[:min(len(list), plotMost)]
	charts := make([]chart.Chart, len(shown))
	margin := 0 // One for all charts, so that their times line up.
	for i, d := range shown {
		low, high := chart.Scale(d.values)
		charts[i] = chart.Chart{Values: d.values, Height: height, From: from, To: to, Axis: chart.Values(low, high, d.units, d.rate, chart.Spaces(height))}
		margin = max(margin, charts[i].Axis.Margin())
	}
	for i, c := range charts {
		if i > 0 {
			a.stdout.Println()
		}
		c.Margin, c.Width = margin, max(width-margin, 10)
		c.Times = chart.Times(from, to, a.zone(), max(c.Width/timeRoom, 1))
		a.stdout.Println(a.bold(human.Cut(visible.Text(shown[i].title(a.manyHosts())), width)))
		for _, l := range c.Lines() {
			a.stdout.Println(l)
		}
	}
	if len(list) > plotMost {
		a.complain(fmt.Sprintf("not drawn: %s (choose with --instance)", cli.Count(len(list)-plotMost, "more series")))
	}
	return nil
}

// gather computes the series that the arguments name, in so many points over the window that the
// archives cover, and prints which of the series are distrusted.
func (a *app) gather(f *seriesFlags, args []string, points int) (list []*drawn, from, to int64, err error) {
	r, targets, err := a.request(f, args, query.Shown)
	if err != nil {
		return nil, 0, 0, err
	}
	from, to, _ = query.Covered(a.archive, r.Window)
	from = max(from, r.From)
	if r.To != 0 {
		to = min(to, r.To)
	}
	r.From, r.To, r.Origin = from, to, from
	r.Step = max((to-from)/int64(points)+1, 1)
	byKey := make(map[string]*drawn)
	doubts := a.doubts(r.Window)
	for _, t := range targets {
		for s, err := range query.ReadTarget(a.archive, t, r) {
			if err != nil {
				return nil, 0, 0, err
			}
			if s.Type == metric.String {
				continue
			}
			doubts.of(t, s)
			d := drawn{host: s.Archive.Host.Name, name: s.Name, units: s.Units, rate: s.Rate}
			if s.Instance != nil {
				d.instance = s.Instance.Name
			}
			key := d.title(true)
			if byKey[key] == nil {
				d.values = make([]float64, points)
				for i := range d.values {
					d.values[i] = math.NaN()
				}
				byKey[key] = &d
				list = append(list, &d)
			}
			for i, wall := range s.Wall {
				if k := (wall - from - 1) / r.Step; k >= 0 && k < int64(points) {
					byKey[key].values[k] = s.Value(i).Number()
				}
			}
		}
	}
	if len(list) == 0 {
		return nil, 0, 0, a.nothing(targets, f, r)
	}
	for _, d := range list {
		d.join()
	}
	for _, one := range doubts.told {
		a.complain("replay: " + a.doubt(one))
	}
	return list, from, to, nil
}

// timeRoom is the number of columns for each time on the axis.
const timeRoom = 10

// join fills the empty points between the samples of a slow series, so that it becomes a line; a
// gap stays a gap.
func (d *drawn) join() {
	distance := 0
	last := -1
	for i, v := range d.values {
		if v != v {
			continue
		}
		if last >= 0 && (distance == 0 || i-last < distance) {
			distance = i - last
		}
		last = i
	}
	last = -1
	for i, v := range d.values {
		if v != v {
			continue
		}
		if last >= 0 && i-last <= 3*distance {
			for k := last + 1; k < i; k++ {
				d.values[k] = d.values[last]
			}
		}
		last = i
	}
}
