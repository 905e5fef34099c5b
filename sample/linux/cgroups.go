package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// cgroups reads the use and the limits of control groups. Version 2 has all files of a group in
// one directory; version 1 has a tree of directories for each kind of resource, and the trees
// need not have the same groups.
type cgroups struct {
	root   string
	group  *metric.Group
	trees  []string // root directories; their groups may differ
	places []groupPlace
	groups roster[cgroup]
	walked int64 // continuous clock
	some   bool  // there are more groups than mostGroups
}

// cgroup is the state of one control group.
type cgroup struct {
	files  []*file // one per place
	there  []bool  // per place: the last walk found the file
	gone   bool    // none of the files exists
	values [len(groupColumns)]groupValue
}

type groupValue struct {
	v   uint64
	why metric.Reason
}

// groupColumn says where a metric is in each version.
type groupColumn struct {
	metric   string
	two, one groupSource
}

// groupSource locates a number in a file of a group: after key at the start of a line or,
// without a key, the word with this number in the first line. It is multiplied by mul and
// divided by div.
type groupSource struct {
	tree, file, key string // tree is the kind of resource, in version 1
	word            int
	mul, div        uint64
}

var groupColumns = [...]groupColumn{
	{"cgroup.cpu.stat.usage", groupSource{file: "cpu.stat", key: "usage_usec"}, groupSource{tree: "cpuacct", file: "cpuacct.usage", div: 1000}},
	{"cgroup.cpu.stat.user", groupSource{file: "cpu.stat", key: "user_usec"}, groupSource{tree: "cpuacct", file: "cpuacct.stat", key: "user", mul: 10_000}},
	{"cgroup.cpu.stat.system", groupSource{file: "cpu.stat", key: "system_usec"}, groupSource{tree: "cpuacct", file: "cpuacct.stat", key: "system", mul: 10_000}},
	{"cgroup.cpusched.periods", groupSource{file: "cpu.stat", key: "nr_periods"}, groupSource{tree: "cpu", file: "cpu.stat", key: "nr_periods"}},
	{"cgroup.cpusched.throttled", groupSource{file: "cpu.stat", key: "nr_throttled"}, groupSource{tree: "cpu", file: "cpu.stat", key: "nr_throttled"}},
	{"cgroup.cpusched.throttled_time", groupSource{file: "cpu.stat", key: "throttled_usec", mul: 1000}, groupSource{tree: "cpu", file: "cpu.stat", key: "throttled_time"}},
	{"cgroup.cpusched.cfs_quota", groupSource{file: "cpu.max"}, groupSource{tree: "cpu", file: "cpu.cfs_quota_us"}},
	{"cgroup.cpusched.cfs_period", groupSource{file: "cpu.max", word: 1}, groupSource{tree: "cpu", file: "cpu.cfs_period_us"}},
	{"cgroup.memory.current", groupSource{file: "memory.current"}, groupSource{tree: "memory", file: "memory.usage_in_bytes"}},
	{"cgroup.memory.limit", groupSource{file: "memory.max"}, groupSource{tree: "memory", file: "memory.limit_in_bytes"}},
	{"cgroup.memory.oom_kill", groupSource{file: "memory.events", key: "oom_kill"}, groupSource{tree: "memory", file: "memory.oom_control", key: "oom_kill"}},
	{"cgroup.tasks", groupSource{file: "pids.current"}, groupSource{tree: "pids", file: "pids.current"}},
}

// groupPlace is a file that each group has, with the metrics read from it.
type groupPlace struct {
	tree, name string
	cols       []int
	from       []groupSource
}

const (
	// groupsEvery is how often the directories are searched for new groups.
	groupsEvery = 10 * time.Second
	// mostGroups is how many groups are read: those nearest to the root.
	mostGroups = 2000
	// boundless is the smallest number by which version 1 means no memory limit: it shows the
	// largest multiple of the page size.
	boundless = 1<<63 - 1<<20
)

var (
	noController = metric.ReasonFor("this control group has no such controller")
	noLimit      = metric.ReasonFor("no limit is set")
	manyGroups   = fmt.Sprintf("there are more than %d control groups: those nearest to the root are read", mostGroups)
)

func newCgroups(root string) (*cgroups, error) {
	g := &cgroups{root: root}
	base := root + "/sys/fs/cgroup"
	_, err := os.Stat(base + "/cgroup.controllers")
	trees := make(map[string]bool)
	for col, c := range groupColumns {
		from := c.two
		if err != nil {
			from = c.one
		}
		tree := base
		if from.tree != "" {
			tree += "/" + from.tree
		}
		g.place(tree, from, col)
		if !trees[tree] {
			trees[tree] = true
			g.trees = append(g.trees, tree)
		}
	}
	return g, g.Refresh()
}

