package engine

import "tachograph/sample/metric"

// selfRow is one metric of the recorder about itself.
type selfRow struct {
	name  string
	typ   metric.Type
	sem   metric.Semantics
	units metric.Units
	help  string
}

// Columns of the tables below, by place.
const (
	selfUser = iota
	selfSystem
	selfResident
	selfHeap
	selfGoroutines
	selfCollections
	selfValues
	selfBytes
	selfEvents
	selfErrors
	selfCollector
	selfLive
)

var recorderRows = []selfRow{
	{"recorder.cpu.user", metric.U64, metric.Counter, metric.Microseconds, "processor time that the recorder used in user mode"},
	{"recorder.cpu.sys", metric.U64, metric.Counter, metric.Microseconds, "processor time that the kernel used for the recorder"},
	{"recorder.memory.resident", metric.U64, metric.Instant, metric.Kbytes, "memory that the recorder occupies"},
	{"recorder.memory.heap", metric.U64, metric.Instant, metric.Kbytes, "memory in the recorder's heap objects"},
	{"recorder.goroutines", metric.U64, metric.Instant, metric.Counts, "goroutines in the recorder"},
	{"recorder.collections", metric.U64, metric.Counter, metric.Counts, "garbage collections in the recorder"},
	{"recorder.values", metric.U64, metric.Counter, metric.Counts, "values given to the archive"},
	{"recorder.bytes", metric.U64, metric.Counter, metric.Bytes, "bytes written to the archive's files"},
	{"recorder.events", metric.U64, metric.Counter, metric.Counts, "events given to the archive"},
	{"recorder.errors", metric.U64, metric.Counter, metric.Counts, "errors of sources and of the archive"},
	{"recorder.cpu.collector", metric.U64, metric.Counter, metric.Microseconds, "processor time that the recorder's garbage collector used, by its own estimate, added when a collection ends"},
	{"recorder.memory.live", metric.U64, metric.Instant, metric.Kbytes, "memory in the recorder's heap objects that the last garbage collection found to be in use"},
}

// windowRows are read once per archive.
var windowRows = []selfRow{
	{"sample_window_ms", metric.U64, metric.Discrete, metric.Milliseconds, "interval of the fast class when the archive was begun"},
}

const (
	classTicks = iota
	classOverruns
	classValues
	classDuration
	classLateness
	classWorst
	classInterval
)

var classRows = []selfRow{
	{"recorder.class.ticks", metric.U64, metric.Counter, metric.Counts, "ticks of the class that were read"},
	{"recorder.class.overruns", metric.U64, metric.Counter, metric.Counts, "ticks of the class that were missed because the machine or a source was too slow"},
	{"recorder.class.values", metric.U64, metric.Counter, metric.Counts, "values of the class given to the archive"},
	{"recorder.class.duration", metric.U64, metric.Counter, metric.Nanoseconds, "time spent on reading and storing the class"},
	{"recorder.class.lateness", metric.U64, metric.Counter, metric.Nanoseconds, "sum of the times by which ticks began after their deadlines"},
	{"recorder.class.lateness_max", metric.U64, metric.Instant, metric.Nanoseconds, "greatest lateness of a tick since the recorder started"},
	{"recorder.class.interval", metric.U32, metric.Discrete, metric.Milliseconds, "interval in force"},
}

const (
	sourceReads = iota
	sourceErrors
	sourceTimeouts
	sourceDuration
	sourcePartial
)

var sourceRows = []selfRow{
	{"recorder.source.reads", metric.U64, metric.Counter, metric.Counts, "readings of the source that came back in time"},
	{"recorder.source.errors", metric.U64, metric.Counter, metric.Counts, "readings of the source that failed"},
	{"recorder.source.timeouts", metric.U64, metric.Counter, metric.Counts, "readings of the source that were given up because it did not answer"},
	{"recorder.source.duration", metric.U64, metric.Counter, metric.Nanoseconds, "time spent in the source, also by readings that were given up"},
	{"recorder.source.partial", metric.U64, metric.Counter, metric.Counts, "readings of the source that had time for some of the instances only; the next one goes on where they stopped"},
}

func table(name, indom string, cluster, item uint32, class metric.Class, rows []selfRow) *metric.Group {
	g := &metric.Group{Name: name, Indom: indom}
	for i, r := range rows {
		g.Metrics = append(g.Metrics, &metric.Desc{
			Name: r.name, PMID: metric.NewPMID(metric.OwnDomain, cluster, item+uint32(i)), Type: r.typ, Sem: r.sem,
			Units: r.units, Indom: indom, Class: class, Source: "the recorder itself", Help: r.help,
		})
	}
	return g
}

// SelfGroups describes the metrics of an engine about itself.
func SelfGroups() []*metric.Group {
	return []*metric.Group{
		table("recorder", metric.NoIndom, 4000, 1, metric.Polled, recorderRows),
		table("recorder.class", "class", 4001, 1, metric.Polled, classRows),
		table("recorder.source", "source", 4002, 1, metric.Polled, sourceRows),
		// The platforms' catalogs also define this metric, with this PMID.
		table("recorder.window", metric.NoIndom, 9, 10, metric.Static, windowRows),
	}
}

// SelfInstances returns the number of instances that a group of SelfGroups has in an engine with
// so many sources.
func SelfInstances(g *metric.Group, sources int) int {
	switch g.Indom {
	case "class":
		return len(read) - 1 // threads are off by default
	case "source":
		return sources + 1
	}
	return 1
}
