package main

import (
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/recorder/service"
	"tachograph/config"
	"tachograph/sample"
	"tachograph/sample/engine"
	"tachograph/sample/metric"
	"tachograph/sample/probe"
)

func (a *app) checkCommand() *cobra.Command {
	var file string
	var printDefault bool
	c := &cobra.Command{
		Use:   "check",
		Short: "Check a configuration and print what it comes to",
		Long: "check reads a configuration, says what is wrong with it, and prints what it comes\n" +
			"to on this machine: how often each class is read, how many metrics it has, and\n" +
			"how many values a day gives. Values are counted by reading everything once.",
		Args: noArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if printDefault {
				_, err := fmt.Fprint(a.out, config.DefaultText)
				return err
			}
			return a.check(file)
		},
	}
	c.Flags().StringVar(&file, "config", "", "configuration `FILE` to check (default "+config.DefaultFile()+")")
	c.Flags().BoolVar(&printDefault, "print-default", false, "print the default configuration, with a comment for each key")
	return c
}

func (a *app) check(file string) error {
	cfg, err := loadConfig(file)
	if err != nil {
		return refused(err)
	}
	sources, done, err := a.open(cfg)
	if err != nil {
		return err
	}
	defer done()
	descs := service.Catalog(a.catalog(), sources)
	dir := cfg.Archive.Dir
	if dir == "" {
		dir = config.DefaultArchiveDir()
	}
	if err := errors.Join(cfg.CheckMetrics(descs), cfg.CheckDir(dir)); err != nil {
		return refused(err)
	}
	for _, idle := range cfg.IdleRules(descs) {
		fmt.Fprintf(a.err, "recorder: %s\n", idle)
	}
	from := cfg.File
	if from == "" {
		from = "the defaults (there is no " + config.DefaultFile() + ")"
	}
	fmt.Fprintf(a.out, "configuration  %s\narchives        %s\n", from, dir)
	fmt.Fprintf(a.out, "rotation       %s\n", rotationText(cfg))
	fmt.Fprintf(a.out, "retention      %s, %s in all\n\n", durationText(cfg.Archive.KeepFor), sizeText(cfg.Archive.KeepSize))
	return a.printPlan(cfg, sources)
}

// refused makes a mistake in the configuration an answer: it was read, and is
// not good.
func refused(err error) error {
	if mistake := (*config.Error)(nil); errors.As(err, &mistake) {
		return noError{err}
	}
	return err
}

func rotationText(cfg *config.Config) string {
	text := "at boot"
	if next := cfg.Archive.Rotate.Next(time.Now()); !next.IsZero() {
		text = fmt.Sprintf("%s (next at %s), %s", cfg.Archive.Rotate, next.Format("2006-01-02 15:04"), text)
	}
	if cfg.Archive.MaxSize > 0 {
		text += ", at " + config.FormatSize(cfg.Archive.MaxSize)
	}
	return text
}

func sizeText(n int64) string {
	if n == 0 {
		return "any size"
	}
	return config.FormatSize(n)
}

func durationText(d time.Duration) string {
	if d == config.Off {
		return "for ever"
	}
	return config.FormatDuration(d)
}

// classPlan is what one class comes to.
type classPlan struct {
	metrics map[string]bool
	values  int
}

func (a *app) printPlan(cfg *config.Config, sources []sample.Source) error {
	plan := make(map[metric.Class]*classPlan)
	at := func(cl metric.Class) *classPlan {
		if plan[cl] == nil {
			plan[cl] = &classPlan{metrics: make(map[string]bool)}
		}
		return plan[cl]
	}
	add := func(d *metric.Desc, values int) {
		p := at(cfg.Class(d))
		p.metrics[d.Name] = true
		p.values += values
	}
	for _, g := range engine.SelfGroups() {
		for _, d := range g.Metrics {
			add(d, max(1, engine.SelfInstances(g, len(sources))))
		}
	}
	snap := probe.New(sources, a.now, func(*metric.Desc) bool { return true }).Take()
	for _, s := range sources {
		for _, g := range s.Groups() {
			for _, d := range g.Metrics {
				if d.Unsupported == "" && d.Formula == "" {
					add(d, 0)
				}
			}
		}
	}
	for _, r := range snap.Readings {
		add(r.Desc, 1)
	}
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "class\tevery\tmetrics\tvalues\tvalues a day\t")
	var metrics, values int
	var perDay float64
	for cl := metric.Class(0); cl < metric.NumClasses; cl++ {
		p := at(cl)
		interval := cfg.Interval(cl)
		every, day := "off", 0.0
		switch {
		case interval == metric.Once:
			every, day = "archive", float64(p.values)
		case interval != config.Off:
			every, day = config.FormatDuration(interval), float64(p.values)*float64(24*time.Hour)/float64(interval)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t\n", cl, every, len(p.metrics), p.values, thousands(day))
		metrics += len(p.metrics)
		values += p.values
		perDay += day
	}
	fmt.Fprintf(w, "all\t\t%d\t%d\t%s\t\n", metrics, values, thousands(perDay))
	if err := w.Flush(); err != nil {
		return err
	}
	for _, c := range snap.Costs {
		if c.Err != nil {
			fmt.Fprintf(a.out, "source %s cannot be read: %s\n", c.Source, c.Err)
		}
	}
	return nil
}

// thousands groups the digits of a whole number.
func thousands(v float64) string {
	s := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
