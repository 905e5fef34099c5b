package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
)

func findCommand(a *app) *cobra.Command {
	f := &seriesFlags{}
	var least string
	cmd := &cobra.Command{
		Use:   "find CONDITION",
		Short: "The times when a condition held",
		Long: `find prints when a condition held, for each instance: from the first to the
last sample at which it did. --for leaves out shorter times. find compares counters
by their rates; numbers may have units. Join conditions with && and ||.

The exit status is 0 if there was such a time, 1 if there was none, and 2 if the
archives do not show it, so that scripts can check archives of many machines.`,
		Example: `  replay find 'kernel.all.load[1*] > 8' --for 5m
  replay find 'rate(disk.all.write_bytes) > 100MB/s' --for 30s
  replay find 'mem.util.used / mem.physmem > 95%' --archive /archives/web-1`,
		Args: needOne("a condition, such as 'kernel.all.load > 8'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := a.find(f, least, args[0])
			if err != nil {
				return err
			}
			a.finish(cmd, args, false)
			if !found {
				return errNo
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.instances, "instance", "i", nil, "only instances whose name matches (repeatable)")
	fl.StringVar(&f.step, "step", "", "compare means over steps of this length instead of samples")
	fl.StringVar(&least, "for", "", "only where it held for at least this long")
	return cmd
}

func (a *app) find(f *seriesFlags, least, text string) (bool, error) {
	r, _, err := a.request(f, nil, query.Shown)
	if err != nil {
		return false, err
	}
	var long int64
	if least != "" {
		d, err := when.Duration(least)
		if err != nil {
			return false, fmt.Errorf("--for: %w", err)
		}
		long = int64(d)
	}
	defs, err := a.Definitions()
	if err != nil {
		return false, err
	}
	c, err := query.CompileCondition(a.Archive, defs, text)
	if err != nil {
		return false, err
	}
	units, rate := c.PeakUnits()
	rows, err := a.rows(out.Column{Name: "from"}, out.Column{Name: "to", Keep: 2}, out.Column{Name: "seconds", Right: true, Keep: out.Always}, out.Instance,
		out.Column{Name: "samples", Right: true, Keep: 1}, out.Column{Name: "extreme", Right: true}, out.Column{Name: "open", Only: out.InMachine})
	if err != nil {
		return false, err
	}
	found := false
	for h, err := range query.Find(a.Archive, c, r, long) {
		if err != nil {
			return false, err
		}
		found = true
		if err := query.Measure(a.Archive, c, r, h); err != nil {
			return false, err
		}
		instance := ""
		if h.Instance != nil {
			instance = h.Instance.Name
		}
		extreme := out.Cell{}
		if h.HasPeak {
			extreme = out.Number(h.Peak)
			extreme.Units, extreme.Rate = &units, rate
		}
		err := rows.Row([]out.Cell{hostCell(&h.Archive.Host), out.At(h.From), out.At(h.To),
			out.Number(float64(h.To-h.From) / 1e9).As(human.Seconds(float64(h.To-h.From) / 1e9)), out.Str(instance),
			out.Whole(int64(h.Samples)), extreme, boolean(h.Open)})
		if err != nil {
			return false, err
		}
	}
	if err := rows.Close(); err != nil {
		return false, err
	}
	a.tellDoubtsOf(r.Window, func(d *query.Distrust) bool { return slices.ContainsFunc(c.Metrics(), d.About) })
	if !found {
		a.remark("it held at no time in this window")
	}
	return found, nil
}
