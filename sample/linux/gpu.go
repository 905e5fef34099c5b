package linux

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// gpus reads what graphics drivers report in /sys/class/drm. Drivers outside the kernel's tree
// report through libraries of their own and are not read.
type gpus struct {
	root  string
	group *metric.Group
	count *metric.Group
	cards []gpu

	events  events
	started bool
	came    []metric.Instance // since the last reading
	went    []metric.Instance
}

type gpu struct {
	in    metric.Instance
	files [3]*file // busy, used, total
}

// Columns of the group.
const (
	gpuUtil = iota
	gpuUsed
	gpuFree
)

// gpuTotal is the index of the file that gpuFree needs besides gpuUsed's.
const gpuTotal = 2

func newGPUs(root string) (*gpus, error) {
	g := &gpus{root: root, events: events{kind: metric.EventDevice, indom: "gpu"}}
	return g, g.Refresh()
}

func (g *gpus) Name() string            { return "gpu" }
func (g *gpus) Groups() []*metric.Group { return []*metric.Group{g.group, g.count} }

func (g *gpus) Close() error {
	for i := range g.cards {
		for _, f := range g.cards[i].files {
			if f != nil {
				f.close()
			}
		}
	}
	return nil
}

func (g *gpus) Refresh() error {
	g.Close()
	g.group = catalog.Group(catalog.Linux, "gpu", "gpu.util", "gpu.memory.used", "gpu.memory.free")
	g.count = catalog.Group(catalog.Linux, "gpu total", "hinv.ngpu")
	before := g.cards
	g.cards = nil
	dirs, _ := filepath.Glob(g.root + "/sys/class/drm/card[0-9]*")
	for _, dir := range dirs {
		name := filepath.Base(dir)
		if strings.Contains(name, "-") {
			continue // a connector of the card
		}
		if _, err := os.Stat(dir + "/device"); err != nil {
			continue
		}
		c := gpu{in: metric.Instance{ID: uint64(len(g.cards) + 1), Key: name, Name: name}}
		for i, file := range [...]string{"gpu_busy_percent", "mem_info_vram_used", "mem_info_vram_total"} {
			c.files[i] = try(dir + "/device/" + file)
		}
		if driver, err := os.Readlink(dir + "/device/driver"); err == nil {
			c.in.Labels = []metric.Label{{Name: "driver", Value: driver[lastSlash(driver)+1:]}}
		}
		g.cards = append(g.cards, c)
	}
	g.came = append(g.came, missingFrom(g.cards, before)...)
	g.went = append(g.went, missingFrom(before, g.cards)...)
	for i, d := range g.group.Metrics {
		has := false
		for _, c := range g.cards {
			has = has || c.files[min(i, gpuUsed)] != nil && c.files[i] != nil
		}
		if !has {
			d.Unsupported = "no graphics driver of this machine tells"
		}
	}
	return nil
}

// missingFrom returns the cards of a that are not in b.
func missingFrom(a, b []gpu) (ins []metric.Instance) {
	for i := range a {
		if !slices.ContainsFunc(b, func(c gpu) bool { return c.in.Key == a[i].in.Key }) {
			ins = append(ins, a[i].in)
		}
	}
	return ins
}

// other reports whether the cards have changed.
func (g *gpus) other(fresh sample.Source) bool {
	now := fresh.(*gpus).cards
	return len(missingFrom(now, g.cards)) > 0 || len(missingFrom(g.cards, now)) > 0
}

func (g *gpus) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	for i := range g.came {
		g.events.came(c, g.started, &g.came[i], "graphics card "+g.came[i].Name+" appeared")
	}
	for i := range g.went {
		g.events.went(c, &g.went[i], "graphics card "+g.went[i].Name+" went away")
	}
	g.came, g.went, g.started = nil, nil, true
	for _, f := range frames {
		f.Reset(at)
		if f.Full() == g.count {
			f.SetUint(f.Row(nil), 0, uint64(len(g.cards)))
			continue
		}
		for i := range g.cards {
			card := &g.cards[i]
			row := f.Row(&card.in)
			busy, okBusy := card.number(gpuUtil)
			used, okUsed := card.number(gpuUsed)
			total, okTotal := card.number(gpuTotal)
			if okBusy {
				f.SetUint(row, gpuUtil, busy)
			}
			if okUsed {
				f.SetUint(row, gpuUsed, used)
			}
			if okUsed && okTotal {
				f.SetUint(row, gpuFree, total-min(used, total))
			}
			f.MissRow(row, metric.Unsupported)
		}
	}
	return nil
}

func (c *gpu) number(i int) (uint64, bool) {
	if c.files[i] == nil {
		return 0, false
	}
	data, err := c.files[i].read()
	if err != nil {
		return 0, false
	}
	w, _ := word(data)
	return unsigned(w)
}
