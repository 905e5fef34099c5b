package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/plural"
	"tachograph/cmd/replay/internal/chart"
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

const (
	plotWidth = 72 // letters, where the output is no terminal
	plotMost  = 12 // charts
)

func plotCommand(a *app) *cobra.Command {
	f := &seriesFlags{}
	height := 8
	cmd := &cobra.Command{
		Use:   "plot METRIC...",
		Short: "Series as charts in the terminal",
		Long: `plot draws a chart for each series over the window: counters as rates, each dot
the mean of its part of the window. For other formats use rates with --step.`,
		Example: `  replay plot kernel.all.cpu.user disk.all.total_bytes --from -1h
  replay plot network.interface.in.bytes -i en0 --height 16`,
		Args: needMetrics,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !a.table() {
				return fmt.Errorf("plot draws; replay rates --step gives the numbers as %s", a.format)
			}
			if height < 1 || height > 200 {
				return fmt.Errorf("--height %d: use 1 to 200 lines", height)
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
	fl.IntVar(&height, "height", height, "lines of each chart")
	return cmd
}

// drawn is a series to be drawn.
type drawn struct {
	title  string
	units  metric.Units
	rate   bool
	values []float64
}

func (a *app) plot(f *seriesFlags, args []string, height int) error {
	r, targets, err := a.request(f, args, query.Shown)
	if err != nil {
		return err
	}
	width := max(a.textWidth(plotWidth+14)-14, 10)
	from, to, _ := query.Covered(a.archive, r.Window)
	from = max(from, r.From)
	if r.To != 0 {
		to = min(to, r.To)
	}
	points := chart.Points(width)
	r.From, r.To, r.Origin = from, to, from
	r.Step = max((to-from)/int64(points)+1, 1)
	var list []*drawn
	byKey := make(map[string]*drawn)
	for _, t := range targets {
		for s, err := range query.ReadTarget(a.archive, t, r) {
			if err != nil {
				return err
			}
			if s.Type == metric.String {
				continue
			}
			title := s.Name
			if s.Instance != nil {
				title += "[" + s.Instance.Name + "]"
			}
			if a.manyHosts() {
				title = s.Archive.Host.Name + "  " + title
			}
			d := byKey[title]
			if d == nil {
				d = &drawn{title: title, units: s.Units, rate: s.Rate, values: make([]float64, points)}
				for i := range d.values {
					d.values[i] = math.NaN()
				}
				byKey[title] = d
				list = append(list, d)
			}
			for i, wall := range s.Wall {
				if k := (wall - from - 1) / r.Step; k >= 0 && k < int64(points) {
					d.values[k] = s.Value(i).Number()
				}
			}
		}
	}
	if len(list) == 0 {
		return a.nothing(targets, f, r)
	}
	for i, d := range list[:min(len(list), plotMost)] {
		if i > 0 {
			a.stdout.Println()
		}
		a.draw(d, width, height, from, to)
	}
	if len(list) > plotMost {
		a.stderr.Printf("not drawn: %s (choose with --instance)\n", plural.Of(len(list)-plotMost, "more series"))
	}
	return nil
}

func (p *page) draw(d *drawn, width, height int, from, to int64) {
	d.join()
	c := chart.Chart{Values: d.values, Width: width, Height: height, Label: func(x float64) string { return human.Value(x, d.units, d.rate) }}
	c.Low, c.High = chart.Scale(d.values)
	p.stdout.Println(p.bold(d.title))
	lines := c.Lines()
	for _, l := range lines {
		p.stdout.Println(l)
	}
	layout := "15:04:05"
	if to-from > int64(24*time.Hour) {
		layout = "2006-01-02 15:04"
	}
	first, last := p.in(from).Format(layout), p.in(to).Format(layout)
	p.stdout.Printf("%s%s%s%s\n", strings.Repeat(" ", chart.Margin(lines)), first, strings.Repeat(" ", max(width-len(first)-len(last), 1)), last)
}

// join fills the dots between samples that are farther apart than dots, so
// that a slow series is a line; a gap stays a gap.
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
