package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

func rangesCommand(a *app) *cobra.Command {
	f := &seriesFlags{}
	var rates, quick, exact bool
	cmd := &cobra.Command{
		Use:   "ranges METRIC...",
		Short: "Minimum, mean, maximum and percentiles over the window or each step",
		Long: `ranges sums up each series: how many values, the first and the last, the
smallest, the mean (weighted with time), the largest, the 50th, 95th and 99th
percentile (by nearest rank) and, for counters, by how much they grew; resets
and wraps are accounted for.

Over some hours or more, ranges computes the percentiles of levels from sketches in the
archive, without reading every value. They are then off by at most 1.6 % of their value,
which ranges says below the answer and in json ("within"). --exact reads every value.
The percentiles of counters, of small whole numbers and of short windows are always
exact. Those of very many rates are at most 0.05 % off without --exact. Archives of
steps (replay reduce) have no percentiles.

Values are as recorded; --rates shows counters as rates. --quick leaves the percentiles
out and answers long windows from summaries.`,
		Example: `  replay ranges disk.dev.total_bytes --from -24h
  replay ranges kernel.all.cpu --rates --step 1h --format csv`,
		Args: needMetrics,
		RunE: func(cmd *cobra.Command, args []string) error {
			mode := query.Raw
			if rates {
				mode = query.Shown
			}
			return a.ranges(cmd, f, args, query.RangeRequest{Request: query.Request{Mode: mode}, Percentiles: !quick, Exact: exact})
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&rates, "rates", false, "sum up the rates of counters instead of their readings")
	cmd.Flags().BoolVar(&quick, "quick", false, "no percentiles")
	cmd.Flags().BoolVar(&exact, "exact", false, "percentiles of the values themselves, also of long windows")
	return cmd
}

func (a *app) ranges(cmd *cobra.Command, f *seriesFlags, args []string, ask query.RangeRequest) error {
	r, targets, err := a.request(f, args, ask.Mode)
	if err != nil {
		return err
	}
	conv, err := newConverter(f.units)
	if err != nil {
		return err
	}
	right := func(name string, keep int) out.Column { return out.Column{Name: name, Right: true, Keep: keep} }
	columns := []out.Column{
		out.Metric, out.Instance, {Name: "from", Keep: 11}, {Name: "to"},
		right("count", 1), right("first", 2), right("last", 6), right("min", 8), right("mean", 10), right("max", 9),
		right("p50", 5), right("p95", 7), right("p99", 4), right("increase", 3),
		{Name: "rate", Right: true, Keep: -1, Only: out.InTables},
		{Name: "within", Only: out.InJSON},
	}
	if f.step == "" {
		// A table over the whole window need not repeat the window in every row.
		columns[2].Only, columns[3].Only = out.InMachine, out.InMachine
	}
	w, err := a.rows(columns...)
	if err != nil {
		return err
	}
	n, near, within := 0, 0, 0.0
	ask.Request = r
	for list, err := range query.RangesOf(a.Archive, targets, ask) {
		if err != nil {
			return err
		}
		factor := 0.0
		if conv != nil {
			if factor, err = conv.factor(list.Name, list.Units, list.Metric != nil && !list.Rate); err != nil {
				return err
			}
		}
		cells := rangeCells(list)
		if factor != 0 {
			for i := 6; i <= 14; i++ {
				conv.apply(&cells[i], factor)
			}
		}
		if err := w.Row(cells); err != nil {
			return err
		}
		n++
		if list.Within > 0 {
			near, within = near+1, max(within, list.Within)
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if near > 0 && a.format != string(out.JSON) {
		a.complain(fmt.Sprintf("replay: percentiles of %d series are at most %.2g %% off; --exact reads every value", near, 100*within))
	}
	if n == 0 {
		for _, t := range targets {
			if t.Metric != nil && t.Metric.Type == metric.String {
				return fmt.Errorf("%s is text and has no range: replay values shows it", t.Metric.Name)
			}
		}
		return a.nothing(targets, f, r)
	}
	a.tellDoubts(a.doubts(r.Window).about(targets, r))
	a.finish(cmd, args, false)
	return nil
}

func rangeCells(r *query.Range) []out.Cell {
	instance := ""
	if r.Instance != nil {
		instance = r.Instance.Name
	}
	number := func(x float64) out.Cell {
		if math.IsNaN(x) {
			return out.Cell{}
		}
		c := out.Number(x)
		c.Units, c.Rate = &r.Units, r.Rate
		return c
	}
	value := func(v metric.Value) out.Cell { return out.Value(v, &r.Units, r.Rate) }
	increase := number(r.Increase)
	increase.Rate = false
	if r.Metric != nil {
		increase.Units = &r.Metric.Units
	}
	rate := out.Cell{}
	if !math.IsNaN(r.Increase) && r.Seconds > 0 && r.Metric != nil {
		u, factor := query.RateUnits(r.Metric.Units)
		rate = out.None(human.Value(r.Steady/r.Seconds*factor, u, true))
	}
	return []out.Cell{
		hostCell(&r.Archive.Host), out.Str(r.Name), out.Str(instance), out.At(r.From), out.At(r.To),
		out.Natural(r.Count), value(r.First), value(r.Last), value(r.Min), number(r.Mean), value(r.Max),
		number(r.P50), number(r.P95), number(r.P99), increase, rate, out.Number(r.Within),
	}
}
