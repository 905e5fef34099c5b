package main

import (
	"errors"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

func valuesCommand(a *app) *cobra.Command {
	f := &seriesFlags{}
	cmd := &cobra.Command{
		Use:   "values METRIC...",
		Short: "Recorded values",
		Long: `values prints values as they were recorded: counters without rates, absent values as
absent, with the reason in json. If a value is not to be trusted, json has the reason
as well, and a table has it at its end.

A METRIC is a name, the beginning of names (kernel.all), a pattern (disk.dev.*),
a derived metric or an expression ('mem.util.used / mem.physmem').

--last prints only the last value of each series, whenever it was read, and of
instances only those that the last reading had.

With --step there is one row for each step, at its end: the mean of instant
values, the last reading of counters and of discrete values.

` + followHelp + `
With --step a step is printed when it is over.`,
		Example: `  replay values mem.util.free --from -10m
  replay values kernel.all.load --follow
  replay values 'hw.*' kern.ostype --last
  replay values 'filesys.*' --instance /home --step 1h --format csv`,
		Args: needMetrics,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.series(cmd, f, args, "value", query.Raw)
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.last, "last", false, "the last value of each")
	f.follow.register(cmd)
	return cmd
}

// series prints one row for each value.
func (a *app) series(cmd *cobra.Command, f *seriesFlags, args []string, column string, mode query.Mode) error {
	if err := f.follow.check(); err != nil {
		return err
	}
	if f.follow.on && f.last {
		return errors.New("--last is of what was recorded: leave it out, or --follow")
	}
	if f.follow.on {
		return followSeries(a, cmd, f, args, column, mode)
	}
	r, targets, err := a.request(f, args, mode)
	if err != nil {
		return err
	}
	conv, err := newConverter(f.units)
	if err != nil {
		return err
	}
	w, err := a.rows(out.Column{Name: "time"}, out.Metric, out.Instance, out.Column{Name: column, Right: true})
	if err != nil {
		return err
	}
	if bulk, ok := w.(out.SeriesWriter); ok {
		defer bulk.Stop()
	}
	n := 0
	kept := lasts{on: f.last}
	cells := make([]out.Cell, 5)
	names := query.NewNames(a.Archive, r)
	doubts := a.doubts(r.Window)
	for _, t := range targets {
		for s, err := range query.ReadTarget(a.Archive, t, r) {
			if err != nil {
				return err
			}
			factor := 0.0
			if conv != nil && s.Type != metric.String {
				if factor, err = conv.factor(s.Name, s.Units, s.Metric != nil && !s.Rate); err != nil {
					return err
				}
			}
			cells[0], cells[2] = hostCell(&s.Archive.Host), out.Str(s.Name)
			n += len(s.Wall)
			for part := range names.Split(s, t.Indom()) {
				if kept.keep(part, factor, doubts.of(t, part)) {
					continue
				}
				if err := conv.rows(w, cells, part, factor, doubts.of(t, part)); err != nil {
					return err
				}
			}
		}
	}
	for _, l := range kept.present() {
		cells[0], cells[2] = hostCell(&l.Archive.Host), out.Str(l.Name)
		if err := conv.rows(w, cells, &l.Series, l.factor, l.doubt); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if n == 0 {
		return a.nothing(targets, f, r)
	}
	a.tellDoubts(doubts)
	a.finish(cmd, args, false)
	return nil
}
