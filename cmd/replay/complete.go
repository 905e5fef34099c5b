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
	"tachograph/cmd/replay/internal/scope"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// completions gives shells the words that may follow on a command line: the metrics, instances,
// processes and kinds of the archive that it names.
func completions(root *cobra.Command, s *session) {
	w := offers{s}
	arguments := map[string]cli.Completer{
		"at": w.instants, "ps": w.processes, "threads": w.processes, "stacks": w.processes,
		"rates": w.metrics, "values": w.metrics, "ranges": w.metrics, "plot": w.metrics,
		"find": w.metrics, "explain": w.metrics, "metrics": w.metrics, "export": w.metrics,
		"import": cli.CompleteFiles, "diff": cli.CompleteNothing, "top": w.processes, "net": w.processes, "deaths": w.processes, "energy": cli.CompleteNothing,
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
		"from": w.instants, "to": w.instants, "at": w.instants,
		"before": lengths, "after": lengths, "for": lengths, "step": lengths, "interval": lengths,
		"tz": w.zones, "host": w.hosts, "kind": w.kinds, "category": w.categories, "instance": w.instances,
		"units": cli.CompleteFixed("B", "KB", "MB", "GB", "KB/s", "MB/s", "sec", "millisec"),
		"by":    byWords, "group": groupWords, "columns": columnWords,
		"sort":     sortWords,
		"protocol": cli.CompleteFixed(query.Protocols...), "medium": cli.CompleteFixed(query.Media...),
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
	if cmd.Name() == "net" {
		return cli.CompleteFixed(asStrings(query.NetBys)...)(cmd, args, typed)
	}
	return cli.CompleteFixed(asStrings(query.Bys)...)(cmd, args, typed)
}

// tableWords offers the tables that an export can have.
func tableWords(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return cli.CompleteFixed(export.CSV.Tables...)(cmd, args, typed)
}

// groupWords offers the groups that top and ps add up. For serve, --group is a group of the system, so
// it offers nothing.
func groupWords(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch cmd.Name() {
	case "serve":
		return cli.CompleteNothing(cmd, args, typed)
	case "energy":
		return cli.CompleteFixed(asStrings(query.LedgerGroupings)...)(cmd, args, typed)
	case "diff":
		return cli.CompleteFixed(asStrings(diffGroups)...)(cmd, args, typed)
	case "ps":
		return cli.CompleteFixed(asStrings(momentGroupings)...)(cmd, args, typed)
	}
	return cli.CompleteFixed(asStrings(query.Groupings)...)(cmd, args, typed)
}

// columnWords offers the columns that can be added to a table of processes.
func columnWords(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	keys := further(answer.Processes, inProcesses)
	switch cmd.Name() {
	case "net":
		keys = further(answer.Net, inNet)
	case "top":
		keys = further(answer.Places, inRankings)
	}
	return cli.CompleteFixed(keys...)(cmd, args, typed)
}

func asStrings[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = string(x)
	}
	return out
}

// offers are the words from the archive that the command line names.
type offers struct{ s *session }

// open opens the archive, and reports whether that worked.
func (w offers) open() bool {
	s := w.s
	if s.Archive == nil && s.Load(nil) != nil || len(s.Archive.Archives()) == 0 {
		return false
	}
	hosts, err := s.HostIDs()
	s.Used.Hosts = hosts
	return err == nil
}

// offer returns the words that begin with what has been typed.
func offer(list []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list = slices.DeleteFunc(list, func(word string) bool { return !strings.HasPrefix(word, typed) })
	slices.Sort(list)
	return slices.Compact(list), cobra.ShellCompDirectiveNoFileComp
}

