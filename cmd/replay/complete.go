package main

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/export"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// completions gives shells the words that may follow on a command line: the metrics, instances,
// processes and kinds of the archive that it names.
func (a *app) completions(root *cobra.Command) {
	arguments := map[string]cli.Completer{
		"at": a.instants, "ps": a.processWords, "threads": a.processWords, "stacks": a.processWords,
		"rates": a.metricWords, "values": a.metricWords, "ranges": a.metricWords, "plot": a.metricWords,
		"find": a.metricWords, "explain": a.metricWords, "metrics": a.metricWords, "export": a.metricWords,
		"import": cli.CompleteFiles, "diff": cli.CompleteNothing, "top": cli.CompleteNothing,
	}
	for _, c := range root.Commands() {
		if words := arguments[c.Name()]; words != nil {
			c.ValidArgsFunction = words
		}
	}
	root.ValidArgsFunction = cli.CompleteFiles
	for _, c := range root.Commands() {
		if strings.Contains(c.Use, "ARCHIVE") {
			c.ValidArgsFunction = cli.CompleteFiles
		}
	}
	lengths := cli.CompleteFixed("10s", "30s", "1m", "5m", "10m", "1h", "6h", "1d")
	cli.RegisterCompletion(root, map[string]cli.Completer{
		"archive": cli.CompleteFiles, "derived": cli.CompleteFiles, "symbols": cli.CompleteFiles, "output": cli.CompleteFiles,
		"format": formatWords, "table": tableWords,
		"from": a.instants, "to": a.instants, "at": a.instants,
		"before": lengths, "after": lengths, "for": lengths, "step": lengths, "interval": lengths,
		"tz": a.zoneWords, "host": a.hostWords, "kind": a.kindWords, "instance": a.instanceWords,
		"units": cli.CompleteFixed("B", "KB", "MB", "GB", "KB/s", "MB/s", "sec", "millisec"),
		"by":    byWords, "group": groupWords,
		"sort":   sortWords,
		"listen": cli.CompleteFixed("unix:", "tcp:127.0.0.1:", "systemd"), "mode": cli.CompleteFixed("0600", "0660", "0666"),
		"token-file": cli.CompleteFiles, "tls-cert": cli.CompleteFiles, "tls-key": cli.CompleteFiles,
	})
}

// formatWords offers the formats of answers; export, stacks and import have others.
func formatWords(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if cmd.Name() == "export" {
		return cli.CompleteFixed(formatNames()...)(cmd, args, typed)
	}
	if cmd.Name() == "stacks" {
		return cli.CompleteFixed(stackFormats...)(cmd, args, typed)
	}
	if cmd.Name() == "import" {
		return cli.CompleteFixed(importFormats...)(cmd, args, typed)
	}
	return cli.CompleteFixed(string(out.Table), string(out.CSV), string(out.JSON))(cmd, args, typed)
}

// byWords offers the quantities that top ranks by, and for stacks the first branches of the
// tree.
func byWords(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if cmd.Name() == "stacks" {
		return cli.CompleteFixed(asStrings(stacks.Bys)...)(cmd, args, typed)
	}
	return cli.CompleteFixed(asStrings(query.Bys)...)(cmd, args, typed)
}

// tableWords offers the tables that an export can have.
func tableWords(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return cli.CompleteFixed(export.CSV.Tables...)(cmd, args, typed)
}

// groupWords offers the groups that top adds up. For serve, --group is a group of the system, so
// it offers nothing.
func groupWords(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if cmd.Name() == "serve" {
		return cli.CompleteNothing(cmd, args, typed)
	}
	return cli.CompleteFixed(asStrings(query.Groupings)...)(cmd, args, typed)
}

func asStrings[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = string(x)
	}
	return out
}

// forWords opens the archive for completion, which must print nothing, and reports whether that
// worked.
func (a *app) forWords() bool {
	if a.archive == nil {
		a.damageTold = nil
		if a.load() != nil {
			return false
		}
	}
	hosts, err := a.hostIDs()
	a.used.Hosts = hosts
	return err == nil
}

// offer returns the words that begin with what has been typed.
func offer(list []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list = slices.DeleteFunc(list, func(s string) bool { return !strings.HasPrefix(s, typed) })
	slices.Sort(list)
	return slices.Compact(list), cobra.ShellCompDirectiveNoFileComp
}

