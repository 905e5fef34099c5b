package assistant

import (
	"strings"

	"tachograph/cmd/replay/internal/out"
)

// A tool is a question that assistants may ask: a command of replay, its arguments, and those
// fields of its rows that are worth their room.
type tool struct {
	name, title, about string
	params             []param
	parts              []part
	// points is how many steps the window is cut into: 0 if the command has no steps.
	points int
	// whole says that it has steps also without from and to.
	whole bool
	// hint is what helps after a mistake, shown an example of arguments where the usual one is wrong.
	hint, shown string
}

// A part is a command whose rows are part of an answer. The first part of a tool has the tool's own
// arguments, and rows that can be skipped.
type part struct {
	key     string // of the rows in the answer
	command []string
	fields  []field
	most    int    // rows
	per     int    // the most rows with the same text in the first field; 0: no limit
	drop    string // a prefix of field "name" of rows that are left out and not counted
	series  bool   // the rows are points of series
	same    bool   // it has the tool's own arguments, though it is not the first
}

// mostRows is how many rows an answer has at most, mostPoints how many points a series.
const mostRows, mostPoints = 50, 60

// kinds of events without those of single processes, of which there are too many.
const notProcesses = "/^([^p]|p[^r])/"

var (
	from = param{name: "from", flag: "from", about: "begin of the window: RFC 3339 or words ('yesterday 03:12', '-2h')"}
	to   = param{name: "to", flag: "to", about: "end of the window; '+10m' counts from from"}
	host = param{name: "host", flag: "host", about: "only hosts that match this glob"}
	at   = param{name: "at", flag: "at", about: "an instant, like from"}
	skip = param{name: "skip", kind: whole, about: "rows to leave out, see truncated"}
	many = param{name: "number", kind: whole, flag: "number", about: "how many at most"}

	match    = param{name: "match", kind: list, about: "pids, names or globs of processes; or an owner: app=, service=, container=, pod=, unit="}
	instance = param{name: "instance", kind: list, flag: "instance", about: "only instances whose name matches: globs"}
	group    = param{name: "group", flag: "group", about: "add up the processes of the same",
		one: []string{"process", "name", "user", "parent", "owner", "app", "service", "container", "pod", "session"}}
)

func must(p param) param { p.must = true; return p }

