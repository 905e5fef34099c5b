package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/chart"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/plot"
)

// plotWidth is the width of a chart where the output is no terminal.
const plotWidth = 72

func plotCommand(a *app) *cobra.Command {
	p := &plotting{a: a, height: 8}
	cmd := &cobra.Command{
		Use:   "plot METRIC...",
		Short: "Series as charts in the terminal, or as a picture",
		Long: `plot draws a chart for each series over the window: counters as rates, each dot
the mean of its part of the window. For numbers use rates with --step.

With --output it writes one picture instead, SVG or PNG by its ending: a panel for
each metric, its instances as lines; times at which nothing was recorded are shaded,
and what happened is marked. "-o -" writes SVG to the standard output, which with
--png is PNG.

For programs, csv and json have a row for each series with the points of its chart;
those in which nothing was recorded are null.`,
		Example: `  replay plot kernel.all.cpu.user disk.all.total_bytes --from -1h
  replay plot network.interface.in.bytes -i en0 --height 16
  replay plot kernel.all.load mem.util.used --from 03:00 --to 04:00 -o night.svg
  replay plot mem.util.used -o memory.png --size 1600x900 --dark`,
		Args: needMetrics,
		RunE: func(cmd *cobra.Command, args []string) error {
			if p.height < 1 || p.height > 200 {
				return fmt.Errorf("--height %d: use 1 to 200 lines", p.height)
			}
			if err := p.file.check(cmd); err != nil {
				return err
			}
			if err := p.checkPoints(cmd); err != nil {
				return err
			}
			draw := p.charts
			if p.file.path != "" {
				draw = p.picture
			}
			if err := a.present(func() error { return draw(args) }, func() error { return p.rows(args) }); err != nil {
				return err
			}
			if p.file.path != "-" {
				a.finish(cmd, args, false)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&p.series.instances, "instance", "i", nil, "only instances whose name matches (repeatable)")
	fl.IntVar(&p.height, "height", p.height, "lines of each chart in the terminal")
	fl.IntVar(&p.points, "points", 60, "with --format csv or json: how many points each series has")
	p.file.register(cmd)
	return cmd
}

// charts draws in the terminal.
func (p *plotting) charts(args []string) error {
	a := p.a
	width := a.textWidth(plotWidth + 14)
	list, w, err := p.read(args, chart.Points(max(width-8, 10)))
	if err != nil {
		return err
	}
	shown := list[:min(len(list), plot.Most)]
	charts := make([]chart.Chart, len(shown))
	margin := 0 // One for all charts, so that their times line up.
	for i, d := range shown {
		low, high := chart.Scale(d.Values)
		charts[i] = chart.Chart{Values: d.Values, Height: p.height, From: w.From, To: w.To, Axis: chart.Values(low, high, d.Units, d.Rate, chart.Spaces(p.height))}
		margin = max(margin, charts[i].Axis.Margin())
	}
	for i, c := range charts {
		if i > 0 {
			a.stdout.Println()
		}
		c.Margin, c.Width = margin, max(width-margin, 10)
		c.Times = chart.Times(w.From, w.To, a.Zone(), max(c.Width/timeRoom, 1))
		a.stdout.Println(a.bold(human.Cut(visible.Text(shown[i].Title(a.ManyHosts())), width)))
		for _, l := range c.Lines() {
			a.stdout.Println(l)
		}
	}
	if n := len(list) - len(shown); n > 0 {
		a.complain(notDrawn(n))
	}
	return nil
}

// timeRoom is the number of columns for each time on the axis.
const timeRoom = 10
