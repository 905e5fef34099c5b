package darwin

import (
	"fmt"
	"slices"
	"strconv"

	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

// cpuStates are the states in a processor's record, in order. The kernel counts in hundredths of
// a second whatever its clock.
var cpuStates = [...]string{"CPU_STATE_USER", "CPU_STATE_SYSTEM", "CPU_STATE_IDLE", "CPU_STATE_NICE"}

// stateTicks are the counts of the states.
type stateTicks [len(cpuStates)]uint64

// processorsWord is the rows' word for the number of processors.
const processorsWord = "processors"

// cpuRows returns the tables of each processor and of all together.
func cpuRows() (each, all *rows.Table) {
	const prefix = "host_processor_info PROCESSOR_CPU_LOAD_INFO"
	return rows.New("percpu", rows.Select("cpu", prefix), 0, nil), rows.New("cpu", rows.Select(metric.NoIndom, prefix), 0, nil)
}

// cpuAnswer holds the values of one processor, or of all.
type cpuAnswer struct {
	states     []int // of the leaves; -1 for the number of processors
	ticks      stateTicks
	processors int
}

func cpuAnswerOf(t *rows.Table) (a cpuAnswer) {
	for _, l := range t.Leaves {
		state := slices.IndexFunc(cpuStates[:], func(name string) bool { return l.Word == name || l.Word == "total("+name+")" })
		if state < 0 && l.Word != processorsWord {
			panic(fmt.Sprintf("catalog: %s: source %q: processors have no state %s", l.Metric.Name, l.Metric.Source, l.Word))
		}
		a.states = append(a.states, state)
	}
	return a
}

func (a *cpuAnswer) Leaf(i int) rows.Value {
	if state := a.states[i]; state >= 0 {
		return rows.Value{Bits: a.ticks[state]}
	}
	return rows.Value{Bits: uint64(a.processors)}
}

// cpuTicks widens one processor's 32-bit tick counts, which wrap after 497 days.
type cpuTicks struct {
	last  [len(cpuStates)]uint32 // the largest seen
	total stateTicks
	known bool
}

// tickCounter describes a tick counter, which is never reset. The kernel reads the idle time of
// a processor without its lock, so it may fall by as much as one period of idling.
var tickCounter = metric.Desc{Type: metric.U64, Width: 32, Falls: metric.NeverRestarts}

// add records a new reading.
func (t *cpuTicks) add(now [len(cpuStates)]uint32) {
	for i, v := range now {
		if !t.known {
			t.last[i], t.total[i] = v, uint64(v)
			continue
		}
		if _, step := metric.Increase(&tickCounter, uint64(t.last[i]), uint64(v), 0); step != metric.Dipped {
			t.total[i] += uint64(v - t.last[i])
			t.last[i] = v
		}
	}
	t.known = true
}

// A cluster is a kind of core: the kernel's name for it and the number of such cores.
type cluster struct {
	name  string
	cores int
}

// clusterKinds names the kinds of cores by the device tree's letters, for machines whose
// performance levels give no better names.
var clusterKinds = map[byte]string{'E': "Efficiency", 'P': "Performance", 'S': "Super"}

// treeKinds labels n processors from the device tree, which gives each processor's number a
// letter. It returns nil unless the tree has all of them.
//
// The meaning of a letter changes with the chips, so the kernel's names of its performance
// levels, given fastest first, have precedence: a letter is the level with as many cores.
func treeKinds(letters map[int]byte, levels []cluster, n int) []string {
	cores := make(map[byte]int)
	for i := range n {
		if letters[i] == 0 {
			return nil
		}
		cores[letters[i]]++
	}
	names := levelNames(cores, levels)
	kinds := make([]string, n)
	for i := range kinds {
		kinds[i] = names[letters[i]]
	}
	return kinds
}

// levelNames finds the name of each letter of the device tree. cores is the number of processors
// per letter.
func levelNames(cores map[byte]int, levels []cluster) map[byte]string {
	names := make(map[byte]string, len(cores))
	for letter := range cores {
		if names[letter] = clusterKinds[letter]; names[letter] == "" {
			names[letter] = "cluster " + string(rune(letter))
		}
	}
	if len(levels) != len(cores) {
		return names
	}
	open := slices.Clone(levels)
	byLevel := make(map[byte]string, len(cores))
	give := func(letter byte, i int) {
		byLevel[letter] = open[i].name
		open = slices.Delete(open, i, i+1)
	}
	// Efficiency cores are the slowest, whatever their number.
	if last := len(open) - 1; cores['E'] > 0 && cores['E'] == open[last].cores {
		give('E', last)
	}
	for letter, n := range cores {
		if byLevel[letter] != "" {
			continue
		}
		fits := func(l cluster) bool { return l.cores == n }
		i := slices.IndexFunc(open, fits)
		if i < 0 || slices.ContainsFunc(open[i+1:], fits) {
			// The tree and the levels disagree, or two levels have the same size.
			return names
		}
		give(letter, i)
	}
	return byLevel
}

// coreKinds labels n processors with their performance level, where the device tree does not.
// Levels are given fastest first, as the kernel numbers them; processors are numbered the other
// way round, efficiency cores first. It returns nil if the levels do not add up.
func coreKinds(levels []cluster, n int) []string {
	var kinds []string
	for i := len(levels) - 1; i >= 0; i-- {
		for range levels[i].cores {
			kinds = append(kinds, levels[i].name)
		}
	}
	if len(levels) == 0 || len(kinds) != n {
		return nil
	}
	return kinds
}

func cpuName(i int) string { return "cpu" + strconv.Itoa(i) }
