package main

import (
	"math"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// processField is one field of a process as programs read it. Ps and top, csv
// and json, both platforms: the same names everywhere.
type processField struct {
	name string
	of   func(*query.Process) out.Cell
}

var processFields = []processField{
	{"pid", func(p *query.Process) out.Cell { return out.Whole(int64(p.PID)) }},
	{"ppid", func(p *query.Process) out.Cell {
		if p.PPID == 0 && p.PID > 1 {
			return out.Cell{}
		}
		return out.Whole(int64(p.PPID))
	}},
	{"name", func(p *query.Process) out.Cell { return out.Str(p.Name) }},
	{"key", func(p *query.Process) out.Cell { return out.Str(p.Instance.Key) }},
	{"user", func(p *query.Process) out.Cell { return text(p.User) }},
	{"state", func(p *query.Process) out.Cell { return text(p.State) }},
	{"cpu_percent", func(p *query.Process) out.Cell { return number(p.CPU() * 100) }},
	{"rss_kb", func(p *query.Process) out.Cell { return whole(p.Levels[query.Resident] / 1024) }},
	{"vm_size_kb", func(p *query.Process) out.Cell { return whole(p.Levels[query.Virtual] / 1024) }},
	{"uptime_secs", func(p *query.Process) out.Cell { return number(p.Uptime()) }},
	{"resident_size", func(p *query.Process) out.Cell { return whole(p.Levels[query.Resident]) }},
	{"virtual_size", func(p *query.Process) out.Cell { return whole(p.Levels[query.Virtual]) }},
	{"footprint", func(p *query.Process) out.Cell { return whole(p.Levels[query.Footprint]) }},
	{"user_time_us", func(p *query.Process) out.Cell { return whole(p.Totals[query.UserTime] * 1e6) }},
	{"system_time_us", func(p *query.Process) out.Cell { return whole(p.Totals[query.SystemTime] * 1e6) }},
	{"read_bytes_per_sec", func(p *query.Process) out.Cell { return number(p.Rates[query.ReadBytes]) }},
	{"write_bytes_per_sec", func(p *query.Process) out.Cell { return number(p.Rates[query.WrittenBytes]) }},
	{"read_bytes", func(p *query.Process) out.Cell { return whole(p.Totals[query.ReadBytes]) }},
	{"write_bytes", func(p *query.Process) out.Cell { return whole(p.Totals[query.WrittenBytes]) }},
	{"power_watts", func(p *query.Process) out.Cell { return number(p.Rates[query.Energy]) }},
	{"energy_joules", func(p *query.Process) out.Cell { return number(p.Totals[query.Energy]) }},
	{"wakeups_per_sec", func(p *query.Process) out.Cell { return number(p.Wakeups()) }},
	{"faults_per_sec", func(p *query.Process) out.Cell { return number(p.Rates[query.Faults]) }},
	{"major_faults_per_sec", func(p *query.Process) out.Cell { return number(p.Rates[query.MajorFaults]) }},
	{"thread_count", func(p *query.Process) out.Cell { return whole(p.Levels[query.Threads]) }},
	{"priority", func(p *query.Process) out.Cell { return whole(p.Levels[query.Priority]) }},
	{"nice", func(p *query.Process) out.Cell { return whole(p.Levels[query.Nice]) }},
}

func text(s string) out.Cell {
	if s == "" {
		return out.Cell{}
	}
	return out.Str(s)
}

// whole is a cell for a whole number that may be unknown.
func whole(x float64) out.Cell {
	if math.IsNaN(x) {
		return out.Cell{}
	}
	if math.Abs(x) >= 1<<63 {
		return out.Number(x) // Larger than whole numbers go.
	}
	return out.Whole(int64(math.Round(x)))
}

// processColumns are the columns of rows about processes for programs.
func processColumns() []out.Column {
	columns := []out.Column{{Name: "time"}, {Name: "sample_window_ms"}}
	for _, f := range processFields {
		columns = append(columns, out.Column{Name: f.name, Group: "process"})
	}
	return append(columns, out.Column{Name: "threads"}, out.Column{Name: "platform"})
}

func processCells(p *query.Process) []out.Cell {
	cells := []out.Cell{hostCell(&p.Archive.Host), out.At(p.At), whole(p.Window * 1000)}
	for _, f := range processFields {
		cells = append(cells, f.of(p))
	}
	return append(cells, threadsCell(p.Threads), out.Str(platform(&p.Archive.Host)))
}

func platform(h *metric.Host) string {
	if h.Platform != "" {
		return h.Platform
	}
	return h.OS
}

// threadFields are the fields of a thread within its process.
var threadFields = []processField{
	{"tid", func(p *query.Process) out.Cell { return out.Str(p.Instance.Label("tid")) }},
	{"name", func(p *query.Process) out.Cell { return out.Str(p.Name) }},
	{"state", func(p *query.Process) out.Cell { return text(p.State) }},
	{"cpu_percent", func(p *query.Process) out.Cell { return number(p.CPU() * 100) }},
	{"user_time_us", func(p *query.Process) out.Cell { return whole(p.Totals[query.UserTime] * 1e6) }},
	{"system_time_us", func(p *query.Process) out.Cell { return whole(p.Totals[query.SystemTime] * 1e6) }},
	{"priority", func(p *query.Process) out.Cell { return whole(p.Levels[query.Priority]) }},
}

// threadsCell is the list of threads as json.
func threadsCell(threads []*query.Process) out.Cell {
	b := []byte{'['}
	for i, t := range threads {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		for k, f := range threadFields {
			if k > 0 {
				b = append(b, ',')
			}
			b = out.AppendQuoted(b, f.name)
			b = append(b, ':')
			c := f.of(t)
			b = out.AppendJSON(b, &c)
		}
		b = append(b, '}')
	}
	return out.Cell{Kind: out.Detail, Raw: append(b, ']')}
}

// shown are the columns that people see of a process.
type shown struct {
	column out.Column
	of     func(*query.Process) string
}

var shownFields = []shown{
	{out.Column{Name: "pid", Right: true}, func(p *query.Process) string { return human.Figures(float64(p.PID)) }},
	{out.Column{Name: "user", Flex: true}, func(p *query.Process) string { return p.User }},
	{out.Column{Name: "cpu", Right: true}, func(p *query.Process) string { return percent(p.CPU()) }},
	{out.Column{Name: "memory", Right: true}, func(p *query.Process) string { return bytesOf(p.Memory()) }},
	{out.Column{Name: "read", Right: true}, func(p *query.Process) string { return perSecond(p.Rates[query.ReadBytes]) }},
	{out.Column{Name: "write", Right: true}, func(p *query.Process) string { return perSecond(p.Rates[query.WrittenBytes]) }},
	{out.Column{Name: "power", Right: true}, func(p *query.Process) string { return watts(p.Rates[query.Energy]) }},
	{out.Column{Name: "threads", Right: true}, func(p *query.Process) string { return plain(p.Levels[query.Threads]) }},
	{out.Column{Name: "state"}, func(p *query.Process) string { return p.State }},
	{out.Column{Name: "age", Right: true}, func(p *query.Process) string { return seconds(p.Uptime()) }},
}

func percent(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return human.Percent(x)
}

func perSecond(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return human.Bytes(x) + "/s"
}

func watts(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return human.Watts(x)
}

func plain(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return human.Figures(x)
}
