package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/computed"
	"tachograph/cmd/internal/visible"
	"tachograph/config"
	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/probe"
)

func (a *app) probeCommand() *cobra.Command {
	var asJSON, cost, processes, owners bool
	var wait time.Duration
	c := &cobra.Command{
		Use:   "probe [PATTERN...]",
		Short: "Read the machine twice, a second apart, and print it",
		Long: "probe reads the metrics of this machine twice, a second apart, and prints each\n" +
			"value, and for counters what they gained per second. Nothing is recorded.\n" +
			"Without a PATTERN it prints the metrics of the machine; with --processes also\n" +
			"those that each process and thread has, which are tens of thousands of lines.\n\n" +
			"With --owners it prints instead whose the processes are: each pod, container,\n" +
			"app, service and session, its number of processes, and how it was found.\n\n" +
			"A PATTERN is a name, which stands for everything below it as well, or a glob\n" +
			"in which * also matches dots: kernel.all, 'disk.*', '*.read_bytes'.",
		Example: "  recorder probe\n  recorder probe kernel.all mem.util\n  recorder probe --json 'disk.dev.*'\n  recorder probe --processes\n  recorder probe --cost\n  recorder probe --owners",
		RunE: func(c *cobra.Command, args []string) error {
			if wait < 0 {
				return fmt.Errorf("--wait %s: the second reading cannot come before the first", wait)
			}
			want, err := patterns(args)
			if err != nil {
				return err
			}
			switch {
			case owners && len(args) > 0:
				return errors.New("--owners prints all owners, and takes no PATTERN")
			case owners:
				want = ofOwners
			case len(args) == 0 && !processes && !cost:
				want = ofMachine
			}
			sources, done, err := a.open(config.Default())
			if err != nil {
				return err
			}
			defer done()
			formulas, err := computed.New(withSources(a.catalog(), sources), want)
			if err != nil {
				return err
			}
			p := probe.New(sources, a.now, func(d *metric.Desc) bool { return want(d) || formulas.Needs(d) })
			first := p.Take()
			timer := time.NewTimer(wait)
			<-timer.C
			second := p.Take()
			if owners {
				found, err := ownersOf(sources)
				if err != nil {
					return err
				}
				if asJSON {
					return printOwnersJSON(a.out, found)
				}
				a.toRead()
				return printOwners(a.out, found, a.width)
			}
			extra, err := formulas.Lines(first, second)
			if err != nil {
				return err
			}
			lines := probe.Sort(append(probe.Pair(first.Only(want), second.Only(want)), extra...))
			switch {
			case cost:
				a.toRead()
				return printCosts(a.out, first.Costs, second.Costs, a.width)
			case len(lines) == 0 && len(args) > 0:
				return a.nothingMatches(args)
			case asJSON:
				return printLinesJSON(a.out, lines)
			}
			a.toRead()
			return printLines(a.out, lines, a.width)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	c.Flags().BoolVar(&cost, "cost", false, "print what reading each source took instead")
	c.Flags().BoolVar(&owners, "owners", false, "print whose the processes are instead")
	c.Flags().BoolVar(&processes, "processes", false, "print the metrics of processes and threads as well")
	c.Flags().DurationVar(&wait, "wait", time.Second, "time between the two readings")
	return c
}

// ofMachine reports whether a metric describes the machine, and not each process or coalition.
func ofMachine(d *metric.Desc) bool { return !metric.PerBoot(d.Indom) }

// withSources adds to the catalogue the metrics that only sources know.
func withSources(rows []*metric.Desc, sources []sample.Source) []*metric.Desc {
	all := slices.Clone(rows)
	known := make(map[string]bool)
	for _, d := range rows {
		known[d.Name] = true
	}
	for _, s := range sources {
		for _, g := range s.Groups() {
			for _, d := range g.Metrics {
				if !known[d.Name] {
					known[d.Name] = true
					all = append(all, d)
				}
			}
		}
	}
	return all
}

// nothingMatches distinguishes a name that does not exist from one that this machine cannot
// supply.
func (a *app) nothingMatches(args []string) error {
	want, _ := patterns(args)
	for _, d := range a.catalog() {
		if want(d) {
			why := "this machine does not have it"
			if d.Unsupported != "" {
				why = d.Unsupported
			} else if d.Formula != "" {
				why = "this machine does not have what it is computed from"
			}
			return fmt.Errorf("%s cannot be read here: %s", d.Name, why)
		}
	}
	return noMetric(args[0], a.catalog())
}

func printLines(out io.Writer, lines []probe.Line, width int) error {
	t := table{head: []string{"METRIC", "INSTANCE", "VALUE", "UNITS", "PER SECOND"}, drop: []int{3, 4}, cut: []int{2, 1, 0}}
	for _, l := range lines {
		value, rate := l.Value.String(), ""
		if l.Value.Miss != metric.Present {
			value = "(" + l.Value.Miss.String() + ")"
		} else if l.Value.Type == metric.String {
			value = strconv.Quote(value)
		}
		if l.HasRate {
			rate = rateText(l)
		}
		t.rows = append(t.rows, []string{l.Metric, dash(visible.Text(l.Instance)), visible.Text(value), dash(l.Units), rate})
	}
	return t.write(out, width)
}

// rateText prints a rate with four digits: the value beside it is exact.
func rateText(l probe.Line) string {
	text := strconv.FormatFloat(l.Rate, 'g', 4, 64)
	if math.Abs(l.Rate) >= 1000 && math.Abs(l.Rate) < 1e15 {
		text = strconv.FormatFloat(math.Round(l.Rate), 'f', 0, 64)
	}
	if l.RateUnits != "" {
		text += " " + l.RateUnits
	}
	return text
}

// jsonLine is the printed form of a line; programs rely on its field names.
type jsonLine struct {
	Metric    string   `json:"metric"`
	Instance  string   `json:"instance"`
	Value     any      `json:"value"`
	Units     string   `json:"units"`
	Semantics string   `json:"semantics"`
	Rate      *float64 `json:"rate,omitempty"`
	Reason    string   `json:"reason,omitempty"`
}

func printLinesJSON(out io.Writer, lines []probe.Line) error {
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, l := range lines {
		j := jsonLine{Metric: l.Metric, Instance: l.Instance, Units: l.Units, Semantics: l.Semantics.String(), Value: jsonValue(l.Value)}
		if l.Value.Miss != metric.Present {
			j.Reason = l.Value.Miss.String()
		}
		if l.HasRate {
			j.Rate = &l.Rate
		}
		if err := enc.Encode(j); err != nil {
			return err
		}
	}
	return w.Flush()
}

// jsonValue keeps numbers exact. Values that JSON numbers cannot hold (infinities) become
// strings.
func jsonValue(v metric.Value) any {
	switch {
	case v.Miss != metric.Present:
		return nil
	case v.Type == metric.String:
		return v.Str
	case v.Type.Float() && (math.IsNaN(v.Number()) || math.IsInf(v.Number(), 0)):
		return v.String()
	}
	return json.Number(v.String())
}

func printCosts(out io.Writer, first, second []probe.Cost, width int) error {
	type row struct{ first, second probe.Cost }
	var rows []row
	for i := range second {
		rows = append(rows, row{first[i], second[i]})
	}
	slices.SortStableFunc(rows, func(a, b row) int { return int(b.second.Took - a.second.Took) })
	t := table{head: []string{"SOURCE", "METRICS", "VALUES", "FIRST", "AGAIN"}, right: true, drop: []int{1, 2, 3}, cut: []int{0}, notes: make(map[int]string)}
	add := func(source string, r row) {
		t.rows = append(t.rows, []string{source, fmt.Sprint(r.second.Metrics), fmt.Sprint(r.second.Values), micros(r.first.Took), micros(r.second.Took)})
	}
	var sum row
	for i, r := range rows {
		if r.second.Err != nil {
			t.notes[i] = visible.Text(r.second.Err.Error())
		}
		add(r.second.Source, r)
		sum.first.Took += r.first.Took
		sum.second.Took += r.second.Took
		sum.second.Metrics += r.second.Metrics
		sum.second.Values += r.second.Values
	}
	add("all", sum)
	return t.write(out, width)
}

func micros(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Nanoseconds())/1e3, 'f', 0, 64) + " µs"
}