// place adds a column to its file.
func (g *cgroups) place(tree string, from groupSource, col int) {
	from.mul, from.div = max(1, from.mul), max(1, from.div)
	at := len(g.places)
	for i, p := range g.places {
		if p.tree == tree && p.name == from.file {
			at = i
		}
	}
	if at == len(g.places) {
		g.places = append(g.places, groupPlace{tree: tree, name: from.file})
	}
	p := &g.places[at]
	p.cols, p.from = append(p.cols, col), append(p.from, from)
}

func (g *cgroups) Name() string            { return "cgroup" }
func (g *cgroups) Groups() []*metric.Group { return []*metric.Group{g.group} }

func (g *cgroups) Close() error {
	for _, m := range g.groups.live {
		m.data.close()
	}
	return nil
}

func (d *cgroup) close() {
	for _, f := range d.files {
		f.close()
	}
}

func (g *cgroups) Refresh() error {
	var names []string
	for _, c := range groupColumns {
		names = append(names, c.metric)
	}
	g.group = catalog.Group(catalog.Linux, "cgroup", names...)
	g.walked = 0
	for _, p := range g.places {
		if _, err := os.Stat(p.tree); err != nil {
			for _, col := range p.cols {
				g.group.Metrics[col].Unsupported = lacking(strings.TrimPrefix(p.tree, g.root), err)
			}
		}
	}
	return nil
}

// Notice reports that some groups are not read.
func (g *cgroups) Notice() string {
	if g.some {
		return manyGroups
	}
	return ""
}

func (g *cgroups) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	if g.walked == 0 || at.Cont-g.walked >= int64(groupsEvery) || at.Cont < g.walked {
		g.walk()
		g.walked = max(at.Cont, 1)
	}
	for _, m := range g.groups.live {
		if g.read(&m.data); m.data.gone {
			g.walked = 0
		}
	}
	for _, f := range frames {
		f.Reset(at)
		for _, m := range g.groups.live {
			if m.data.gone {
				continue
			}
			row := f.Row(&m.in)
			for col, v := range m.data.values {
				if v.why != metric.Present {
					f.SetMissing(row, col, v.why)
				} else {
					f.SetUint(row, col, v.v)
				}
			}
		}
	}
	return nil
}

// walk finds the existing groups, from the roots down.
func (g *cgroups) walk() {
	g.groups.begin()
	for _, m := range g.groups.live {
		clear(m.data.there)
	}
	g.some = false
	for _, tree := range g.trees {
		if _, err := os.Stat(tree); err != nil {
			continue
		}
		for level := []string{"/"}; len(level) > 0; {
			var below []string
			for _, path := range level {
				if len(g.groups.live) >= mostGroups && g.groups.members[path] == nil {
					g.some = true
					continue
				}
				d := g.see(path)
				entries, err := os.ReadDir(tree + path)
				if err != nil {
					continue // it is gone
				}
				for _, e := range entries {
					if e.IsDir() {
						below = append(below, join(path, e.Name()))
						continue
					}
					for i := range g.places {
						if p := &g.places[i]; p.tree == tree && p.name == e.Name() {
							d.there[i] = true
						}
					}
				}
			}
			level = below
		}
	}
	g.groups.end(func(m *member[cgroup]) { m.data.close() })
}

func join(path, name string) string {
	if path == "/" {
		return path + name
	}
	return path + "/" + name
}

func (g *cgroups) see(path string) *cgroup {
	d := &g.groups.see([]byte(path)).data
	if d.files == nil {
		for _, p := range g.places {
			d.files = append(d.files, newFile(p.tree+join(path, p.name)))
		}
		d.there = make([]bool, len(g.places))
	}
	return d
}

// read reads the files of a group.
func (g *cgroups) read(d *cgroup) {
	d.gone = true
	for i, p := range g.places {
		var data []byte
		err := fs.ErrNotExist
		if d.there[i] {
			data, err = d.files[i].read()
		}
		d.gone = d.gone && errors.Is(err, fs.ErrNotExist)
		for j, from := range p.from {
			d.values[p.cols[j]] = from.find(data, err)
		}
	}
}

// find finds a value in the content of a file.
func (s *groupSource) find(data []byte, err error) groupValue {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return groupValue{why: noController}
	case err != nil:
		return groupValue{why: why(err)}
	}
	var w []byte
	for len(data) > 0 {
		var l []byte
		l, data = line(data)
		w, l = word(l)
		if s.key == "" {
			for range s.word {
				w, l = word(l)
			}
			break
		}
		if string(w) == s.key {
			w, _ = word(l)
			break
		}
		w = nil
	}
	v, ok := unsigned(w)
	switch {
	case ok && v < boundless:
		return groupValue{v: v * s.mul / s.div}
	case ok, string(w) == "max", string(w) == "-1":
		return groupValue{why: noLimit}
	case len(w) == 0:
		return groupValue{why: metric.Unsupported}
	}
	return groupValue{why: notUnderstood}
}
