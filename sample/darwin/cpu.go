package darwin

import "strconv"

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
	last  [cpuStates]uint32
	total [cpuStates]uint64
	known bool
}

// add takes a new reading. Ticks never go backwards but by wrapping.
func (t *cpuTicks) add(now [cpuStates]uint32) {
	for i, v := range now {
		if t.known {
			t.total[i] += uint64(v - t.last[i])
		} else {
			t.total[i] = uint64(v)
		}
	}
	t.last, t.known = now, true
}

// clusterKinds translates the letters by which the device tree calls kinds of
// cores.
var clusterKinds = map[byte]string{'E': "Efficiency", 'P': "Performance"}

// treeKinds labels n processors from what the device tree says: the letter of
// each by its number. Nil unless it speaks of all of them.
func treeKinds(letters map[int]byte, n int) []string {
	kinds := make([]string, n)
	for i := range kinds {
		if kinds[i] = clusterKinds[letters[i]]; kinds[i] == "" {
			return nil
		}
	}
	return kinds
}

// A cluster is a kind of core: how many of them there are and what the kernel
// calls the kind.
type cluster struct {
	name  string
	cores int
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