// metricWords offers metrics; in an expression, for its last word.
func (a *app) metricWords(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before, name := "", typed
	if i := strings.LastIndexAny(typed, " (+-*/<>=&|,!"); i >= 0 {
		before, name = typed[:i+1], typed[i+1:]
	}
	var descs []*metric.Desc
	if a.forWords() {
		descs = a.archive.Metrics()
	} else {
		descs = append(catalog.For(catalog.Darwin), catalog.For(catalog.Linux)...)
	}
	var list []string
	for _, d := range descs {
		if strings.HasPrefix(d.Name, name) && d.Unsupported == "" {
			list = append(list, cobra.CompletionWithDesc(before+d.Name, d.Help))
		}
	}
	return offer(list, typed)
}

// instanceWords offers the instances of the metrics on the command line.
func (a *app) instanceWords(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if !a.forWords() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	targets, err := query.Targets(a.archive, &query.Definitions{}, args)
	if err != nil {
		targets = nil
	}
	var list []string
	seen := make(map[string]bool)
	for _, t := range targets {
		if t.Metric == nil || t.Metric.Indom == metric.NoIndom || seen[t.Metric.Indom] {
			continue
		}
		seen[t.Metric.Indom] = true
		list = append(list, query.InstanceNames(a.archive, a.used, t.Metric)...)
	}
	return offer(list, typed)
}

// processWords offers the names of the processes at the moment or in the window of the command
// line. At a moment it also offers their pids, once a word has been begun.
func (a *app) processWords(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if !a.forWords() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	text := ""
	if f := cmd.Flags().Lookup("at"); f != nil {
		text = f.Value.String()
	}
	var list []string
	if a.from != "" || a.to != "" {
		w, err := a.window()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, n := range query.InstanceNames(a.archive, w, &metric.Desc{Indom: "process"}) {
			list = append(list, query.ProcessName(&metric.Instance{Name: n}))
		}
		return offer(list, typed)
	}
	at, err := a.moment(text, a.used)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all := query.Processes(a.archive, a.used, at, nil)
	for _, p := range all {
		list = append(list, p.Name)
		if typed != "" {
			list = append(list, cobra.CompletionWithDesc(answer.Number.Text(float64(p.PID)), p.Name))
		}
	}
	return offer(list, typed)
}

func (a *app) hostWords(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	hosts := a.hosts
	a.hosts = nil // The word being typed is not a host yet.
	defer func() { a.hosts = hosts }()
	if !a.forWords() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for _, h := range a.archive.Hosts() {
		list = append(list, h.Name)
	}
	return offer(list, typed)
}

// kindWords offers the kinds of events that the archive holds, each with its number of events.
func (a *app) kindWords(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if a.archive == nil && len(args) > 0 {
		a.archives = append(a.archives, args...)
	}
	if !a.forWords() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	seen := make(map[metric.EventKind]int)
	for e := range a.archive.Events(0, 0) {
		seen[e.Kind]++
	}
	var list []string
	for k, n := range seen {
		list = append(list, cobra.CompletionWithDesc(string(k), cli.Count(n, "event")))
	}
	return offer(list, typed)
}

func sortWords(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if cmd.Name() == "threads" {
		return offer([]string{"cpu", "faults", "pid", "name"}, typed)
	}
	return offer(sortNames(), typed)
}

// instants offers the words for times, with the times at which the archive begins and ends.
func (a *app) instants(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list := []string{"now", "start", "end", "today", "yesterday", "noon", "-5m", "-1h", "-1d"}
	if a.forWords() {
		ref := a.reference()
		for _, kind := range when.Lasts {
			if at := ref.Last(kind); !at.IsZero() {
				list = append(list, cobra.CompletionWithDesc("last "+kind, a.show(at.UnixNano())))
			}
		}
		for i, word := range list {
			if at := map[string]time.Time{"start": ref.Start, "end": ref.End}[word]; !at.IsZero() {
				list[i] = cobra.CompletionWithDesc(word, a.show(at.UnixNano()))
			}
		}
	}
	return offer(list, typed)
}

// zoneTable lists the time zones, on all systems that keep them in files.
const zoneTable = "/usr/share/zoneinfo/zone.tab"

func (a *app) zoneWords(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list := []string{"UTC", "local"}
	if f, err := os.Open(zoneTable); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if fields := strings.Split(lines.Text(), "\t"); len(fields) > 2 && fields[0][0] != '#' {
				list = append(list, fields[2])
			}
		}
	}
	tz := a.tz
	a.tz = ""
	defer func() { a.tz = tz }()
	if a.forWords() {
		for _, info := range a.archive.Archives() {
			list = append(list, zoneOf(info)...)
		}
	}
	return offer(list, typed)
}

func zoneOf(info *store.ArchiveInfo) []string {
	if _, err := parseZone(info.TimeZone); err != nil || info.TimeZone == "" {
		return nil
	}
	return []string{info.TimeZone}
}
