package darwin

import (
	"slices"

	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

// uptimeWord is the clock that the rows call mach_continuous_time. Here it is in nanoseconds and
// includes sleep, as people expect of the time since the machine was started.
const uptimeWord = "continuous_time"

// kernelRows returns the table of the default processor set's live counts and the uptime.
func kernelRows() *rows.Table {
	return rows.New("kernel", slices.Concat(
		rows.Select(metric.NoIndom, "processor_set_statistics PROCESSOR_SET_LOAD_INFO "),
		rows.Select(metric.NoIndom, "mach_")), 0, nil)
}

// counted reports whether a leaf is one of the counts.
func counted(l *rows.Leaf) bool { return l.Word != uptimeWord }

// loads holds the kernel's counts of processes and threads, and its clock.
type loads struct {
	rows.Struct
	uptime int64
	failed metric.Reason // why the counts are absent
}

func loadsOf(t *rows.Table, arch string) loads {
	return loads{Struct: rows.Struct{Members: t.Members(arch, uptimeWord), Short: badAnswer}}
}

func (l *loads) Leaf(i int) rows.Value {
	switch {
	case l.Members[i].Field == nil:
		return rows.Value{Bits: uint64(l.uptime)}
	case l.failed != metric.Present:
		return rows.Value{Miss: l.failed}
	}
	return l.Struct.Leaf(i)
}
