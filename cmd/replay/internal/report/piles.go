package report

import (
	"cmp"
	"maps"
	"slices"

	"tachograph/store/query"
)

// A pile adds up what processes of the same name, or of the same owner, used.
type pile struct {
	of              func(*instance) string
	cpu, memory, io *stack
	net             *stack // nil where it was not recorded who used the network
}

// A stack adds up, column by column, what the processes of certain names used.
type stack struct {
	names []string
	place map[string]int
	sums  [][]float64 // by name; the last is for all others
	// begun is the use of processes that began in the interval before a reading, by the
	// reading's time: processes that ended since are not known to have used it at the end of the
	// interval.
	begun map[int64][]float64
}

func newStack(names []string, n int) *stack {
	s := &stack{names: append(names, "others"), place: make(map[string]int), begun: make(map[int64][]float64)}
	for i := range s.names {
		s.sums = append(s.sums, make([]float64, n))
		s.place[s.names[i]] = i
	}
	return s
}

// index returns the place of a name.
func (s *stack) index(name string) int {
	if i, ok := s.place[name]; ok {
		return i
	}
	return len(s.sums) - 1
}

// add adds what processes of a name used in the time from one reading to another.
func (s *stack) add(g grid, name int, from, to int64, x float64, began bool) {
	if !began {
		g.spread(from, to, x, s.sums[name])
		return
	}
	if s.begun[to] == nil {
		s.begun[to] = make([]float64, len(s.sums))
	}
	s.begun[to][name] += x
}

// settle spreads the use of new processes over the intervals that they began in.
func (s *stack) settle(g grid, lengths *sweepTimes) {
	for _, wall := range slices.Sorted(maps.Keys(s.begun)) {
		for i, x := range s.begun[wall] {
			if x != 0 {
				g.spread(wall-lengths.of(wall), wall, x, s.sums[i])
			}
		}
	}
	clear(s.begun)
}

// settle settles the stacks of what was used.
func (p *pile) settle(g grid, lengths *sweepTimes) {
	p.cpu.settle(g, lengths)
	p.io.settle(g, lengths)
	if p.net != nil {
		p.net.settle(g, lengths)
	}
}

// namesOf returns the names that a stack shows.
func namesOf(list []*query.Consumer, most int, title func(*query.Consumer) string) []string {
	var out []string
	for _, c := range list[:min(len(list), most)] {
		out = append(out, title(c))
	}
	return out
}

// byTraffic ranks by the sum of reads and writes.
func byTraffic(read, written *query.Ranking) []*query.Consumer {
	byName := make(map[string]*query.Consumer)
	for _, r := range []*query.Ranking{read, written} {
		for _, c := range r.Consumers {
			byName[c.Name] = c
		}
	}
	list := slices.Collect(maps.Values(byName))
	slices.SortFunc(list, func(x, y *query.Consumer) int {
		return cmp.Or(cmp.Compare(traffic(y), traffic(x)), cmp.Compare(x.Name, y.Name))
	})
	return list
}

func traffic(c *query.Consumer) float64 {
	return known(c.Gains[query.ReadBytes]) + known(c.Gains[query.WrittenBytes])
}
