package main

import (
	"github.com/spf13/cobra"

	"tachograph/store/query"
)

func ratesCommand(a *app) *cobra.Command {
	f := &seriesFlags{}
	cmd := &cobra.Command{
		Use:   "rates METRIC...",
		Short: "Values by their meaning: counters as rates",
		Long: `rates prints values as their semantics say: of a counter the rate over the
interval that ends at each time (the first has none), of an instant metric the
value, of a discrete one the value that holds.

No rate is taken across a reboot, a sleep, a gap or a reset of the counter;
--explain says where. Counters of time print as utilisation: 1 is one core,
one disk, busy all the time.

With --step a rate is over the whole step.

` + followHelp + `
With --step a step is printed when it is over.`,
		Example: `  replay rates kernel.all.cpu.user disk.all.total_bytes --from 03:00 --to 03:10
  replay rates network.interface.in.bytes --instance en0 --step 1m --units MB/s
  replay rates 'mem.util.used / mem.physmem'
  replay rates disk.all.write_bytes --from -1m --follow`,
		Args: needMetrics,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.series(cmd, f, args, "rate", query.Shown)
		},
	}
	f.register(cmd)
	f.follow.register(cmd)
	cmd.Flags().BoolVar(&f.raw, "raw", false, "recorded values instead of rates")
	return cmd
}
