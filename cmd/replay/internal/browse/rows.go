package browse

import (
	"slices"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/moment"
)

// A row is a process in the table, or an owner.
type row struct {
	p      *moment.Process // of an owner, what its processes have and use together
	owner  *owner          // nil for a process
	lead   string          // the branch of the tree before the name
	ended  bool
	pinned bool
}

// arrangement is how the process table is arranged.
type arrangement struct {
	sort    string
	reverse bool
	tree    bool
	owners  bool // processes are below their owners, unless there is a filter
	filter  *filter
	pins    []string
	opened  []string // the owners whose processes are shown
}

func (g *arrangement) same(h *arrangement) bool {
	return g.sort == h.sort && g.reverse == h.reverse && g.tree == h.tree && g.owners == h.owners && g.filter == h.filter &&
		slices.Equal(g.pins, h.pins) && slices.Equal(g.opened, h.opened)
}

// arrange makes rows of the processes of a moment: pinned ones first, whatever the filter
// says, then the others in order, those that have ended among them.
func (g arrangement) arrange(m *moment.Moment) []row {
	if m == nil {
		return nil
	}
	var list []row
	there := make(map[string]bool)
	for _, p := range m.Processes {
		there[p.Key] = true
		list = append(list, row{p: p, ended: p.Exit != nil})
	}
	for _, p := range m.Ended {
		if !there[p.Key] {
			list = append(list, row{p: p, ended: true})
		}
	}
	by := columnOf(g.sort)
	slices.SortStableFunc(list, func(x, y row) int { return compare(by, x.p, y.p, g.reverse) })
	all := slices.Clone(list)
	switch {
	case g.owners && g.filter == nil:
		list = g.owned(list)
	case g.tree:
		list = g.branches(list)
	default:
		list = slices.DeleteFunc(list, func(r row) bool { return !g.filter.accepts(r.p) })
	}
	var pinned []row
	for _, key := range g.pins {
		for _, r := range all {
			if r.p.Key == key {
				pinned = append(pinned, row{p: r.p, pinned: true, ended: r.ended})
			}
		}
	}
	list = slices.DeleteFunc(list, func(r row) bool { return slices.Contains(g.pins, r.p.Key) })
	return append(pinned, list...)
}

// arranged caches the last arranged table, because some machines have very many processes
// and the screen is drawn at each key.
type arranged struct {
	m      *moment.Moment
	as     arrangement
	rows   []row
	filled []*column
}

// rows returns the rows of the process table.
func (a *app) rows() []row {
	c, as := &a.table, a.arrangement
	if c.m != a.shownMoment || !c.as.same(&as) {
		as.opened = slices.Clone(as.opened)
		*c = arranged{m: a.shownMoment, as: as, rows: as.arrange(a.shownMoment)}
		flat := c.rows
		if as.owners && as.filter == nil {
			flat = arrangement{sort: as.sort}.arrange(a.shownMoment) // so that the columns stay when an owner is opened
		}
		c.filled = filled(flat)
	}
	return c.rows
}

// columns returns the columns of the table that fit in width columns of the terminal.
func (a *app) columns(width int) []*column {
	a.rows()
	leads := 0
	for _, r := range a.table.rows {
		leads = max(leads, human.Width(r.lead))
	}
	return fitting(a.table.filled, width-min(leads, width/4), a.sort)
}

// deepest limits the length of a tree branch, in bytes. No real machine nests so deep, but
// a hostile archive may.
const deepest = 64

// branches puts children below their parents. With a filter it keeps the processes that
// the filter accepts, and their ancestors.
func (g arrangement) branches(list []row) []row {
	byKey, byPID := make(map[string]int), make(map[int]int)
	for i, r := range list {
		byKey[r.p.Key] = i
		if !r.ended {
			byPID[r.p.PID] = i
		}
	}
	children := make(map[int][]int)
	var roots []int
	for i, r := range list {
		parent, ok := byKey[r.p.ParentKey]
		if r.p.ParentKey == "" {
			parent, ok = byPID[r.p.PPID]
			ok = ok && r.p.PPID > 0
		}
		if !ok || parent == i {
			roots = append(roots, i)
		} else {
			children[parent] = append(children[parent], i)
		}
	}
	state := make([]int8, len(list)) // 0 unknown, 1 visited, 2 shown
	var wanted func(i int) bool
	wanted = func(i int) bool {
		if state[i] != 0 {
			return state[i] == 2
		}
		state[i] = 1
		show := g.filter.accepts(list[i].p)
		for _, k := range children[i] {
			show = wanted(k) || show
		}
		if show {
			state[i] = 2
		}
		return show
	}
	for i := range list {
		wanted(i)
	}
	var out []row
	done := make([]bool, len(list))
	var walk func(i int, lead, branch string)
	walk = func(i int, lead, branch string) {
		if done[i] || state[i] != 2 {
			return
		}
		done[i] = true
		r := list[i]
		r.lead = branch
		out = append(out, r)
		kids := slices.DeleteFunc(slices.Clone(children[i]), func(k int) bool { return state[k] != 2 || done[k] })
		under, beside := lead+"  ", lead+"│ "
		if len(lead) >= deepest {
			under, beside = lead, lead
		}
		for n, k := range kids {
			if n == len(kids)-1 {
				walk(k, under, lead+"└ ")
			} else {
				walk(k, beside, lead+"├ ")
			}
		}
	}
	for _, i := range roots {
		walk(i, "", "")
	}
	for i := range list {
		walk(i, "", "") // Only a cycle is left, which wrong labels can make.
	}
	return out
}
