package linux

import (
	"bytes"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// cpuinfo reads /proc/cpuinfo, which has one paragraph per processor, and the list of processors
// that are online.
type cpuinfo struct {
	root   string
	file   *file
	online *file
	group  *metric.Group
	cpus   roster[cpuTexts]
	key    []byte
}

type cpuTexts struct{ vendor, model string }

// Columns of the group.
const (
	cpuClock = iota
	cpuVendor
	cpuModel
	cpuCache
	cpuOnline
)

// cpuKeys are the names in /proc/cpuinfo.
var cpuKeys = [...]string{"cpu MHz", "vendor_id", "model name", "cache size"}

// cpuParagraph is one processor's paragraph.
type cpuParagraph struct {
	id     uint64
	values [len(cpuKeys)][]byte
}

func newCPUInfo(root string) (*cpuinfo, error) {
	c := &cpuinfo{root: root, file: newFile(root + "/proc/cpuinfo"), online: newFile(root + "/sys/devices/system/cpu/online")}
	return c, c.Refresh()
}

func (c *cpuinfo) Name() string            { return "cpuinfo" }
func (c *cpuinfo) Groups() []*metric.Group { return []*metric.Group{c.group} }
func (c *cpuinfo) Close() error            { c.file.close(); c.online.close(); return nil }

func (c *cpuinfo) Refresh() error {
	c.group = catalog.Group(catalog.Linux, "cpuinfo", "hinv.cpu.clock", "hinv.cpu.vendor", "hinv.cpu.model_name",
		"hinv.cpu.cache", "hinv.cpu.online")
	data, err := c.file.read()
	p, _, _ := nextCPU(data)
	for i, key := range cpuKeys {
		switch {
		case err != nil:
			c.group.Metrics[i].Unsupported = lacking("/proc/cpuinfo", err)
		case p.values[i] == nil:
			c.group.Metrics[i].Unsupported = "this kernel's /proc/cpuinfo has no " + key
		}
	}
	if _, err := c.online.read(); err != nil {
		c.group.Metrics[cpuOnline].Unsupported = lacking("/sys/devices/system/cpu/online", err)
	}
	return nil
}

// nextCPU reads the paragraph of the next processor; rest is nil after the last.
func nextCPU(data []byte) (p cpuParagraph, rest []byte, found bool) {
	for len(data) > 0 {
		l, after := line(data)
		key, value, _ := bytes.Cut(l, colon)
		key, value = bytes.TrimSpace(key), bytes.TrimSpace(value)
		if string(key) == "processor" {
			if found {
				return p, data, true // the next paragraph begins
			}
			p.id, found = unsigned(value)
		}
		if found {
			for i, k := range cpuKeys {
				if string(key) == k {
					p.values[i] = value
				}
			}
		}
		data = after
	}
	return p, nil, found
}

var colon = []byte{':'}

// inList reports whether n is in a list of numbers and ranges: "0-3,8".
func inList(list []byte, n uint64) bool {
	for len(list) > 0 {
		var part []byte
		part, list, _ = bytes.Cut(list, comma)
		from, to, isRange := bytes.Cut(bytes.TrimSpace(part), hyphen)
		first, ok := unsigned(from)
		last := first
		if ok && isRange {
			last, ok = unsigned(to)
		}
		if ok && first <= n && n <= last {
			return true
		}
	}
	return false
}

var hyphen = []byte{'-'}

func (c *cpuinfo) Read(ctx *sample.Context, frames []*sample.Frame) error {
	data, err := c.file.read()
	if err != nil {
		return err
	}
	online, onlineErr := c.online.read()
	at := ctx.Now()
	for _, f := range frames {
		f.Reset(at)
	}
	c.cpus.begin()
	for data != nil {
		var p cpuParagraph
		var ok bool
		if p, data, ok = nextCPU(data); !ok {
			break
		}
		c.key = appendCPU(c.key[:0], p.id)
		m := c.cpus.see(c.key)
		m.in.ID = p.id + 1
		if m.first {
			m.data = cpuTexts{string(p.values[cpuVendor]), string(p.values[cpuModel])}
			m.in.Labels = cpuLabels(c.root, m.in.Name)
		}
		for _, f := range frames {
			c.fill(f, m, &p, online, onlineErr)
		}
	}
	c.cpus.end(nil)
	return nil
}

func (c *cpuinfo) fill(f *sample.Frame, m *member[cpuTexts], p *cpuParagraph, online []byte, onlineErr error) {
	row := f.Row(&m.in)
	if v, ok := decimal(p.values[cpuClock]); ok {
		f.SetFloat(row, cpuClock, v)
	}
	f.SetString(row, cpuVendor, m.data.vendor)
	f.SetString(row, cpuModel, m.data.model)
	w, unit := word(p.values[cpuCache])
	if v, ok := unsigned(w); ok && strings.TrimSpace(string(unit)) == "KB" {
		f.SetUint(row, cpuCache, v)
	}
	switch {
	case onlineErr != nil:
		f.SetMissing(row, cpuOnline, why(onlineErr))
	case inList(online, p.id):
		f.SetUint(row, cpuOnline, 1)
	default:
		f.SetUint(row, cpuOnline, 0)
	}
}
