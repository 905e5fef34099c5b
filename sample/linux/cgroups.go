package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/owner"
)

// cgroups reads the use and the limits of control groups. Version 2 has all files of a group in
// one directory; version 1 has a tree of directories for each kind of resource, and the trees
// need not have the same groups. Where version 2 is used beside version 1, it has a tree of its
// own.
type cgroups struct {
	root    string
	two     bool // there is version 2 only
	group   *metric.Group
	devices *metric.Group
	total   *metric.Group
	counter []bool   // by column
	trees   []string // root directories; their groups may differ
	places  []groupPlace
	groups  roster[cgroup]
	walked  int64 // continuous clock
	some    bool  // there are more groups than mostGroups
	buf     []byte

	// Of the walk.
	dirs    []map[string]*groupDir // by tree and path
	found   []foundGroup
	foundAt map[string]int
	round   uint64
	names   *owner.Names

	deviceNames map[string]string
	lastDevice  uint64
	reading     uint64 // counts the calls of Read
	next        [metric.NumClasses]int

	past      map[string]*pastGroup
	pastOrder []*pastGroup
	watching  groupsWatch
	statFile  *file
}

// cgroup is the state of one control group.
type cgroup struct {
	path       string
	parent     *member[cgroup]
	there      uint64      // the places whose files it has, as bits
	files      []groupFile // by place
	gone       bool        // none of the files exists
	values     []groupValue
	base       []uint64 // what the counters begin with, see cgroup_run.go; nil for zeroes
	baseIfSame []uint64
	devices    []*groupDevice
	devicesWhy metric.Reason // there are no numbers of devices

	tree    int // in which its directory has the number ino
	ino     uint64
	runs    uint64
	renewed bool // some of its files may be of a new run
	owned   ownedGroup
	watch   groupWatch
}

// groupsEvery is how often the directories are searched for new groups.
const groupsEvery = 10 * time.Second

var manyGroups = fmt.Sprintf("there are more than %d control groups: those with processes of their own are read first", mostGroups)

func newCgroups(root string) (*cgroups, error) {
	g := &cgroups{root: root, deviceNames: make(map[string]string)}
	base := root + "/sys/fs/cgroup"
	_, err := os.Stat(base + "/cgroup.controllers")
	g.two = err == nil
	for col, c := range groupColumns {
		from := c.two
		if !g.two {
			from = c.one
		}
		if from.file == "" {
			continue
		}
		from.mul, from.div = max(1, from.mul), max(1, from.div)
		p := g.place(base, from.tree, from.file)
		p.cols, p.from = append(p.cols, col), append(p.from, from)
	}
	for _, f := range groupDeviceFiles {
		if f.one != g.two {
			p := g.place(base, f.tree, f.name)
			p.devices, p.words, p.held = true, f.words, true
		}
	}
	stat := base + "/cgroup.stat"
	if !g.two {
		stat = base + "/unified/cgroup.stat"
	}
	g.statFile = newFile(stat)
	err = g.Refresh()
	for i := range g.places {
		for _, col := range g.places[i].cols {
			g.places[i].held = g.places[i].held || g.group.Metrics[col].Class == metric.Process
		}
	}
	return g, err
}

// place returns the place of a file.
func (g *cgroups) place(base, tree, name string) *groupPlace {
	if tree != "" {
		base += "/" + tree
	}
	t := 0
	for t < len(g.trees) && g.trees[t] != base {
		t++
	}
	if t == len(g.trees) {
		g.trees, g.dirs = append(g.trees, base), append(g.dirs, make(map[string]*groupDir))
	}
	for i := range g.places {
		if p := &g.places[i]; p.tree == t && p.name == name {
			return p
		}
	}
	g.places = append(g.places, groupPlace{tree: t, name: name, resource: resourceOf(name)})
	return &g.places[len(g.places)-1]
}

func (g *cgroups) Name() string { return "cgroup" }

func (g *cgroups) Groups() []*metric.Group { return []*metric.Group{g.group, g.devices, g.total} }

