package main

import (
	"slices"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
)

// always is the rank of a column without which a row says nothing.
const always = 100

// matters ranks the columns of each table: where a terminal is too narrow for all, those with
// the smallest numbers go first. The first column and the last one always stay.
var matters = map[string]map[string]int{
	"threads":   {"process": always, "tid": 6, "state": 7, "cpu": 9, "cpu time": 8},
	"stacks":    {"samples": always, "share": 9, "self": 8, "running": 7, "calls": always},
	"functions": {"self %": 9, "total %": 8, "self": always, "total": 7, "running": 6, "calls": always},
	"series":    {"metric": always, "instance": always},
	"ranges": {"metric": always, "instance": always, "from": 11, "to": 0, "mean": 10, "max": 9, "min": 8, "p95": 7, "last": 6, "p50": 5, "p99": 4,
		"increase": 3, "first": 2, "count": 1, "rate": -1},
	"find":    {"seconds": always, "instance": always, "to": 2, "samples": 1},
	"summary": {"from": 12, "length": 11, "breaks": 10, "cpu": 9, "memory_max": 8, "bytes": 7, "received": 6, "sent": 5, "written": 4, "read": 3, "memory": 2, "to": 1},
	"runs":    {"runs": 9, "failed": 8, "last": 7, "every": 6, "first": 5},
	"events":  {"kind": always},
	"metrics": {"units": 4, "semantics": 3, "indom": 2, "class": 1, "type": 0},
}

// cuts names the columns that are cut where they do not fit, and where to cut: the end of a
// metric's name is what distinguishes it from others.
var cuts = map[string]human.Place{
	"metric": human.AtStart, "instance": human.InMiddle, "archive_host": human.AtEnd, "process": human.AtEnd, "user": human.AtEnd, "name": human.AtEnd,
}

// flexible are each table's columns of names.
var flexible = map[string][]string{
	"threads": {"process"}, "series": {"metric", "instance"}, "ranges": {"metric", "instance"}, "find": {"instance"},
	"summary": {"archive_host"}, "runs": {"name"}, "metrics": {"metric"},
}

// mattering sets how important the columns of a table are, and where they are cut.
func mattering(table string, columns ...out.Column) []out.Column {
	for i := range columns {
		c := &columns[i]
		c.Keep = matters[table][c.Name]
		c.Flex = c.Flex || slices.Contains(flexible[table], c.Name)
		c.Cut = cuts[c.Name]
	}
	return columns
}

// cutting sets where the columns of a table are cut.
func cutting(columns ...out.Column) []out.Column {
	for i := range columns {
		columns[i].Cut = cuts[columns[i].Name]
	}
	return columns
}
