package browse

import (
	"cmp"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/store/query"
)

// A column is a column of the process table: a field of processes.
type column = answer.Field[*query.Process]

// columnOf returns the column with a name, nil if there is none.
func columnOf(name string) *column {
	if !slices.Contains(answer.OnScreen, name) {
		return nil
	}
	return answer.ByKey(answer.Processes, name)
}

// leastName is the least width of names, in columns of the terminal.
const leastName = 20

// filled returns the columns that have any values, except for the name.
func filled(list []row) []*column {
	processes := make([]*query.Process, len(list))
	for i, r := range list {
		processes[i] = r.p.Process
	}
	have := answer.Used(answer.Processes, answer.OnScreen, processes)
	return slices.DeleteFunc(have, func(c *column) bool { return c.Key == "name" })
}

// fitting returns the columns that there is room for, chosen by rank, the column to sort by
// among them. The last is the name, with the remaining room.
func fitting(have []*column, width int, sort string) []*column {
	order := slices.Clone(have)
	slices.SortStableFunc(order, func(x, y *column) int { return cmp.Compare(rankOf(x, sort), rankOf(y, sort)) })
	room := width - leastName
	keep := make(map[*column]bool)
	for _, c := range order {
		if c.Pane.Width+1 > room {
			break
		}
		keep[c] = true
		room -= c.Pane.Width + 1
	}
	var out []*column
	for _, c := range have {
		if keep[c] {
			out = append(out, c)
		}
	}
	return append(out, columnOf("name"))
}

func rankOf(c *column, sort string) int {
	if c.Key == sort {
		return 0
	}
	return c.Pane.Keep
}

// compare orders two processes by a column, unknown values last.
func compare(c *column, x, y *moment.Process, reverse bool) int {
	return cmp.Or(c.Compare(x.Process, y.Process, reverse), cmp.Compare(x.PID, y.PID), strings.Compare(x.Key, y.Key))
}