func (g *cgroups) Close() error {
	for _, m := range g.groups.live {
		m.data.close()
	}
	g.statFile.close()
	return nil
}

func (d *cgroup) close() {
	for i := range d.files {
		d.files[i].close()
	}
}

var groupTotals = [...]struct{ metric, key string }{
	{"cgroup.descendants", "nr_descendants"}, {"cgroup.dying_descendants", "nr_dying_descendants"},
}

func (g *cgroups) Refresh() error {
	var names, devices, totals []string
	for _, c := range groupColumns {
		names = append(names, c.metric)
	}
	for _, f := range groupDeviceFields {
		devices = append(devices, "cgroup.io.stat."+f)
	}
	for _, t := range groupTotals {
		totals = append(totals, t.metric)
	}
	g.group = catalog.Group(catalog.Linux, "cgroup", append(names, "cgroup.io.read_bytes", "cgroup.io.write_bytes", "cgroup.runs")...)
	g.devices = catalog.Group(catalog.Linux, "cgroup devices", devices...)
	g.total = catalog.Group(catalog.Linux, "cgroup total", totals...)
	g.counter = g.counter[:0]
	for _, d := range g.group.Metrics {
		g.counter = append(g.counter, d.Sem == metric.Counter)
	}
	g.walked = 0
	for t := range g.dirs {
		for _, dir := range g.dirs[t] {
			dir.stale = true
		}
	}
	g.names = nil
	g.mark()
	return nil
}

// mark says in the groups what this machine lacks.
func (g *cgroups) mark() {
	has := make([]bool, len(groupColumns))
	lacks := func(ds []*metric.Desc, why string) {
		for _, d := range ds {
			d.Unsupported = why
		}
	}
	if _, err := os.Stat(g.root + "/sys/fs/cgroup"); err != nil {
		lacks(g.group.Metrics, lacking("/sys/fs/cgroup", err))
	}
	for _, p := range g.places {
		_, err := os.Stat(g.trees[p.tree])
		shown := strings.TrimPrefix(g.trees[p.tree], g.root)
		for _, col := range p.cols {
			if has[col] = true; err != nil {
				g.group.Metrics[col].Unsupported = lacking(shown, err)
			}
		}
		if p.devices && err != nil {
			lacks(g.devices.Metrics, lacking(shown, err))
			lacks(g.group.Metrics[groupReadBytes:groupWriteBytes+1], lacking(shown, err))
		}
	}
	for col, has := range has {
		if !has {
			g.group.Metrics[col].Unsupported = "version 1 of control groups has no such number"
		}
	}
	if _, err := g.statFile.read(); err != nil {
		lacks(g.total.Metrics, lacking(strings.TrimPrefix(g.statFile.path, g.root), err))
	}
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
	var wanted uint64
	rows := false
	for _, f := range frames {
		f.Reset(at)
		switch f.Full() {
		case g.total:
			g.readTotals(f)
		default:
			rows = true
			wanted |= g.wants(f)
		}
	}
	if !rows {
		return nil
	}
	g.reading++
	g.watching.begin(c, at)
	if g.walked == 0 || at.Cont-g.walked >= int64(groupsEvery) || at.Cont < g.walked {
		if g.names == nil {
			g.names = owner.NewNames(g.root)
		}
		g.walk(at)
		g.walked = max(at.Cont, 1)
		g.watching.started = true
	}
	n, all := 0, len(g.groups.live)
	first := min(g.next[c.Class], max(all-1, 0))
	for ; n < all; n++ {
		if n%64 == 63 && c.Late() {
			break
		}
		m := g.groups.live[(first+n)%all]
		g.readGroup(m, wanted)
		if m.data.gone {
			g.walked = 0
			continue
		}
		for _, f := range frames {
			switch f.Full() {
			case g.group:
				g.fill(f, m)
			case g.devices:
				g.fillDevices(f, m)
			}
		}
	}
	if g.next[c.Class] = 0; n < all {
		g.next[c.Class] = (first + n) % all
		c.Partly(n, all)
	} else {
		g.watch()
	}
	return nil
}

