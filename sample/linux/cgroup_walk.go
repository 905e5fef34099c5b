package linux

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"

	"tachograph/sample/metric"
)

// groupDir is the directory of a group in one tree, as it was last listed.
type groupDir struct {
	ino, links uint64
	below      []string // paths of the groups below
	there      uint64   // the places of the tree whose files it has, as bits
	control    string   // which controllers its children have
	stale      bool     // its list may be out of date
	round      uint64
}

// foundGroup is a group that a walk found.
type foundGroup struct {
	path  string
	there uint64
	inner bool
	order int
	rank  int
}

const (
	// mostGroups is how many groups are read, see choose.
	mostGroups = 2000
	// mostFound is how many groups a walk finds.
	mostFound = 20_000
)

// walk finds the groups that exist, from the roots down.
func (g *cgroups) walk(at metric.Stamp) {
	g.round++
	g.found, g.foundAt = g.found[:0], make(map[string]int, len(g.groups.live))
	for t := range g.trees {
		for range 2 {
			if g.walkTree(t) {
				break // nothing went away meanwhile
			}
		}
		for path, dir := range g.dirs[t] {
			if dir.round != g.round {
				delete(g.dirs[t], path)
			}
		}
	}
	clear(g.deviceNames)
	g.choose()
	g.groups.begin()
	for i := range g.found {
		f := &g.found[i]
		m := g.groups.see([]byte(f.path))
		if m.data.files == nil {
			g.meet(m, at)
		}
		m.data.there = f.there
		g.describe(m, f.inner)
		for t := range g.trees {
			if dir := g.dirs[t][f.path]; dir != nil {
				g.identify(m, t, dir.ino)
				break
			}
		}
		g.settled(m)
	}
	g.groups.end(g.leave)
}

// walkTree finds the groups in one tree. It reports false if it met with a list that is out of
// date.
func (g *cgroups) walkTree(t int) bool {
	current := true
	for level := []string{"/"}; len(level) > 0; {
		var next []string
		for _, path := range level {
			dir := g.look(t, path)
			if dir == nil {
				if above := g.dirs[t][parentPath(path)]; above != nil {
					above.stale, current = true, false
				}
				continue
			}
			g.add(path, dir)
			next = append(next, dir.below...)
		}
		level = next
	}
	return current
}

// add counts a directory as one of the group with this path.
func (g *cgroups) add(path string, dir *groupDir) {
	at, known := g.foundAt[path]
	if !known {
		if len(g.found) >= mostFound {
			return
		}
		at = len(g.found)
		g.foundAt[path] = at
		g.found = append(g.found, foundGroup{path: path, order: at})
	}
	f := &g.found[at]
	f.there |= dir.there
	f.inner = f.inner || len(dir.below) > 0
}

// look returns the directory of a group; nil if it does not exist. A directory has a link for
// each directory in it and two of its own, so that most lists are known to be up to date without
// reading them. One that went away while another came is met on the way down.
func (g *cgroups) look(t int, path string) *groupDir {
	var st syscall.Stat_t
	if syscall.Stat(g.trees[t]+path, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return nil
	}
	dir := g.dirs[t][path]
	if dir == nil {
		dir = &groupDir{stale: true}
		g.dirs[t][path] = dir
	}
	ino, links := uint64(st.Ino), uint64(st.Nlink)
	if dir.stale || dir.ino != ino || dir.links != links || links < 2 {
		if !g.list(t, path, dir) {
			return nil
		}
		dir.ino, dir.links, dir.stale = ino, links, false
	}
	if len(dir.below) > 0 && g.two {
		g.watchControl(t, path, dir)
	}
	dir.round = g.round
	return dir
}

// list reads which files and groups a directory has.
func (g *cgroups) list(t int, path string, dir *groupDir) bool {
	entries, err := os.ReadDir(g.trees[t] + path)
	if err != nil {
		return false // it is gone
	}
	dir.below, dir.there = nil, 0
	for _, e := range entries {
		if e.IsDir() {
			dir.below = append(dir.below, join(path, e.Name()))
			continue
		}
		for i := range g.places {
			if p := &g.places[i]; p.tree == t && p.name == e.Name() {
				dir.there |= 1 << i
			}
		}
	}
	return true
}

// watchControl has the files of the groups below listed again when their controllers change.
func (g *cgroups) watchControl(t int, path string, dir *groupDir) {
	fd, err := openRetrying(g.trees[t] + join(path, "cgroup.subtree_control"))
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	if data, err := g.pread(fd); err == nil && string(data) != dir.control {
		dir.control = string(data)
		for _, below := range dir.below {
			if d := g.dirs[t][below]; d != nil {
				d.stale = true
			}
		}
	}
}

// choose limits the groups that are read to mostGroups. The first to be read are the root and the
// groups just below it, then those with processes of their own, then those above others: a machine
// can have thousands of empty groups.
func (g *cgroups) choose() {
	g.some = len(g.found) > mostGroups
	if !g.some {
		return
	}
	for i := range g.found {
		f := &g.found[i]
		switch {
		case strings.Count(f.path, "/") == 1:
			f.rank = 0
		case f.inner:
			f.rank = 2
		case g.populated(f.path):
			f.rank = 1
		default:
			f.rank = 3
		}
	}
	slices.SortStableFunc(g.found, func(a, b foundGroup) int { return a.rank - b.rank })
	g.found = g.found[:mostGroups]
	slices.SortFunc(g.found, func(a, b foundGroup) int { return cmp.Compare(a.order, b.order) })
}

// populated reports whether a group has processes.
func (g *cgroups) populated(path string) bool {
	for t, tree := range g.trees {
		if g.dirs[t][path] == nil {
			continue
		}
		fd, err := openRetrying(tree + join(path, "cgroup.events"))
		if err == nil {
			data, err := g.pread(fd)
			syscall.Close(fd)
			return err == nil && bytes.Contains(data, populatedOne)
		}
		if fd, err = openRetrying(tree + join(path, "cgroup.procs")); err == nil {
			n, err := syscall.Pread(fd, make([]byte, 8), 0)
			syscall.Close(fd)
			if err == nil && n > 0 || errors.Is(err, syscall.EOPNOTSUPP) {
				return true // threads of processes that belong to a group above
			}
		}
	}
	return false
}

var populatedOne = []byte("populated 1")

func join(path, name string) string {
	if path == "/" {
		return path + name
	}
	return path + "/" + name
}

// parentPath returns the path of the group above; "" for the root.
func parentPath(path string) string {
	i := strings.LastIndexByte(path, '/')
	switch {
	case path == "/":
		return ""
	case i <= 0:
		return "/"
	}
	return path[:i]
}
