package darwin

import (
	"slices"
	"strconv"

	"tachograph/sample/metric"
)

// The states in a processor's record, and how long a tick is: the kernel
// counts in hundredths of a second whatever its clock.
const (
	cpuUser = iota
	cpuSystem
	cpuIdle
	cpuNice
	cpuStates
)

const tickMillis = 10

var cpuStateNames = [cpuStates]string{"user", "sys", "idle", "nice"}

// cpuTicks widens one processor's 32-bit tick counts, which wrap after 497
// days.
type cpuTicks struct {
	last  [cpuStates]uint32 // the most that was shown
	total [cpuStates]uint64
	known bool
}

// A tick counter is never reset. The kernel reads the idle time of a processor
// without its lock, so that it may fall by as much as one period of idling.
var tickCounter = metric.Desc{Type: metric.U64, Width: 32, Falls: metric.NeverRestarts}

// add takes a new reading.
func (t *cpuTicks) add(now [cpuStates]uint32) {
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

// A cluster is a kind of core: how many of them there are and what the kernel
// calls the kind.
type cluster struct {
	name  string
	cores int
}

// clusterKinds translates the letters by which the device tree calls kinds of
// cores, for machines whose performance levels do not tell better.
var clusterKinds = map[byte]string{'E': "Efficiency", 'P': "Performance", 'S': "Super"}

// treeKinds labels n processors from what the device tree says: the letter of
// each by its number. Nil unless it speaks of all of them.
//
// Which kind a letter stands for changes with the chips; what the kernel calls
// its performance levels, given fastest first, is asked first: a letter is the
// level that has as many cores.
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

// levelNames finds the name of each letter of the device tree, of which cores
// says how many processors have it.
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
	// Efficiency cores are the slowest of all, whatever their number.
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
			// The two do not agree, or a level is as large as another.
			return names
		}
		give(letter, i)
	}
	return byLevel
}

// coreKinds labels n processors with their performance level, where the device
// tree does not. Levels are given fastest first, as the kernel numbers them;
// processors are numbered the other way round, efficiency cores first. Nil if
// the levels do not add up.
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
