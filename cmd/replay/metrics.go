package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store/layout"
	"tachograph/store/query"
)

func metricsCommand(a *app) *cobra.Command {
	var all bool
	var about string
	cmd := &cobra.Command{
		Use:   "metrics [PATTERN...]",
		Short: "The catalogue of the archive: what it can hold, in which units",
		Long: `metrics lists the metrics that the archive describes. A PATTERN is a name, the
beginning of names, or a glob; --about finds words in names and descriptions. Metrics that the machine could not supply are
listed with --all, with the reason, and so is what reduced archives hold of steps.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.load(); err != nil {
				return err
			}
			if _, err := a.Window(); err != nil {
				return err
			}
			if err := a.metrics(args, all, about); err != nil {
				return err
			}
			a.finish(cmd, args, false)
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those that the machine could not supply")
	cmd.Flags().StringVar(&about, "about", "", "only those whose name or description has all of these words")
	return cmd
}

func (a *app) metrics(patterns []string, all bool, about string) error {
	list := a.Archive.Metrics()
	if len(patterns) > 0 {
		var err error
		if list, err = a.named(patterns); err != nil {
			return err
		}
	}
	if about != "" {
		words := strings.Fields(strings.ToLower(about))
		list = slices.DeleteFunc(slices.Clone(list), func(d *metric.Desc) bool {
			text := strings.ToLower(d.Name + " " + d.Help)
			return slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
		})
		if len(list) == 0 {
			return nothing("no metric has %q in its name or description: try fewer words", about)
		}
	}
	w, err := a.rows(
		out.Metric, out.Column{Name: "type"}, out.Column{Name: "semantics", Keep: 3}, out.Column{Name: "units", Keep: 4},
		out.Column{Name: "indom", Title: "INSTANCES", Keep: 2}, out.Column{Name: "class", Keep: 1}, out.Column{Name: "pmid", Only: out.InMachine},
		out.Column{Name: "unsupported", Only: out.InMachine}, out.Column{Name: "source", Only: out.InMachine},
		out.Column{Name: "help", Flex: true},
	)
	if err != nil {
		return err
	}
	left, companions := 0, 0
	for _, d := range list {
		if layout.IsReduced(d.Name) && !all && len(patterns) == 0 {
			companions++
			continue
		}
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
	if left > 0 {
		a.remark(fmt.Sprintf("not shown: %s that this machine could not supply (--all)", cli.Count(left, "metric")))
	}
	if companions > 0 {
		a.remark(fmt.Sprintf("not shown: %s of what steps came to, such as reduced.max.NAME (replay metrics reduced)", cli.Count(companions, "metric")))
	}
	return nil
}

// named returns the metrics that match the patterns.
func (s *session) named(patterns []string) ([]*metric.Desc, error) {
	var chosen []*metric.Desc
	for _, p := range patterns {
		found, err := query.MatchMetrics(s.Archive, p)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no metric in the archive matches %s%s", p, query.Suggest(strings.Trim(p, "*?."), metricNames(s.Archive)))
		}
		chosen = append(chosen, found...)
	}
	return chosen, nil
}

func metricNames(ar query.Archive) []string {
	var out []string
	for _, d := range ar.Metrics() {
		out = append(out, d.Name)
	}
	return out
}
