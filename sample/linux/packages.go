package linux

import (
	"path/filepath"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// packages reads how much energy the processor packages used, from /sys/class/powercap. Since the
// counters can tell one program what another one computes, only root may read them.
type packages struct {
	root  string
	group *metric.Group
	zones []zone
}

// zone is a counter: a package's, a part of a package's, or the platform's. The kernel's count
// goes up to most and then begins again, after an hour or less.
type zone struct {
	in     metric.Instance
	energy *file
	most   uint64 // in microjoules
	count
}

// count makes one long count of what a zone shows.
type count struct {
	last, base uint64 // microjoules
	awake      int64  // when last was read
	read       bool
}

// mostWatts is more than a package uses. A count that could have begun again only with more has
// been cleared, as it is while the machine sleeps.
const mostWatts = 2000

const raplPrefix = "intel-rapl:"

func newPackages(root string) (*packages, error) {
	p := &packages{root: root}
	return p, p.Refresh()
}

func (p *packages) Name() string            { return "package" }
func (p *packages) Groups() []*metric.Group { return []*metric.Group{p.group} }

func (p *packages) Close() error {
	for i := range p.zones {
		p.zones[i].energy.close()
	}
	return nil
}

func (p *packages) Refresh() error {
	p.Close()
	p.group = catalog.Group(catalog.Linux, "package", "power.package.energy")
	known := make(map[string]count)
	for i := range p.zones {
		known[p.zones[i].in.Key] = p.zones[i].count
	}
	p.zones = nil
	names := make(map[string]string)
	dirs, _ := filepath.Glob(p.root + "/sys/class/powercap/" + raplPrefix + "*")
	for _, dir := range dirs { // in order: packages before their parts
		key := strings.TrimPrefix(filepath.Base(dir), raplPrefix)
		name := firstLine(dir + "/name")
		if above, _, ok := cutLast(key); ok && names[above] != "" {
			name = names[above] + " " + name
		}
		names[key] = name
		z := zone{in: metric.Instance{ID: uint64(len(p.zones) + 1), Key: key, Name: name}, energy: newFile(dir + "/energy_uj"), count: known[key]}
		if n, ok := integer([]byte(firstLine(dir + "/max_energy_range_uj"))); ok && n > 0 {
			z.most = uint64(n)
		}
		p.zones = append(p.zones, z)
	}
	if len(p.zones) == 0 {
		p.group.Metrics[0].Unsupported = "no driver of this machine tells of the energy of its processor packages"
	}
	return nil
}

// cutLast cuts the number of a part from the key of a zone.
func cutLast(key string) (above, part string, ok bool) {
	i := strings.LastIndexByte(key, ':')
	if i < 0 {
		return key, "", false
	}
	return key[:i], key[i+1:], true
}

// other reports whether the zones have changed.
func (p *packages) other(fresh sample.Source) bool {
	now := fresh.(*packages).zones
	if len(now) != len(p.zones) {
		return true
	}
	for i := range now {
		if now[i].in.Key != p.zones[i].in.Key || now[i].in.Name != p.zones[i].in.Name {
			return true
		}
	}
	return false
}

func (p *packages) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
		for i := range p.zones {
			z := &p.zones[i]
			row := f.Row(&z.in)
			data, err := z.energy.read()
			w, _ := word(data)
			if n, ok := integer(w); err != nil || !ok || n < 0 {
				f.SetMissing(row, 0, why(err))
			} else {
				f.SetUint(row, 0, z.add(uint64(n), at.Awake, z.most)*1000)
			}
		}
	}
	return nil
}

// add returns the long count in microjoules once the zone shows n.
func (c *count) add(n uint64, awake int64, most uint64) uint64 {
	if c.read && n < c.last {
		seconds := uint64(max(awake-c.awake, 0)/1e9) + 1
		if over := most - min(most, c.last) + n; most > c.last && over <= seconds*mostWatts*1e6 {
			c.base += most
		} else {
			c.base += c.last
		}
	}
	c.last, c.awake, c.read = n, awake, true
	return c.base + n
}
