package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/plural"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

func metricsCommand(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "metrics [PATTERN...]",
		Short: "The catalogue of the archive: what it can hold, in which units",
		Long: `metrics lists the metrics that the archive describes. A PATTERN is a name, the
beginning of names, or a glob. Metrics that the machine could not supply are
listed with --all, with the reason.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.load(); err != nil {
				return err
			}
			if _, err := a.window(); err != nil {
				return err
			}
			if err := a.metrics(args, all); err != nil {
				return err
			}
			a.finish(cmd, args, false)
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those that the machine could not supply")
	return cmd
}

func (a *app) metrics(patterns []string, all bool) error {
	list := a.archive.Metrics()
	if len(patterns) > 0 {
		var chosen []*metric.Desc
		for _, p := range patterns {
			found, err := query.MatchMetrics(a.archive, p)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return fmt.Errorf("no metric in the archive matches %s%s", p, query.Suggest(strings.Trim(p, "*?."), metricNames(a.archive)))
			}
			chosen = append(chosen, found...)
		}
		list = chosen
	}
	w, err := a.rows(
		out.Column{Name: "metric"}, out.Column{Name: "type"}, out.Column{Name: "semantics"}, out.Column{Name: "units"},
		out.Column{Name: "indom", Title: "INSTANCES"}, out.Column{Name: "class"}, out.Column{Name: "pmid", Only: out.InMachine},
		out.Column{Name: "unsupported", Only: out.InMachine}, out.Column{Name: "source", Only: out.InMachine},
		out.Column{Name: "help", Flex: true},
	)
	if err != nil {
		return err
	}
	left := 0
	for _, d := range list {
		if d.Unsupported != "" && !all && len(patterns) == 0 {
			left++
			continue
		}
		help := d.Help
		if d.Unsupported != "" {
			help = "[" + d.Unsupported + "] " + help
		}
		err := w.Row([]out.Cell{{},
			out.Str(d.Name), out.Str(d.Type.String()), out.Str(d.Sem.String()), out.Str(d.Units.String()),
			out.Str(d.Indom), out.Str(d.Class.String()), out.Str(d.PMID.String()), out.Str(d.Unsupported), out.Str(d.Source),
			out.Str(d.Help).As(help),
		})
		if err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if left > 0 && a.table() {
		a.stderr.Printf("not shown: %s that this machine could not supply (--all)\n", plural.Of(left, "metric"))
	}
	return nil
}

func metricNames(ar query.Archive) []string {
	var out []string
	for _, d := range ar.Metrics() {
		out = append(out, d.Name)
	}
	return out
}
