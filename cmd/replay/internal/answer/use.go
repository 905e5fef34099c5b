package answer

import (
	"math"
	"slices"

	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
)

// A Consumer is what a process, or a group of processes, used over a window.
type Consumer = *query.Consumer

// totals are the fields of what processes used, in the order in which programs get them.
var totals = []Field[Consumer]{
	{Name: "cpu_seconds", Key: "cpu time", Of: Consumer.CPUTime, Unit: Seconds, Keep: 7},
	{Name: "user_seconds", Of: gain(query.UserTime), Unit: Seconds},
	{Name: "system_seconds", Of: gain(query.SystemTime), Unit: Seconds},
	{Name: "memory_peak", Key: "memory", Of: func(c Consumer) float64 { return c.Peak }, Unit: Bytes, Keep: 8},
	{Name: "memory_mean", Of: func(c Consumer) float64 { return c.Mean }, Unit: Bytes},
	{Name: "read_bytes", Key: "read", Of: gain(query.ReadBytes), Unit: Bytes, Keep: 5},
	{Name: "write_bytes", Key: "write", Title: "written", Of: gain(query.WrittenBytes), Unit: Bytes, Keep: 6},
	{Name: "energy_joules", Key: "energy", Of: gain(query.Energy), Unit: Joules, Keep: 2},
	{Name: "wakeups", Key: "wakeups", Of: Consumer.Wakeups, Unit: Count, Keep: 1},
	{Name: "faults", Key: "faults", Of: gain(query.Faults), Unit: Count},
	{Name: "major_faults", Of: gain(query.MajorFaults), Unit: Count},
}

func gain(c query.ProcessCounter) func(Consumer) float64 {
	return func(of Consumer) float64 { return of.Gains[c] }
}

// A Place is a consumer in a ranking.
type Place struct {
	Consumer
	*query.Ranking
	By query.By
}

func (p *Place) share() float64 { return p.Amount(p.By) / p.Total }

// alone returns x for a single process.
func alone(p *Place, x float64) float64 {
	if p.Count > 1 {
		return math.NaN()
	}
	return x
}

// Places are the fields of a consumer in a ranking. Those that a process has, too, have the same
// names.
var Places = slices.Concat(
	[]Field[*Place]{
		{Name: "pid", Key: "pid", Of: func(p *Place) float64 { return alone(p, float64(query.ProcessID(p.Instance))) }, Unit: Number},
		{Key: "processes", Of: func(p *Place) float64 { return float64(p.Count) }, Unit: Number},
		{Key: "runs", Of: func(p *Place) float64 { return float64(p.Runs) }, Unit: Number, Keep: 10},
		{Name: "name", Key: "name", Word: func(p *Place) string { return p.Name }, Flex: true},
		{Name: "key", Word: func(p *Place) string {
			if p.Count > 1 {
				return ""
			}
			return p.Instance.Key
		}},
		{Name: "user", Key: "user", Word: func(p *Place) string { return p.User }, Keep: 4, Flex: true},
		{Name: "count", Of: func(p *Place) float64 { return float64(p.Count) }, Unit: Number},
		{Name: "cpu_percent", Of: func(p *Place) float64 { return 100 * p.CPUTime() / p.SecondsOf(p.Consumer) }, Unit: Percent},
		{Key: "cpu", Of: func(p *Place) float64 { return p.CPU(p.Consumer) }, Unit: Share, Keep: 9},
		{Name: "rss_kb", Of: func(p *Place) float64 { return p.Resident }, Unit: Kilobytes},
		{Name: "vm_size_kb", Of: func(p *Place) float64 { return p.Virtual }, Unit: Kilobytes},
		{Name: "uptime_secs", Of: func(p *Place) float64 {
			if p.Start == 0 {
				return math.NaN()
			}
			return alone(p, float64(p.Consumer.To-p.Start)/1e9)
		}, Unit: Seconds},
	},
	Within(totals, func(p *Place) Consumer { return p.Consumer }),
	[]Field[*Place]{
		{Key: "net_in", Title: "net in", Of: func(p *Place) float64 { return p.Gains[query.NetIn] }, Unit: Bytes, Keep: 5},
		{Key: "net_out", Title: "net out", Of: func(p *Place) float64 { return p.Gains[query.NetOut] }, Unit: Bytes, Keep: 5},
		{Key: "share", Of: (*Place).share, Unit: Share, Keep: 3},
		{Name: "from", Time: func(p *Place) int64 { return p.Consumer.From }},
		{Name: "to", Time: func(p *Place) int64 { return p.Consumer.To }},
		{Key: "kind", Word: func(p *Place) string { return p.Owned }, Keep: 5},
	},
	owners(ownerOfPlace))

// InRanking are the keys of the columns that people see of a ranking, after the pid or the
// number of processes and before the name.
var InRanking = []string{"user", "cpu", "cpu time", "memory", "read", "write", "energy", "wakeups", "faults", "share"}

// InSummary are the keys of the columns of a ranking in a summary of everything, after the name.
var InSummary = []string{"cpu", "cpu time", "memory", "read", "write", "processes"}

// PlaceColumns are the columns of rows about consumers for programs.
func PlaceColumns() []out.Column { return wrap(Places) }

// PlaceCells are the cells of these columns.
func PlaceCells(p *Place) []out.Cell {
	cells := []out.Cell{out.At(p.Ranking.To), Whole(p.SecondsOf(p.Consumer) * 1000)}
	for _, f := range Named(Places) {
		cells = append(cells, f.Cell(p))
	}
	return append(cells, threads(nil), out.Str(Platform(&p.Archive.Host)))
}

// A Spent is what one process used over a window, from its first reading there to its end.
type Spent = *query.Spent

// Lives are the fields of an exported process: its life in the window, and what it used in it.
var Lives = slices.Concat(
	[]Field[Spent]{
		{Name: "host", Word: func(p Spent) string { return p.Archive.Host.Name }},
		{Name: "boot", Word: func(p Spent) string { return p.Archive.BootID }},
		{Name: "key", Word: func(p Spent) string { return p.Instance.Key }},
		{Name: "pid", Of: func(p Spent) float64 { return positive(p.PID) }, Unit: Number},
		{Name: "name", Word: func(p Spent) string { return p.Name }},
		{Name: "user", Word: func(p Spent) string { return p.User }},
		{Name: "ppid", Of: func(p Spent) float64 { return positive(p.PPID) }, Unit: Number},
		{Name: "parent", Word: func(p Spent) string { return p.Instance.Label("parent") }},
		{Name: "start", Time: func(p Spent) int64 { return p.Start }},
		{Name: "from", Time: func(p Spent) int64 { return p.From }},
		{Name: "to", Time: func(p Spent) int64 { return p.To }},
		{Name: "end", Time: func(p Spent) int64 {
			switch {
			case p.Exit != nil:
				return p.Exit.At.Wall
			case p.Ended:
				return p.To
			}
			return 0
		}},
		{Name: "exit", Word: func(p Spent) string {
			if p.Exit == nil {
				return ""
			}
			return p.Exit.Label("how")
		}},
	},
	owners(func(p Spent, kind string) string { return p.Instance.Label(kind) }),
	Within(totals, func(p Spent) Consumer { return p.Consumer }),
	[]Field[Spent]{{Name: "switches", Of: func(p Spent) float64 { return p.Gains[query.Switches] }, Unit: Count}})

// positive returns a number, NaN if it is unknown.
func positive(n int) float64 {
	if n <= 0 {
		return math.NaN()
	}
	return float64(n)
}
