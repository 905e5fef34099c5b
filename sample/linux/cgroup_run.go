package linux

import (
	"syscall"

	"tachograph/sample/metric"
)

// A group that is removed and made again has the same path and counters that start at zero. Its
// directory has another number. The new group's counters go on from where those of the one before
// stood, so that a path has counters that never fall and nobody subtracts one run's from
// another's.

// pastGroup is what must be known of a group that was removed if it comes back.
type pastGroup struct {
	path    string
	tree    int
	ino     uint64
	runs    uint64
	before  []uint64 // what its counters began with, if it is the same group after all
	after   []uint64 // what the counters of another group begin with
	devices []*groupDevice
	watch   groupWatch
}

// mostPast is how many removed groups are remembered.
const mostPast = 1000

// meet starts to read a group.
func (g *cgroups) meet(m *member[cgroup], at metric.Stamp) {
	d := &m.data
	d.path = m.in.Key
	d.files = make([]groupFile, len(g.places))
	d.values = make([]groupValue, len(groupColumns))
	for i := range d.values {
		d.values[i].why = metric.NotRead
	}
	if above := g.groups.members[parentPath(d.path)]; above != nil && above != m {
		d.parent = above
	}
	d.watch = groupWatch{met: at.Cont, known: !g.watching.started, fresh: g.watching.started}
	if past := g.past[d.path]; past != nil {
		delete(g.past, d.path)
		d.tree, d.ino, d.runs = past.tree, past.ino, past.runs
		d.base, d.baseIfSame = past.after, past.before
		d.devices = past.devices
		d.watch = past.watch
		d.watch.met, d.watch.fresh = at.Cont, true
	}
}

// identify compares a group's directory with that of the last reading.
func (g *cgroups) identify(m *member[cgroup], tree int, ino uint64) {
	d := &m.data
	same := d.tree == tree && d.ino == ino
	if d.baseIfSame != nil {
		if same {
			d.base, d.devices = d.baseIfSame, nil
		}
		d.baseIfSame = nil
	}
	if same {
		return
	}
	if d.ino == 0 {
		d.runs = 1
	} else if d.tree == tree {
		d.runs++
		g.remade(m)
	}
	d.tree, d.ino = tree, ino
}

// identifyAgain does so for a group some of whose files are new.
func (g *cgroups) identifyAgain(m *member[cgroup]) {
	m.data.renewed = false
	for t := range g.trees {
		if ino := inodeOf(g.trees[t] + m.data.path); ino != 0 {
			g.identify(m, t, ino)
			return
		}
	}
}

// ended keeps what the counters in a file came to, because the file is not there any more: it or
// another like it starts at zero.
func (g *cgroups) ended(d *cgroup, p int) {
	d.renewed = true
	for _, col := range g.places[p].cols {
		if g.counter[col] && d.values[col].why == metric.Present {
			if d.base == nil {
				d.base = make([]uint64, len(groupColumns))
			}
			d.base[col] = d.values[col].v
		}
	}
	if g.places[p].devices {
		for _, dev := range d.devices {
			dev.ended()
		}
	}
}

// leave forgets a group that a walk did not find.
func (g *cgroups) leave(m *member[cgroup]) {
	d := &m.data
	past := &pastGroup{path: d.path, tree: d.tree, ino: d.ino, runs: d.runs, devices: d.devices, before: make([]uint64, len(groupColumns))}
	copy(past.before, d.base)
	for p := range d.files {
		if f := &d.files[p]; f.ino != 0 {
			g.ended(d, p)
		}
		d.files[p].close()
	}
	past.after = d.base
	g.gone(m)
	past.watch = d.watch
	if g.past == nil {
		g.past = make(map[string]*pastGroup)
	}
	g.past[d.path] = past
	g.pastOrder = append(g.pastOrder, past)
	for len(g.pastOrder) > mostPast {
		if old := g.pastOrder[0]; g.past[old.path] == old {
			delete(g.past, old.path)
		}
		g.pastOrder = g.pastOrder[1:]
	}
}

// inodeOf returns the number of a directory; 0 if it does not exist.
func inodeOf(path string) uint64 {
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil {
		return 0
	}
	return uint64(st.Ino)
}