// metrics offers metrics; in an expression, for its last word.
func (w offers) metrics(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s := w.s
	before, name := "", typed
	if i := strings.LastIndexAny(typed, " (+-*/<>=&|,!"); i >= 0 {
		before, name = typed[:i+1], typed[i+1:]
	}
	var descs []*metric.Desc
	if w.open() {
		descs = s.Archive.Metrics()
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

// instances offers the instances of the metrics on the command line.
func (w offers) instances(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s := w.s
	if !w.open() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	targets, err := query.Targets(s.Archive, &query.Definitions{}, args)
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
		list = append(list, query.InstanceNames(s.Archive, s.Used, t.Metric)...)
	}
	return offer(list, typed)
}

// processes offers the names of the processes at the moment or in the window of the command
// line. At a moment it also offers their pids, once a word has been begun.
func (w offers) processes(cmd *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s := w.s
	if !w.open() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	text := ""
	if f := cmd.Flags().Lookup("at"); f != nil {
		text = f.Value.String()
	}
	var list []string
	if s.From != "" || s.To != "" {
		window, err := s.Window()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, n := range query.InstanceNames(s.Archive, window, &metric.Desc{Indom: "process"}) {
			list = append(list, query.ProcessName(&metric.Instance{Name: n}))
		}
		return offer(list, typed)
	}
	at, err := s.moment(text, s.Used)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all := query.Processes(s.Archive, s.Used, at, nil)
	for _, p := range all {
		list = append(list, p.Name)
		for _, o := range p.Instance.Owners() {
			list = append(list, o.Name+"="+o.Value)
		}
		if typed != "" {
			list = append(list, cobra.CompletionWithDesc(answer.Number.Text(float64(p.PID)), p.Name))
		}
	}
	return offer(list, typed)
}

func (w offers) hosts(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s := w.s
	hosts := s.Hosts
	s.Hosts = nil // The word being typed is not a host yet.
	defer func() { s.Hosts = hosts }()
	if !w.open() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for _, h := range s.Archive.Hosts() {
		list = append(list, h.Name)
	}
	return offer(list, typed)
}

// kinds offers the kinds of events that the archive holds, each with its number of events.
func (w offers) categories(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if !w.open() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var list []string
	for name, metrics := range categoriesOf(w.s.Archive.Metrics()) {
		list = append(list, cobra.CompletionWithDesc(name, cli.Count(len(metrics), "metric")))
	}
	return offer(list, typed)
}

func (w offers) kinds(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s := w.s
	if s.Archive == nil && len(args) > 0 {
		s.Sources = append(s.Sources, args...)
	}
	if !w.open() {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	seen := make(map[metric.EventKind]int)
	for e := range s.Archive.Events(0, 0) {
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
func (w offers) instants(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s := w.s
	list := []string{"now", "start", "end", "today", "yesterday", "noon", "-5m", "-1h", "-1d"}
	if w.open() {
		ref := s.Reference()
		for _, kind := range when.Lasts {
			if at := ref.Last(kind); !at.IsZero() {
				list = append(list, cobra.CompletionWithDesc("last "+kind, s.Show(at.UnixNano())))
			}
		}
		for i, word := range list {
			if at := map[string]time.Time{"start": ref.Start, "end": ref.End}[word]; !at.IsZero() {
				list[i] = cobra.CompletionWithDesc(word, s.Show(at.UnixNano()))
			}
		}
	}
	return offer(list, typed)
}

// zoneTable lists the time zones, on all systems that keep them in files.
const zoneTable = "/usr/share/zoneinfo/zone.tab"

func (w offers) zones(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	s := w.s
	list := []string{"UTC", "local"}
	if f, err := os.Open(zoneTable); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if fields := strings.Split(lines.Text(), "\t"); len(fields) > 2 && fields[0][0] != '#' {
				list = append(list, fields[2])
			}
		}
	}
	tz := s.TZ
	s.TZ = ""
	defer func() { s.TZ = tz }()
	if w.open() {
		for _, info := range s.Archive.Archives() {
			list = append(list, zoneOf(info)...)
		}
	}
	return offer(list, typed)
}

func zoneOf(info *store.ArchiveInfo) []string {
	if _, err := scope.ParseZone(info.TimeZone); err != nil || info.TimeZone == "" {
		return nil
	}
	return []string{info.TimeZone}
}