// wants returns the places, as bits, that have what a frame asks for.
func (g *cgroups) wants(f *sample.Frame) (bits uint64) {
	for i := range g.places {
		p := &g.places[i]
		switch {
		case f.Full() == g.group && (f.Wants(p.cols...) || p.devices && f.Wants(groupReadBytes, groupWriteBytes)),
			f.Full() == g.devices && p.devices:
			bits |= 1 << i
		}
	}
	return bits
}

// readGroup reads the files of a group at the wanted places.
func (g *cgroups) readGroup(m *member[cgroup], wanted uint64) {
	d := &m.data
	tried, gone := false, true
	for i := range g.places {
		if wanted&(1<<i) == 0 {
			continue
		}
		p := &g.places[i]
		data, err := g.read(d, i)
		if d.there&(1<<i) != 0 {
			tried = true
			gone = gone && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV))
		}
		if err != nil {
			reason := why(err)
			if errors.Is(err, fs.ErrNotExist) {
				reason = g.lacks(d, p)
			}
			if p.devices {
				d.devicesWhy = reason
			}
			for _, col := range p.cols {
				d.values[col] = groupValue{why: reason}
			}
			continue
		}
		if p.devices {
			d.devicesWhy = metric.Present
			g.readDevices(m, data, p.words)
			continue
		}
		p.parse(data, d.values, g.lacksKey(d, p))
		for _, col := range p.cols {
			if d.base != nil && g.counter[col] && d.values[col].why == metric.Present {
				d.values[col].v += d.base[col]
			}
		}
	}
	d.gone = tried && gone
	if d.renewed && !d.gone {
		g.identifyAgain(m)
	}
}

// lacks returns why a group does not have the file of a place.
func (g *cgroups) lacks(d *cgroup, p *groupPlace) metric.Reason {
	switch {
	case strings.HasSuffix(p.name, ".pressure"):
		return noPressure
	case !g.two:
		return noController
	case d.path == "/":
		return ofRoot
	case p.resource != "" && !g.enabled(d, p.resource):
		return notEnabled[p.resource]
	}
	return tooOld
}

// lacksKey returns why the file of a place does not have a number that it has elsewhere.
func (g *cgroups) lacksKey(d *cgroup, p *groupPlace) metric.Reason {
	switch {
	case !g.two || p.name != "cpu.stat":
		return metric.Unsupported
	case d.path == "/":
		return ofRoot
	case !g.enabled(d, "cpu"):
		return notEnabled["cpu"]
	}
	return tooOld
}

// enabled reports whether a group has a file that a controller makes.
func (g *cgroups) enabled(d *cgroup, resource string) bool {
	for i := range g.places {
		if g.places[i].resource == resource && d.there&(1<<i) != 0 {
			return true
		}
	}
	return false
}

// fill adds the row of a group.
func (g *cgroups) fill(f *sample.Frame, m *member[cgroup]) {
	d := &m.data
	row := f.Row(&m.in)
	for col := range d.values {
		if v := &d.values[col]; v.why != metric.Present {
			f.SetMissing(row, col, v.why)
		} else {
			f.SetUint(row, col, v.v)
		}
	}
	g.fillDeviceSums(f, row, d)
	f.SetUint(row, groupRuns, d.runs)
}

// readTotals reads how many groups there are.
func (g *cgroups) readTotals(f *sample.Frame) {
	data, err := g.statFile.read()
	row := f.Row(nil)
	for i := range groupTotals {
		f.SetMissing(row, i, why(err))
	}
	for len(data) > 0 && err == nil {
		var l []byte
		l, data = line(data)
		key, l := word(l)
		w, _ := word(l)
		for i, t := range groupTotals {
			if v, ok := unsigned(w); ok && string(key) == t.key {
				f.SetUint(row, i, v)
			}
		}
	}
}
