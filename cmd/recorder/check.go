package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/recorder/trigger"
	"tachograph/config"
	"tachograph/sample"
	"tachograph/sample/engine"
	"tachograph/sample/metric"
	"tachograph/sample/platform"
	"tachograph/sample/probe"
)

func (a *app) checkCommand() *cobra.Command {
	var file string
	var printDefault, witnesses bool
	var wait time.Duration
	c := &cobra.Command{
		Use:   "check",
		Short: "Check a configuration and print what it comes to",
		Long: "check reads a configuration, says what is wrong with it, and prints what it comes\n" +
			"to on this machine: what its triggers watch, how often each class is read, how\n" +
			"many metrics it has, and how many values a day gives. Values are counted by\n" +
			"reading everything once.\n\n" +
			"With --witness it compares sources of the kernel that must agree instead, such as\n" +
			"the processor time of all processes and the machine's, as the recorder does once\n" +
			"an hour. The status is 1 if two disagree.",
		Args: noArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if printDefault {
				_, err := fmt.Fprint(a.out, config.DefaultText)
				return err
			}
			if witnesses {
				return a.witnesses(file, wait)
			}
			if c.Flags().Changed("wait") {
				return errors.New("--wait is for the looks of --witness: give that, too")
			}
			return a.check(file)
		},
	}
	c.Flags().StringVar(&file, "config", "", "configuration `FILE` to check (default "+config.DefaultFile()+")")
	c.Flags().BoolVar(&printDefault, "print-default", false, "print the default configuration, with a comment for each key")
	c.Flags().BoolVar(&witnesses, "witness", false, "compare sources of the kernel that must agree")
	c.Flags().DurationVar(&wait, "wait", time.Second, "with --witness: time between two of the four looks at the machine")
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
	descs := platform.Metrics(a.catalog(), sources)
	dir := cfg.Archive.Dir
	if dir == "" {
		dir = config.DefaultArchiveDir()
	}
	triggers, err := trigger.Compile(cfg, descs)
	if err := errors.Join(cfg.CheckMetrics(descs), err, cfg.CheckDir(dir)); err != nil {
		return refused(err)
	}
	for _, idle := range cfg.IdleRules(descs) {
		fmt.Fprintf(a.err, "recorder: %s\n", idle)
	}
	from := cfg.File
	if from == "" {
		from = "the defaults (there is no " + config.DefaultFile() + ")"
	}
	a.toRead()
	var b strings.Builder
	facts := [][2]string{
		{"configuration  ", visible.Text(from)}, {"archives", visible.Text(dir)}, {"rotation", rotationText(cfg)},
		{"retention", fmt.Sprintf("%s, %s in all%s", durationText(cfg.Archive.KeepFor), sizeText(cfg.Archive.KeepSize), reducedText(cfg))},
	}
	for i, line := range triggers.Lines() {
		name := ""
		if i == 0 {
			name = "triggers"
		}
		facts = append(facts, [2]string{name, visible.Text(line[0] + ": " + line[1])})
	}
	writeFacts(&b, facts, "", a.width)
	if _, err := fmt.Fprintln(a.out, b.String()); err != nil {
		return err
	}
	return a.printPlan(cfg, sources)
}

// reducedText describes what is kept of archives that are removed.
func reducedText(cfg *config.Config) string {
	if cfg.Archive.KeepReducedFor <= 0 {
		return ""
	}
	return fmt.Sprintf("; steps of %s for %s", config.FormatDuration(cfg.Archive.ReduceTo), durationText(cfg.Archive.KeepReducedFor))
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

// classPlan is how much one class reads.
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
	t := table{head: []string{"class", "every", "metrics", "values", "values a day"}, right: true, drop: []int{2, 3}, cut: []int{0}}
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
		t.rows = append(t.rows, []string{cl.String(), every, strconv.Itoa(len(p.metrics)), strconv.Itoa(p.values), thousands(day)})
		metrics += len(p.metrics)
		values += p.values
		perDay += day
	}
	t.rows = append(t.rows, []string{"all", "", strconv.Itoa(metrics), strconv.Itoa(values), thousands(perDay)})
	if err := t.write(a.out, a.width); err != nil {
		return err
	}
	for _, c := range snap.Costs {
		if c.Err != nil {
			text := visible.Text(fmt.Sprintf("source %s cannot be read: %s", c.Source, c.Err))
			if a.width > 0 {
				text = indented(text, "", a.width)
			}
			fmt.Fprintln(a.out, text)
		}
	}
	return nil
}
