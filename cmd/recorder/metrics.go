package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tachograph/config"
	"tachograph/sample/metric"
	"tachograph/sample/platform"
	"tachograph/store/query"
)

func (a *app) metricsCommand() *cobra.Command {
	var describe, asJSON bool
	var file string
	c := &cobra.Command{
		Use:     "metrics [PATTERN...]",
		Short:   "List the metrics: type, units, class, and whether this machine has them",
		Long:    "metrics lists what can be recorded: the name of each metric, its type, what\nsuccessive values mean, its units, the class with which it is read, and whether\nthis machine supplies it or why not.",
		Example: "  recorder metrics\n  recorder metrics disk --describe",
		RunE: func(c *cobra.Command, args []string) error {
			want, err := patterns(args)
			if err != nil {
				return err
			}
			cfg, err := loadConfig(file)
			if err != nil {
				return err
			}
			sources, done, err := a.open(cfg)
			if err != nil {
				return err
			}
			defer done()
			all := platform.Metrics(a.catalog(), sources)
			descs := slices.DeleteFunc(slices.Clone(all), func(d *metric.Desc) bool { return !want(d) })
			switch {
			case len(descs) == 0:
				return noMetric(args[0], all)
			case asJSON:
				return printMetricsJSON(a.out, descs, cfg)
			case describe:
				a.toRead()
				return describeMetrics(a.out, descs, cfg, a.width)
			}
			a.toRead()
			return printMetrics(a.out, descs, cfg, a.width)
		},
	}
	c.Flags().BoolVar(&describe, "describe", false, "print everything that is known about each metric")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	c.Flags().StringVar(&file, "config", "", "configuration `FILE` whose classes are shown")
	return c
}

// noMetric is the error for a name that no metric has, with a similar name if there is one.
func noMetric(name string, all []*metric.Desc) error {
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
	}
	return fmt.Errorf("no metric matches %s%s (recorder metrics lists them all)", name, query.Suggest(strings.Trim(name, "*?."), names))
}

func here(d *metric.Desc) string {
	switch {
	case d.Unsupported != "":
		return "no: " + d.Unsupported
	case d.Formula != "":
		return "computed"
	}
	return "yes"
}

func printMetrics(out io.Writer, descs []*metric.Desc, cfg *config.Config, width int) error {
	t := table{head: []string{"METRIC", "TYPE", "SEMANTICS", "UNITS", "PER", "CLASS", "HERE"}, drop: []int{1, 2, 5, 4}, cut: []int{6, 0}}
	for _, d := range descs {
		t.rows = append(t.rows, []string{d.Name, d.Type.String(), d.Sem.String(), dash(d.Units.String()), dash(d.Indom), cfg.Class(d).String(), here(d)})
	}
	return t.write(out, width)
}

// paragraph is the greatest width of explanations: longer lines are hard to read.
const paragraph = 76

func describeMetrics(out io.Writer, descs []*metric.Desc, cfg *config.Config, width int) error {
	for i, d := range descs {
		var b strings.Builder
		if i > 0 {
			b.WriteByte('\n')
		}
		if width > 0 {
			b.WriteString(indented(d.Name, "", width) + "\n")
		} else {
			b.WriteString(d.Name + "\n")
		}
		writeFacts(&b, factsOf(d, cfg), "    ", width)
		if d.LongHelp != "" {
			wide := paragraph
			if width > 0 {
				wide = min(width, paragraph)
			}
			b.WriteString("\n" + indented(d.LongHelp, "    ", wide) + "\n")
		}
		if _, err := io.WriteString(out, b.String()); err != nil {
			return err
		}
	}
	return nil
}

// factsOf returns the facts that recorder metrics prints of a metric, each a title and a text.
func factsOf(d *metric.Desc, cfg *config.Config) [][2]string {
	var facts [][2]string
	row := func(name, value string) {
		if value != "" {
			facts = append(facts, [2]string{name + ": ", value})
		}
	}
	row("help", d.Help)
	row("type", d.Type.String()+", "+d.Sem.String())
	row("units", d.Units.String())
	row("one value per", d.Indom)
	row("class", cfg.Class(d).String())
	if d.PMID != 0 {
		row("pmid", d.PMID.String())
	}
	row("source", d.Source)
	row("formula", d.Formula)
	if d.Width != 0 {
		text := fmt.Sprintf("%d bits in the kernel", d.Width)
		if d.Clamped {
			text += ", where it stops at its greatest value"
		}
		row("width", text)
	}
	if d.Falls == metric.NeverRestarts {
		row("when it falls", "it is the kernel's jitter: it never restarts")
	}
	row("supported here", here(d))
	return facts
}

type jsonMetric struct {
	Metric    string `json:"metric"`
	PMID      string `json:"pmid,omitempty"`
	Type      string `json:"type"`
	Semantics string `json:"semantics"`
	Units     string `json:"units"`
	Indom     string `json:"indom,omitempty"`
	Class     string `json:"class"`
	Source    string `json:"source,omitempty"`
	Formula   string `json:"formula,omitempty"`
	Help      string `json:"help"`
	LongHelp  string `json:"long_help,omitempty"`
	Supported bool   `json:"supported"`
	Reason    string `json:"reason,omitempty"`
}

func printMetricsJSON(out io.Writer, descs []*metric.Desc, cfg *config.Config) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, d := range descs {
		j := jsonMetric{
			Metric: d.Name, Type: d.Type.String(), Semantics: d.Sem.String(), Units: d.Units.String(), Indom: d.Indom,
			Class: cfg.Class(d).String(), Source: d.Source, Formula: d.Formula, Help: d.Help, LongHelp: d.LongHelp,
			Supported: d.Unsupported == "", Reason: d.Unsupported,
		}
		if d.PMID != 0 {
			j.PMID = d.PMID.String()
		}
		if err := enc.Encode(j); err != nil {
			return err
		}
	}
	return nil
}
