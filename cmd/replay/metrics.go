package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/layout"
	"tachograph/store/query"
)

func metricsCommand(a *app) *cobra.Command {
	var m metricsAnswer
	cmd := &cobra.Command{
		Use:     "metrics [PATTERN...]",
		Aliases: []string{"list"},
		Short:   "The catalogue of the archive: what it can hold, in which units",
		Long: `metrics lists the metrics that the archive describes. A PATTERN is a name, the
beginning of names, or a glob; --about finds words in names and descriptions. Metrics that the machine could not supply are
listed with --all, with the reason, and so is what reduced archives hold of steps.

Each metric belongs to a category, the part of the machine that it is about: --category
lists the metrics of one, --categories all categories with the number of their metrics.`,
		Example: `  replay metrics disk
  replay metrics --about 'page fault'
  replay metrics --categories
  replay metrics --category kernel.all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.load(); err != nil {
				return err
			}
			if _, err := a.Window(); err != nil {
				return err
			}
			m.app, m.patterns = a, args
			if err := m.write(); err != nil {
				return err
			}
			a.finish(cmd, args, false)
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&m.all, "all", false, "also those that the machine could not supply")
	f.StringVar(&m.about, "about", "", "only those whose name or description has all of these words")
	f.StringVar(&m.category, "category", "", "only those of this category")
	f.BoolVar(&m.categories, "categories", false, "list the categories of these metrics instead")
	return cmd
}

// metricsAnswer is a list of metrics, or of their categories.
type metricsAnswer struct {
	*app
	patterns   []string
	about      string
	category   string
	all        bool
	categories bool
}

func (a *metricsAnswer) write() error {
	list, err := a.chosen()
	if err != nil {
		return err
	}
	if a.categories {
		return a.writeCategories(list)
	}
	return a.writeMetrics(list)
}

// chosen returns the metrics that the patterns and flags choose.
func (a *metricsAnswer) chosen() ([]*metric.Desc, error) {
	list := a.Archive.Metrics()
	if len(a.patterns) > 0 {
		var err error
		if list, err = a.named(a.patterns); err != nil {
			return nil, err
		}
	}
	if a.category != "" {
		all := categoriesOf(list)
		if list = all[a.category]; list == nil {
			return nil, fmt.Errorf("no metric here is of the category %s%s (replay metrics --categories lists them)",
				a.category, query.Suggest(a.category, slices.Sorted(maps.Keys(all))))
		}
	}
	if a.about != "" {
		words := strings.Fields(strings.ToLower(a.about))
		list = slices.DeleteFunc(slices.Clone(list), func(d *metric.Desc) bool {
			text := strings.ToLower(d.Name + " " + d.Help)
			return slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
		})
		if len(list) == 0 {
			return nil, nothing("no metric has %q in its name or description: try fewer words", a.about)
		}
	}
	return list, nil
}

func categoriesOf(list []*metric.Desc) map[string][]*metric.Desc {
	all := make(map[string][]*metric.Desc)
	for _, d := range list {
		name := catalog.Category(d.Name)
		all[name] = append(all[name], d)
	}
	return all
}

// unasked reports whether a metric is left out of what is listed without patterns and --all: what
// reduced archives hold of steps, or what this machine could not supply.
func (a *metricsAnswer) unasked(d *metric.Desc) (companion, absent bool) {
	if a.all || len(a.patterns) > 0 {
		return false, false
	}
	companion = layout.IsReduced(d.Name)
	return companion, !companion && d.Unsupported != ""
}

// writeCategories lists categories with the number of their metrics, and of those among them that
// this machine could not supply.
func (a *metricsAnswer) writeCategories(list []*metric.Desc) error {
	w, err := a.rows(out.Column{Name: "category"}, out.Column{Name: "metrics", Right: true}, out.Column{Name: "unsupported", Right: true})
	if err != nil {
		return err
	}
	all := categoriesOf(slices.DeleteFunc(slices.Clone(list), func(d *metric.Desc) bool {
		companion, _ := a.unasked(d)
		return companion
	}))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		absent := 0
		for _, d := range all[name] {
			if d.Unsupported != "" {
				absent++
			}
		}
		if err := w.Row([]out.Cell{{}, out.Str(name), out.Whole(int64(len(all[name]))), out.Whole(int64(absent))}); err != nil {
			return err
		}
	}
	return w.Close()
}

func (a *metricsAnswer) writeMetrics(list []*metric.Desc) error {
	w, err := a.rows(
		out.Metric, out.Column{Name: "type"}, out.Column{Name: "semantics", Keep: 3}, out.Column{Name: "units", Keep: 4},
		out.Column{Name: "indom", Title: "INSTANCES", Keep: 2}, out.Column{Name: "class", Keep: 1}, out.Column{Name: "category", Only: out.InMachine}, out.Column{Name: "pmid", Only: out.InMachine},
		out.Column{Name: "unsupported", Only: out.InMachine}, out.Column{Name: "source", Only: out.InMachine},
		out.Column{Name: "help", Flex: true},
	)
	if err != nil {
		return err
	}
	left, companions := 0, 0
	for _, d := range list {
		switch companion, absent := a.unasked(d); {
		case companion:
			companions++
			continue
		case absent:
			left++
			continue
		}
		help := d.Help
		if d.Unsupported != "" {
			help = "[" + d.Unsupported + "] " + help
		}
		err := w.Row([]out.Cell{{},
			out.Str(d.Name), out.Str(d.Type.String()), out.Str(d.Sem.String()), out.Str(d.Units.String()),
			out.Str(d.Indom), out.Str(d.Class.String()), out.Str(catalog.Category(d.Name)), out.Str(d.PMID.String()), out.Str(d.Unsupported), out.Str(d.Source),
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