// tools are all tools, in the order in which they are worth trying.
var tools = []tool{
	{
		name: "overview", title: "What was recorded", about: "Begin here: which machines and times the archives cover, which times are missing and why (absent), and the vital numbers of the window.",
		parts: []part{
			{key: "rows", command: []string{"info"}, most: 12, fields: []field{
				{name: "id"}, {name: "host_name"}, {name: "os"}, {name: "release"}, {name: "arch"}, {name: "model"}, {name: "time_zone"},
				{name: "from", kind: instant}, {name: "to", kind: instant}, {name: "intervals", about: "how often each class of metrics was read"},
				{name: "live", kind: truth, about: "it is still being written"}, {name: "damage"},
			}},
			{key: "vital", most: 24, fields: []field{
				{name: "name"}, {name: "units", about: "of mean, max and last; none: a share of 1, or a count"}, {name: "mean", kind: number}, {name: "max", kind: number},
				{name: "max_at", kind: instant}, {name: "last", kind: number}, {name: "of", kind: number, about: "what there is of it"},
			}},
		},
	}, {
		name: "why", title: "What was out of the ordinary", about: "The judgement: what was out of the ordinary at an instant or in a window, the likeliest cause first. Without arguments it looks for the worst time of the recording.",
		params: []param{at},
		parts: []part{{key: "rows", command: []string{"why"}, fields: []field{
			{name: "kind"}, {name: "weight", kind: number, about: "0 to 1: how much it matters"}, {name: "since", kind: instant}, {name: "until", kind: instant},
			{name: "text", room: 500}, {name: "metrics", kind: texts, column: "claims", of: metricsOf, about: "what the text was computed from"}, {name: "command", room: 500, about: "shows more"},
		}}},
	}, {
		name: "moment", title: "One moment", about: "Everything about one moment: the vital numbers, what happened within ten minutes, and the processes that used most of each resource.",
		params: []param{must(param{name: "at", about: at.about})},
		parts: []part{{key: "rows", command: []string{"at"}, per: 5, drop: "process ", fields: []field{
			{name: "section", about: "system, event, top cpu, top memory ..."}, {name: "time", kind: instant}, {name: "name"}, {name: "pid", kind: whole},
			{name: "value", kind: number}, {name: "units", about: "of value; none: a share of 1, of a core for top cpu, or a count"}, {name: "text"},
		}}},
	}, {
		name: "top", title: "Who used most", about: "The processes, or groups of them, that used most of a resource over a window.",
		params: []param{{name: "by", flag: "by", about: "the resource (default cpu)", one: []string{"cpu", "memory", "read", "write", "energy", "wakeups", "faults", "net", "runs"}}, group, match, many},
		parts:  []part{{key: "rows", command: []string{"top"}, fields: used}},
	}, {
		name: "process", title: "A process", about: "Processes at an instant (at), or with from or to their history in steps. Without match: all, those with most CPU first.",
		params: []param{match, at, {name: "sort", flag: "sort", about: "by what (default cpu)", one: []string{"cpu", "memory", "read", "write", "threads", "age", "pid", "name"}}, many},
		points: 15,
		parts:  []part{{key: "rows", command: []string{"ps"}, fields: process}},
	}, {
		name: "diff", title: "What changed", about: "What changed between two times: metrics and processes, the greatest difference first. Give at and before; or earlier and later; or earlier and against.", shown: `{"at": "03:12", "before": "10m"}`,
		params: []param{
			{name: "at", flag: "at", about: "the instant between the two windows"}, {name: "before", flag: "before", about: "length of both windows: '10m'"},
			{name: "earlier", about: "the first window: '03:00..03:10'"}, {name: "later", about: "the second window"},
			{name: "against", flag: "against", about: "instead of later: the same hours of another day ('yesterday'), or a host"},
		},
		parts: []part{{key: "rows", command: []string{"diff"}, fields: []field{
			{name: "kind"}, {name: "subject"}, {name: "instance"}, {name: "before", kind: number}, {name: "after", kind: number},
			{name: "units"}, {name: "time", kind: instant}, {name: "score", kind: number, about: "0 to 1: how much it matters"}, {name: "text", room: 400},
		}}},
	}, {
		name: "series", title: "Metrics over time", about: "Metrics over the window in at most 60 steps. Counters become rates per second.", hint: "search finds the names of metrics",
		params: []param{
			must(param{name: "metrics", kind: list, about: "names, globs, or an expression such as 'mem.util.used / mem.physmem'"}), instance,
			{name: "how", about: "what of each step (default mean)", one: []string{"mean", "min", "max", "last"}}, {name: "units", flag: "units", about: "convert to these units: 'MB/s'"},
		},
		points: mostPoints, whole: true,
		parts: []part{{key: "series", series: true, command: []string{"rates"}}},
	}, {
		name: "find", title: "When a condition held", about: "The times when a condition over metrics held, such as 'kernel.all.load[1*] > 8' or 'rate(disk.all.write_bytes) > 100MB/s && mem.util.free < 1GB'.", hint: "search finds the names of metrics",
		params: []param{must(param{name: "condition", about: "metrics, numbers with units, < > && ||"}), instance, {name: "for", flag: "for", about: "only where it held at least so long: '30s'"}},
		parts: []part{{key: "rows", command: []string{"find"}, fields: []field{
			{name: "from", kind: instant}, {name: "to", kind: instant}, {name: "seconds", kind: number}, {name: "instance"}, {name: "samples", kind: whole},
			{name: "extreme", kind: number}, {name: "open", kind: truth, about: "it still held at the end"},
		}}},
	}, {
		name: "events", title: "What happened", about: "Events of the window in order: boots, sleeps, gaps, changes, errors, kills, devices; and the deaths of processes: crashes, kills, crash loops.",
		params: []param{{name: "kind", kind: list, flag: "kind", about: "names or globs of kinds; default: all but starts and exits of processes ('process*')", otherwise: notProcesses}},
		parts: []part{
			{key: "rows", command: []string{"events"}, fields: []field{{name: "time", kind: instant}, {name: "kind"}, {name: "text", room: 300}}},
			{key: "deaths", command: []string{"deaths", "--number=0"}, most: 12, fields: []field{
				{name: "time", kind: instant}, {name: "pid", kind: whole}, {name: "name"}, {name: "owner"}, {name: "kind"}, {name: "what"}, {name: "count", kind: whole},
				{name: "lived", kind: number, about: "seconds"}, {name: "sources", about: "who says so"},
			}},
		},
	}, {
		name: "stacks", title: "What code ran", about: "Sampled stacks of processes, where some were recorded: the functions in which most samples were, and who called them.",
		params: []param{match, at, {name: "running", kind: truth, flag: "running", about: "only samples that wanted a processor"}, {name: "waiting", kind: truth, flag: "waiting", about: "only samples that waited"}},
		parts: []part{
			{key: "rows", command: []string{"stacks", "--top", "--number=0"}, fields: []field{
				{name: "function"}, {name: "self", kind: whole, about: "samples in it"}, {name: "total", kind: whole, about: "samples in it and in what it called"},
				{name: "running", kind: whole}, {name: "image", about: "the file it is from"},
			}},
			{key: "callers", command: []string{"stacks", "--by", "callers", "--min", "3%"}, most: 30, same: true, fields: []field{
				{name: "depth", kind: whole, about: "0: samples were in it; more: it called the last row before that is one less deep"},
				{name: "samples", kind: whole}, {name: "function", about: "none: others with small shares"},
			}},
		},
	}, {
		name: "search", title: "Which metrics there are", about: "Finds metrics whose name or description has all of the words.",
		params: []param{must(param{name: "about", flag: "about", about: "words: 'disk write'"}), {name: "all", kind: truth, flag: "all", about: "also those that could not be recorded here, with the reason"}},
		parts: []part{{key: "rows", command: []string{"metrics"}, fields: []field{
			{name: "metric"}, {name: "semantics", about: "a counter grows; instant and discrete are levels"}, {name: "units"}, {name: "indom", about: "what its instances are; none: it has one value"},
			{name: "unsupported", about: "why it was not recorded"}, {name: "help"},
		}}},
	}, {
		name: "explain", title: "What a metric means", about: "What a metric means, where its values come from, how often it was read, and why values are missing.", hint: "search finds the names of metrics",
		params: []param{must(param{name: "metric", about: "its name"})},
		parts: []part{{key: "rows", command: []string{"explain"}, fields: []field{
			{name: "metric"}, {name: "type"}, {name: "semantics"}, {name: "units"}, {name: "indom"}, {name: "class"}, {name: "help"}, {name: "long_help", room: 1200}, {name: "source"},
			{name: "formula"}, {name: "unsupported", about: "why it was not recorded"}, {name: "instances", kind: whole}, {name: "present", kind: whole, about: "values"},
			{name: "missing", kind: whole, about: "values that could not be read"}, {name: "interval_ms", kind: whole},
		}}},
	},
}

