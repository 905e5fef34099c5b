package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/export"
	"tachograph/cmd/replay/internal/format/openmetrics"
	"tachograph/cmd/replay/internal/format/parquet"
	"tachograph/cmd/replay/internal/format/pcpexport"
	"tachograph/cmd/replay/internal/format/perfetto"
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// exportFormats are the formats that export writes, in the order of the help text.
var exportFormats = []export.Format{
	export.CSV, export.JSONL, openmetrics.Format, parquet.Format, pcpexport.Format, perfetto.Format,
}

// exporting writes what was recorded in another tool's format.
type exporting struct {
	a           *app
	format, dst string
	instances   []string
	tables      []string
	force       bool
	step        string
}

func exportCommand(a *app) *cobra.Command {
	e := &exporting{a: a}
	cmd := &cobra.Command{
		Use:   "export [METRIC...] --format FORMAT -o OUT",
		Short: "Write what was recorded for other tools",
		Long: `export writes what was recorded in a format that other tools read:

` + formatLines() + `
A METRIC is a name, the beginning of names (kernel.all) or a pattern (disk.dev.*);
without one all are written. What is computed (expressions, derived metrics, rates)
other commands write as csv and json.

Values are exact, as they were recorded: counters as they stood. Times are UTC
unless --tz names a zone. What was absent is said to be so where the format has
means for it, and left out where it has none.

What is read once per archive or more rarely than the window is long (hinv.ncpu,
limits that are set) is part of every window: csv, jsonl and parquet have the last
value before it with the time at which that was read, pcp and perfetto where the
window begins, and openmetrics there and every four minutes, as Prometheus takes a
series for gone after five.

However long the window is, memory stays the same. A file appears under its name
when it is whole, and not where there is nothing to write; where there is one it is
overwritten only with --force, and never one that is read. What an export that was
killed has left (.OUT.NUMBER) the next one of that name removes. What of the archives
could not be read is said, and then the exit status is 1.`,
		Example: `  replay export --format csv -o day.csv --from -1d
  replay export 'kernel.*' 'mem.*' --format jsonl -o system.jsonl
  replay export --format perfetto -o incident.pftrace --from 03:00 --to 03:30
  replay export 'proc.*' -i '*Safari' --format csv -o - --from 03:00 --to 04:00`,
		RunE: func(cmd *cobra.Command, args []string) error { return e.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&e.format, "format", "", strings.Join(formatNames(), ", "))
	fl.StringVarP(&e.dst, "output", "o", "", "file or directory to write; - is standard output")
	fl.StringArrayVarP(&e.instances, "instance", "i", nil, "only instances whose name matches: a glob, or /regexp/ (repeatable)")
	fl.StringArrayVar(&e.tables, "table", nil, "what to write, of a format that has tables: "+strings.Join(export.CSV.Tables, ", ")+" (repeatable for formats of many files)")
	fl.StringVar(&e.step, "step", "", "perfetto: a value for each step of this length; 0 for every reading (default: so that a counter has 2,000 at most)")
	fl.BoolVar(&e.force, "force", false, "overwrite what is there")
	return cmd
}

func formatNames() []string {
	var names []string
	for _, f := range exportFormats {
		names = append(names, f.Name)
	}
	return names
}

// formatLines returns the table of formats for the help text.
func formatLines() string {
	var b strings.Builder
	for _, f := range exportFormats {
		fmt.Fprintf(&b, "  %-12s %s\n", f.Name, f.Summary)
	}
	return b.String()
}

// chosen returns the format that --format names.
func (e *exporting) chosen() (*export.Format, error) {
	names := formatNames()
	if e.format == "" {
		return nil, fmt.Errorf("export needs a format: --format %s", strings.Join(names, ", "))
	}
	i := slices.Index(names, e.format)
	if i < 0 {
		return nil, fmt.Errorf("export has no format %q: it has %s%s", e.format, strings.Join(names, ", "), query.Suggest(e.format, names))
	}
	format := &exportFormats[i]
	for _, t := range e.tables {
		if !slices.Contains(format.Tables, t) {
			if format.Tables == nil {
				return nil, fmt.Errorf("%s has no tables to choose from: leave --table out", format.Name)
			}
			return nil, fmt.Errorf("%s has no table %q: it has %s%s", format.Name, t, strings.Join(format.Tables, ", "), query.Suggest(t, format.Tables))
		}
	}
	if len(e.tables) > 1 && !format.Many {
		return nil, fmt.Errorf("%s holds one table: write %s into files of their own", format.Name, strings.Join(e.tables, " and "))
	}
	return format, nil
}

// steps returns the length of the steps; nil leaves the choice to the format.
func (e *exporting) steps(format *export.Format) (*time.Duration, error) {
	if e.step == "" {
		return nil, nil
	}
	if !format.Steps {
		return nil, fmt.Errorf("%s has every value as it was recorded: leave --step out", format.Name)
	}
	d, err := time.Duration(0), error(nil)
	if e.step != "0" {
		d, err = when.Duration(e.step)
	}
	if err != nil || d < 0 {
		return nil, fmt.Errorf("--step %s: write a length of time such as 10s or 1m, or 0 for every reading", e.step)
	}
	return &d, nil
}

// target returns where to write to.
func (e *exporting) target(format *export.Format) (export.Target, error) {
	a := e.a
	t := export.Target{Path: e.dst, Stdout: a.stdout.Unwrap(), Force: e.force, Sources: a.readFrom()}
	switch {
	case e.dst == "" && format.Many:
		return t, fmt.Errorf("%s is several files: say with -o where they go", format.Name)
	case e.dst == "-" && format.Many:
		return t, fmt.Errorf("%s is several files, which do not go to standard output: name them with -o", format.Name)
	case e.dst == "":
		return t, errors.New("export needs a file to write: -o FILE, or -o - for standard output")
	}
	return t, a.noTerminal(e.dst, "the export")
}

func (e *exporting) run(cmd *cobra.Command, args []string) error {
	a := e.a
	format, err := e.chosen()
	if err != nil {
		return err
	}
	r, err := e.request(format, args)
	if err != nil {
		return err
	}
	t, err := e.target(format)
	if err != nil {
		return err
	}
	if r.Step, err = e.steps(format); err != nil {
		return err
	}
	ctx, stop := a.untilEnded()
	defer stop()
	if s, ok := a.Archive.(*store.Reader); ok {
		s.Until(ctx)
		a.collector.following() // It may take an hour, and needs no more memory than now.
	}
	bar := a.newLateBar("writing " + t.Path)
	r.Progress = bar.show
	report, err := format.Write(ctx, r, t)
	bar.clear()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !errors.Is(err, export.ErrNothing) {
		return err
	}
	return e.tell(cmd, args, t, report, r.Metrics)
}

// request returns the request for what to write.
func (e *exporting) request(format *export.Format, args []string) (*export.Request, error) {
	a := e.a
	if err := a.load(); err != nil {
		return nil, err
	}
	w, err := a.Window()
	if err != nil {
		return nil, err
	}
	r := &export.Request{Archive: a.Archive, Paths: a.Paths, Window: w, Zone: time.UTC, Tables: e.tables, Spreadsheet: a.spreadsheet}
	if a.TZ != "" {
		r.Zone = a.Zone()
	}
	if len(e.tables) == 0 && format.AllTables {
		r.Tables = format.Tables
	} else if len(e.tables) == 0 && len(format.Tables) > 0 {
		r.Tables = format.Tables[:1]
	}
	if len(args) > 0 {
		if r.Metrics, err = a.named(args); err != nil {
			return nil, err
		}
	}
	r.Instance, r.Sought, err = query.InstanceFilter(e.instances)
	return r, err
}

// tell reports what was written, and which distrusts concern it: those about metrics, or all if
// there are none. It returns errNo if something could not be read.
func (e *exporting) tell(cmd *cobra.Command, args []string, t export.Target, r *export.Report, metrics []*metric.Desc) error {
	a := e.a
	a.leaveOut(r.Losses...)
	a.tellDamage()
	none := r.Values+r.Rows == 0
	if t.Path != "-" && !none {
		a.stdout.Printf("%s: %s\n", t.Path, exportedText(r))
		a.finish(cmd, args, false)
	} else if a.showCommand {
		for _, line := range a.footer(cmd, args) {
			a.stderr.Println(line)
		}
	}
	for _, note := range r.Notes {
		a.complain("replay: " + note)
	}
	for _, d := range query.Distrusts(a.Archive, a.Used) {
		if len(metrics) == 0 || slices.ContainsFunc(metrics, func(m *metric.Desc) bool { return d.About(m.Name) }) {
			a.complain("replay: " + a.doubt(d))
		}
	}
	if none {
		return nothing("nothing of what is asked for was recorded in this window")
	}
	_, _, list := query.Covered(a.Archive, a.Used)
	if len(a.Losses) > 0 || slices.ContainsFunc(list, func(info *store.ArchiveInfo) bool { return len(info.Damage) > 0 }) {
		return errNo
	}
	return nil
}

// exportedText says how much was written.
func exportedText(r *export.Report) string {
	var parts []string
	if r.Values+r.Series > 0 {
		parts = append(parts, cli.Count(r.Values, "value"))
	}
	if r.Series > 0 {
		parts[0] += " of " + cli.Count(r.Series, "series")
	}
	if r.Absent > 0 {
		parts = append(parts, fmt.Sprintf("%d of them absent", r.Absent))
	}
	if r.Rows > 0 {
		parts = append(parts, cli.Count(r.Rows, "row"))
	}
	if r.Bytes > 0 {
		parts = append(parts, human.Bytes(float64(r.Bytes)))
	}
	return strings.Join(parts, ", ")
}
