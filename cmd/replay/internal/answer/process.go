package answer

import (
	"math"

	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// A Process is a process at an instant.
type Process = *query.Process

// Processes are the fields of a process at an instant, in the order in which programs get them.
var Processes = append([]Field[Process]{
	{Name: "pid", Key: "pid", Of: func(p Process) float64 { return float64(p.PID) }, Unit: Number, Low: true,
		Pane: Pane{Title: "PID", Width: 7, Keep: 1, Example: "612"}},
	{Name: "ppid", Key: "ppid", Of: ppid, Unit: Number, Low: true, Pane: Pane{Title: "PPID", Width: 7, Keep: 12, Example: "1"}},
	{Name: "name", Key: "name", Word: func(p Process) string { return p.Name }, Low: true, Flex: true, Pane: Pane{Title: "NAME"}},
	{Name: "key", Word: func(p Process) string { return p.Instance.Key }},
	{Name: "user", Key: "user", Word: func(p Process) string { return p.User }, Low: true, Keep: 6, Flex: true, Pane: Pane{Title: "USER", Width: 9, Keep: 7}},
	{Name: "state", Key: "state", Word: func(p Process) string { return p.State }, Low: true, Keep: 7, Pane: Pane{Title: "STATE", Width: 8, Keep: 10}},
	{Name: "cpu_percent", Key: "cpu", Of: Process.CPU, Unit: Share, Keep: 9, Pane: Pane{Title: "CPU", Width: 6, Keep: 2, Example: "50%"}},
	{Key: "memory", Of: Process.Memory, Unit: Bytes, Keep: 8, Pane: Pane{Title: "MEMORY", Width: 8, Keep: 3, Example: "1GB"}},
	{Name: "rss_kb", Of: level(query.Resident), Unit: Kilobytes},
	{Name: "vm_size_kb", Of: level(query.Virtual), Unit: Kilobytes},
	{Name: "uptime_secs", Key: "age", Of: Process.Uptime, Unit: Seconds, Keep: 3, Pane: Pane{Title: "AGE", Width: 7, Keep: 8, Example: "10m"}},
	{Name: "resident_size", Of: level(query.Resident), Unit: Bytes},
	{Name: "virtual_size", Of: level(query.Virtual), Unit: Bytes},
	{Name: "footprint", Of: level(query.Footprint), Unit: Bytes},
	{Name: "user_time_us", Of: total(query.UserTime), Unit: Microseconds},
	{Name: "system_time_us", Of: total(query.SystemTime), Unit: Microseconds},
	{Name: "read_bytes_per_sec", Key: "read", Of: rate(query.ReadBytes), Unit: Speed, Keep: 4, Pane: Pane{Title: "READ", Width: 10, Keep: 4, Example: "1MB"}},
	{Name: "write_bytes_per_sec", Key: "write", Of: rate(query.WrittenBytes), Unit: Speed, Keep: 5, Pane: Pane{Title: "WRITE", Width: 10, Keep: 5, Example: "1MB"}},
	{Name: "read_bytes", Of: total(query.ReadBytes), Unit: Bytes},
	{Name: "write_bytes", Of: total(query.WrittenBytes), Unit: Bytes},
	{Name: "power_watts", Key: "energy", Title: "power", Of: rate(query.Energy), Unit: Watts, Keep: 2, Pane: Pane{Title: "POWER", Width: 7, Keep: 6, Example: "2"}},
	{Name: "energy_joules", Of: total(query.Energy), Unit: Joules},
	{Name: "wakeups_per_sec", Key: "wakeups", Of: Process.Wakeups, Unit: PerSecond, Pane: Pane{Title: "WAKE/S", Width: 6, Keep: 13, Example: "100"}},
	{Name: "faults_per_sec", Key: "faults", Of: rate(query.Faults), Unit: PerSecond, Pane: Pane{Title: "FLT/S", Width: 6, Keep: 11, Example: "100"}},
	{Name: "major_faults_per_sec", Of: rate(query.MajorFaults), Unit: PerSecond},
	{Name: "thread_count", Key: "threads", Of: level(query.Threads), Unit: Number, Keep: 1, Pane: Pane{Title: "THR", Width: 4, Keep: 9, Example: "100"}},
	{Name: "priority", Of: level(query.Priority), Unit: Number},
	{Name: "nice", Of: level(query.Nice), Unit: Number},
	{Key: "net_in", Title: "net in", Of: rate(query.NetIn), Unit: Speed, Keep: 4, Pane: Pane{Title: "NET IN", Width: 10, Keep: 6, Example: "1MB"}},
	{Key: "net_out", Title: "net out", Of: rate(query.NetOut), Unit: Speed, Keep: 4, Pane: Pane{Title: "NET OUT", Width: 10, Keep: 6, Example: "1MB"}},
}, owners(func(p Process, kind string) string { return p.Instance.Label(kind) })...)

// The keys of the columns that people see, in their order: in the table of ps and on the screen of
// browse, where the name is last, and of the courses of a process's life in both.
var (
	InLife   = []string{"cpu", "memory", "read", "write", "energy", "threads"}
	InTable  = []string{"pid", "user", "cpu", "memory", "read", "write", "energy", "threads", "state", "age"}
	OnScreen = []string{"pid", "ppid", "user", "state", "cpu", "memory", "read", "write", "net_in", "net_out", "energy", "threads", "wakeups", "faults", "age", "name"}
)

// Threads are the fields of a thread within its process.
var Threads = []Field[Process]{
	{Name: "tid", Key: "tid", Word: func(p Process) string { return p.Instance.Label("tid") }, Right: true, Keep: 6},
	{Name: "name", Key: "thread", Word: func(p Process) string { return p.Name }, Flex: true},
	{Name: "state", Key: "state", Word: func(p Process) string { return p.State }, Keep: 7},
	{Name: "cpu_percent", Key: "cpu", Of: Process.CPU, Unit: Share, Keep: 9},
	{Key: "cpu time", Of: Process.CPUTime, Unit: Seconds, Keep: 8},
	{Name: "user_time_us", Of: total(query.UserTime), Unit: Microseconds},
	{Name: "system_time_us", Of: total(query.SystemTime), Unit: Microseconds},
	{Name: "priority", Of: level(query.Priority), Unit: Number},
}

// OfThread are the keys of the columns that people see of a thread, after its process.
var OfThread = []string{"tid", "state", "cpu", "cpu time", "thread"}

func level(l query.ProcessLevel) func(Process) float64 {
	return func(p Process) float64 { return p.Levels[l] }
}
func rate(c query.ProcessCounter) func(Process) float64 {
	return func(p Process) float64 { return p.Rates[c] }
}
func total(c query.ProcessCounter) func(Process) float64 {
	return func(p Process) float64 { return p.Totals[c] }
}

// ppid is the pid of the parent. Only the first processes have none.
func ppid(p Process) float64 {
	if p.PPID == 0 && p.PID > 1 {
		return math.NaN()
	}
	return float64(p.PPID)
}

// ProcessColumns are the columns of rows about processes for programs.
func ProcessColumns() []out.Column { return wrap(Processes) }

// ProcessCells are the cells of these columns.
func ProcessCells(p Process) []out.Cell {
	cells := []out.Cell{out.At(p.At), Whole(p.Window * 1000)}
	for _, f := range Named(Processes) {
		cells = append(cells, f.Cell(p))
	}
	return append(cells, threads(p.Threads), out.Str(Platform(&p.Archive.Host)))
}

// wrap returns the columns of fields, with those that all rows about processes have around them.
func wrap[T any](fields []Field[T]) []out.Column {
	columns := []out.Column{{Name: "time"}, {Name: "sample_window_ms"}}
	for _, f := range Named(fields) {
		columns = append(columns, out.Column{Name: f.Name, Group: "process", Kind: f.Kind()})
	}
	return append(columns, out.Column{Name: "threads"}, out.Column{Name: "platform"})
}

// Platform names the platform of a host.
func Platform(h *metric.Host) string {
	if h.Platform != "" {
		return h.Platform
	}
	return h.OS
}

// threads is a list of threads as json.
func threads(list []Process) out.Cell {
	fields := Named(Threads)
	b := []byte{'['}
	for i, t := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		for k, f := range fields {
			if k > 0 {
				b = append(b, ',')
			}
			b = append(out.AppendQuoted(b, f.Name), ':')
			c := f.Cell(t)
			b = out.AppendJSON(b, &c)
		}
		b = append(b, '}')
	}
	return out.Cell{Kind: out.Detail, Raw: append(b, ']')}
}
