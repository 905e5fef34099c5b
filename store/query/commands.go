package query

import (
	"tachograph/sample/metric"
	"tachograph/store"
)

// CommandLines is the metric that holds command lines, where the configuration allowed them.
const CommandLines = "proc.psinfo.psargs"

// Commands calls found with the command lines of a host's processes that were recorded at a
// reading, and at the reading before where that one was not complete.
func Commands(a Archive, host string, tick, every int64, found func(info *store.ArchiveInfo, in *metric.Instance, line string)) {
	if d := a.Lookup(CommandLines); d == nil || d.Unsupported != "" {
		return
	}
	for run := range a.Select(Window{Hosts: []string{host}, From: tick - 3*every/2, To: tick}.Selection(CommandLines)) {
		last := len(run.Wall) - 1
		if run.Instance == nil || run.Miss != nil && run.Miss[last] != metric.Present {
			continue
		}
		found(run.Archive, run.Instance, run.Word(last))
	}
}
