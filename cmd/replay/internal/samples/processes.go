package samples

import (
	"cmp"
	"slices"

	"tachograph/cmd/replay/internal/naming"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// For a fleet, processes are summed up: for each important name, the total of all processes with
// that name. What they used since the last reading is a rate and not a counter, because a
// counter would fall whenever one of them ends.

// measure is a total over the processes of a name.
type measure struct {
	family  naming.Family
	metrics []string // whose values are added up
	rate    bool
}

func measured(name, unit, help string, rate bool, metrics ...string) measure {
	return measure{naming.Family{Name: naming.Prefix + "processes_" + name, Type: naming.Gauge, Unit: unit, Help: help, Collector: "processes",
		Sources: []naming.Source{{Metric: metrics[0]}}}, metrics, rate}
}

var measures = []measure{
	measured("cpu_ratio", "ratio", "Processor time of the processes of a name, 1 being one core, since the reading before.", true, "proc.psinfo.utime", "proc.psinfo.stime"),
	measured("resident_bytes", "bytes", "Memory in which processes of a name reside.", false, "proc.memory.rss"),
	measured("read_bytes_per_second", "bytes_per_second", "What the processes of a name read from disks, since the reading before.", true, "proc.io.read_bytes"),
	measured("written_bytes_per_second", "bytes_per_second", "What the processes of a name wrote to disks, since the reading before.", true, "proc.io.write_bytes"),
}

var counted = naming.Family{Name: naming.Prefix + "processes", Type: naming.Gauge, Help: "Processes of a name.", Collector: "processes",
	Sources: []naming.Source{{Metric: "proc.psinfo.pid"}}}

// Others is the name for all processes whose names have no totals of their own.
const Others = "(others)"

// totals are the processes as of their last reading.
type totals struct {
	group *metric.Group
	at    metric.Stamp
	last  map[string][]uint64 // counters, by key and in the order of columns
	had   map[string][]bool
	// columns are the columns of the counters and levels, for each measure.
	columns [][]int
	series  map[string][]*Series // by name: the number of processes, then each measure
}

// ofName is the totals of the processes of a name.
type ofName struct {
	name   string
	count  int
	sums   []float64
	absent []bool // no process has a value
}

// processes makes the samples of totals from a block.
func (m *Maker) processes(b *metric.Block) {
	t := &m.procs
	if t.group != b.Group {
		*t = totals{group: b.Group, series: t.series}
		for i := range measures {
			var columns []int
			for _, name := range measures[i].metrics {
				for c, d := range b.Group.Metrics {
					if d.Name == name && d.Unsupported == "" {
						columns = append(columns, c)
					}
				}
			}
			t.columns = append(t.columns, columns)
		}
	}
	names := m.addUp(b)
	chosen := choose(names, m.scheme.Processes)
	at := m.cut(b.At.Wall)
	if t.series == nil {
		t.series = make(map[string][]*Series)
	}
	told := make(map[string]bool, len(chosen))
	for _, n := range chosen {
		told[n.name] = true
		m.tell(n, at)
	}
	for _, name := range sortedKeys(t.series) {
		if !told[name] {
			for _, s := range t.series[name] {
				if s != nil {
					m.end(s, at)
					delete(m.series, s.key)
				}
			}
			delete(t.series, name)
		}
	}
}

func sortedKeys(m map[string][]*Series) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// tell emits the samples of a name.
func (m *Maker) tell(n *ofName, at int64) {
	list := m.procs.series[n.name]
	if list == nil {
		list = make([]*Series, 1+len(measures))
		labels := []naming.Label{{Name: "name", Value: n.name}}
		list[0] = m.find(&out{family: &counted}, labels)
		for i := range measures {
			list[i+1] = m.find(&out{family: &measures[i].family}, labels)
		}
		m.procs.series[n.name] = list
	}
	m.put(list[0], at, whole(int64(n.count)))
	for i := range measures {
		if n.absent[i] {
			m.end(list[i+1], at)
		} else {
			m.put(list[i+1], at, float(n.sums[i]))
		}
	}
}

// addUp sums the levels of each name's processes, and what they used since the last reading.
func (m *Maker) addUp(b *metric.Block) map[string]*ofName {
	t := &m.procs
	seconds := float64(b.At.Cont-t.at.Cont) / 1e9
	first := t.last == nil || seconds <= 0
	last := make(map[string][]uint64, len(b.Rows))
	had := make(map[string][]bool, len(b.Rows))
	names := make(map[string]*ofName)
	width := 0
	for _, columns := range t.columns {
		width += len(columns)
	}
	bits, present := make([]uint64, width*len(b.Rows)), make([]bool, width*len(b.Rows))
	for row, in := range b.Rows {
		if in == nil {
			continue
		}
		name := query.ProcessName(in)
		n := names[name]
		if n == nil {
			n = &ofName{name: name, sums: make([]float64, len(measures)), absent: make([]bool, len(measures))}
			for i := range n.absent {
				n.absent[i] = true
			}
			names[name] = n
		}
		n.count++
		my, mine := bits[width*row:width*(row+1)], present[width*row:width*(row+1)]
		before, were := t.last[in.Key], t.had[in.Key]
		k := 0
		for i := range measures {
			for _, c := range t.columns[i] {
				d, col := b.Group.Metrics[c], &b.Cols[c]
				if col.Miss == nil || col.Miss[row] == metric.Present {
					my[k], mine[k] = col.Bits[row], true
					_, scale := unit(d)
					switch {
					case !measures[i].rate:
						n.sums[i] += scale.Of(metric.Number(d.Type, my[k]))
						n.absent[i] = false
					case first:
					case before == nil:
						// It is new, so it used all of it since then.
						n.sums[i] += scale.Of(metric.Number(d.Type, my[k])) / seconds
						n.absent[i] = false
					case were[k]:
						gain, _ := metric.Increase(d, before[k], my[k], seconds)
						n.sums[i] += scale.Of(max(gain, 0)) / seconds
						n.absent[i] = false
					}
				}
				k++
			}
		}
		last[in.Key], had[in.Key] = my, mine
	}
	t.last, t.had, t.at = last, had, b.At
	return names
}

func unit(d *metric.Desc) (string, naming.Scale) {
	f := naming.Own(d)
	return f.Unit, f.Sources[0].Scale(d)
}

// choose returns the n names with the most processor time, the n with the most memory, and the
// sum of all others.
func choose(names map[string]*ofName, n int) []*ofName {
	all := make([]*ofName, 0, len(names))
	for _, one := range names {
		all = append(all, one)
	}
	chosen := make(map[*ofName]bool, 2*n)
	for _, by := range []int{0, 1} {
		slices.SortFunc(all, func(x, y *ofName) int {
			return cmp.Or(cmp.Compare(y.sums[by], x.sums[by]), cmp.Compare(x.name, y.name))
		})
		for _, one := range all[:min(n, len(all))] {
			chosen[one] = true
		}
	}
	slices.SortFunc(all, func(x, y *ofName) int { return cmp.Compare(x.name, y.name) })
	others := &ofName{name: Others, sums: make([]float64, len(measures)), absent: make([]bool, len(measures))}
	for i := range others.absent {
		others.absent[i] = true
	}
	list := make([]*ofName, 0, len(chosen)+1)
	for _, one := range all {
		if chosen[one] {
			list = append(list, one)
			continue
		}
		others.count += one.count
		for i := range one.sums {
			others.sums[i] += one.sums[i]
			others.absent[i] = others.absent[i] && one.absent[i]
		}
	}
	if others.count > 0 {
		list = append(list, others)
	}
	return list
}
