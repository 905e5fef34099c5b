package browse

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/store/query"
)

// A column is a column of the process table.
type column struct {
	name, title string
	width       int
	left        bool // its text is aligned to the left
	bytes       bool // its values are sizes, which the user may write with units
	first       bool // sorting by it begins with the smallest value
	example     string
	rank        int // columns with the lowest ranks stay if there is no room for all
	text        func(*moment.Process) string
	key         func(*moment.Process) float64 // nil for text
}

// processColumns are all columns of the table, in this order. The name follows them and takes
// the remaining room.
var processColumns = []*column{
	{name: "pid", title: "PID", width: 7, rank: 1, first: true, example: "612",
		text: func(p *moment.Process) string { return human.Figures(float64(p.PID)) }, key: func(p *moment.Process) float64 { return float64(p.PID) }},
	{name: "ppid", title: "PPID", width: 7, rank: 12, first: true, example: "1", text: func(p *moment.Process) string {
		if p.PPID == 0 {
			return "-"
		}
		return human.Figures(float64(p.PPID))
	}, key: func(p *moment.Process) float64 { return float64(p.PPID) }},
	{name: "user", title: "USER", width: 9, left: true, rank: 7, first: true, text: func(p *moment.Process) string { return p.User }},
	{name: "state", title: "STATE", width: 8, left: true, rank: 10, first: true, text: func(p *moment.Process) string { return p.State }},
	{name: "cpu", title: "CPU", width: 6, rank: 2, example: "50%", text: func(p *moment.Process) string { return percent(p.CPU()) },
		key: func(p *moment.Process) float64 { return p.CPU() }},
	{name: "memory", title: "MEMORY", width: 8, rank: 3, bytes: true, example: "1GB",
		text: func(p *moment.Process) string { return size(p.Memory()) }, key: func(p *moment.Process) float64 { return p.Memory() }},
	{name: "read", title: "READ", width: 10, rank: 4, bytes: true, example: "1MB",
		text: func(p *moment.Process) string { return speed(p.Rates[query.ReadBytes]) }, key: func(p *moment.Process) float64 { return p.Rates[query.ReadBytes] }},
	{name: "write", title: "WRITE", width: 10, rank: 5, bytes: true, example: "1MB",
		text: func(p *moment.Process) string { return speed(p.Rates[query.WrittenBytes]) }, key: func(p *moment.Process) float64 { return p.Rates[query.WrittenBytes] }},
	{name: "energy", title: "POWER", width: 7, rank: 6, example: "2",
		text: func(p *moment.Process) string { return watts(p.Rates[query.Energy]) }, key: func(p *moment.Process) float64 { return p.Rates[query.Energy] }},
	{name: "threads", title: "THR", width: 4, rank: 9, example: "100",
		text: func(p *moment.Process) string { return plain(p.Levels[query.Threads]) }, key: func(p *moment.Process) float64 { return p.Levels[query.Threads] }},
	{name: "wakeups", title: "WAKE/S", width: 6, rank: 13, example: "100",
		text: func(p *moment.Process) string { return plain(p.Wakeups()) }, key: func(p *moment.Process) float64 { return p.Wakeups() }},
	{name: "faults", title: "FLT/S", width: 6, rank: 11, example: "100",
		text: func(p *moment.Process) string { return plain(p.Rates[query.Faults]) }, key: func(p *moment.Process) float64 { return p.Rates[query.Faults] }},
	{name: "age", title: "AGE", width: 7, rank: 8, example: "10m",
		text: func(p *moment.Process) string { return seconds(p.Uptime()) }, key: func(p *moment.Process) float64 { return p.Uptime() }},
	{name: "name", title: "NAME", left: true, first: true, text: func(p *moment.Process) string { return p.Name }},
}

// leastName is the least width of names, in columns of the terminal.
const leastName = 20

// columnOf returns the column with a name, nil if there is none.
func columnOf(name string) *column {
	for _, c := range processColumns {
		if c.name == name {
			return c
		}
	}
	return nil
}

// filled returns the columns that have any values, except for the name.
func filled(list []row) []*column {
	var have []*column
	for _, c := range processColumns {
		if c.name != "name" && slices.ContainsFunc(list, func(r row) bool { s := c.text(r.p); return s != "" && s != "-" }) {
			have = append(have, c)
		}
	}
	return have
}

// fitting returns the columns that there is room for, chosen by rank, the column to sort by
// among them. The last is the name, with the remaining room.
func fitting(have []*column, width int, sort string) []*column {
	order := slices.Clone(have)
	slices.SortStableFunc(order, func(x, y *column) int { return cmp.Compare(rankOf(x, sort), rankOf(y, sort)) })
	room := width - leastName
	keep := make(map[*column]bool)
	for _, c := range order {
		if c.width+1 > room {
			break
		}
		keep[c] = true
		room -= c.width + 1
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
	if c.name == sort {
		return 0
	}
	return c.rank
}

// compare orders two processes by a column, unknown values last.
func (c *column) compare(x, y *moment.Process, reverse bool) int {
	order := 0
	if c.key == nil {
		order = strings.Compare(strings.ToLower(c.text(x)), strings.ToLower(c.text(y)))
	} else {
		xv, yv := c.key(x), c.key(y)
		switch {
		case math.IsNaN(xv) && math.IsNaN(yv):
		case math.IsNaN(xv):
			return 1
		case math.IsNaN(yv):
			return -1
		default:
			order = cmp.Compare(xv, yv)
		}
	}
	if c.first == reverse {
		order = -order
	}
	return cmp.Or(order, cmp.Compare(x.PID, y.PID), strings.Compare(x.Key, y.Key))
}

func known(x float64, write func(float64) string) string {
	if math.IsNaN(x) {
		return "-"
	}
	return write(x)
}

func percent(x float64) string { return known(x, human.Percent) }
func size(x float64) string    { return known(x, human.Bytes) }
func watts(x float64) string   { return known(x, human.Watts) }
func plain(x float64) string   { return known(x, human.Count) }
func seconds(x float64) string { return known(x, human.Seconds) }
func speed(x float64) string {
	return known(x, func(x float64) string { return human.Bytes(x) + "/s" })
}