// used are the fields of what processes used over a window.
var used = []field{
	{name: "pid", kind: whole}, {name: "name"}, {name: "user"}, {name: "count", kind: whole, about: "processes"},
	{name: "cpu_percent", kind: number, about: "of one core"}, {name: "cpu_seconds", kind: number}, {name: "memory_peak", kind: number, about: "bytes"},
	{name: "read_bytes", kind: number}, {name: "write_bytes", kind: number}, {name: "energy_joules", kind: number}, {name: "wakeups", kind: number}, {name: "major_faults", kind: number},
	{name: "from", kind: instant}, {name: "to", kind: instant},
	{name: "app"}, {name: "service"}, {name: "container"}, {name: "pod"},
}

// process are the fields of a process at an instant.
var process = []field{
	{name: "time", kind: instant}, {name: "pid", kind: whole}, {name: "ppid", kind: whole}, {name: "name"}, {name: "user"},
	{name: "state", about: "R runs, S sleeps, D waits for a device, T is stopped, Z has ended and its parent has not noticed"},
	{name: "cpu_percent", kind: number, about: "of one core"}, {name: "rss_kb", kind: number}, {name: "footprint", kind: number, about: "bytes"},
	{name: "uptime_secs", kind: number}, {name: "read_bytes_per_sec", kind: number}, {name: "write_bytes_per_sec", kind: number},
	{name: "major_faults_per_sec", kind: number}, {name: "thread_count", kind: whole}, {name: "app"}, {name: "service"}, {name: "container"}, {name: "pod"},
}

// all returns the arguments of the tool: its own and those that nearly all tools have.
func (t *tool) all() []param {
	own := t.params
	if t.name != "diff" && t.name != "moment" {
		own = append(append([]param{}, own...), from, to)
	}
	return append(append([]param{}, own...), host, skip)
}

// takes lists the names of the arguments.
func (t *tool) takes() string {
	var names []string
	for _, p := range t.all() {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

// A field is a field of an answer's rows. It has a type, and what is not in its name about says,
// such as its units.
type field struct {
	name, about string
	kind        kind
	// column is the column of the command that it is made from; "" if it has the field's name.
	column string
	// of makes the value from the JSON of the column.
	of   func(json []byte) any
	room int // bytes of a text
}

// take returns the column's index, -1 if the command has no such column here.
func (f *field) take(columns []out.Column) int {
	name := f.name
	if f.column != "" {
		name = f.column
	}
	for i, c := range columns {
		if c.Name == name && c.Only != out.Nowhere && c.Only != out.InTables {
			return i
		}
	}
	return -1
}
