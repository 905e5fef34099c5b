package darwin

import (
	"strconv"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

const (
	colGPUUtil = iota
	colGPUUsed
	colGPUFree
)

var accelerator = sys.NewClass("IOAccelerator")

// sharedMemory is why a GPU has no free memory of its own.
const sharedMemory = "the GPU has no memory of its own: it shares the machine's"

// gpuSource reads the accelerators' own statistics.
type gpuSource struct {
	group, number *metric.Group

	statistics, vram  *sys.Key
	util, activity    *sys.Key
	vramUsed, unified *sys.Key

	known map[uint64]*gpu // by registry ID
	round uint64
}

type gpu struct {
	in   metric.Instance
	seen uint64
}

func newGPUSource() *gpuSource {
	return &gpuSource{
		known: make(map[uint64]*gpu), statistics: sys.NewKey("PerformanceStatistics"), vram: sys.NewKey("VRAM,totalMB"),
		util: sys.NewKey("Device Utilization %"), activity: sys.NewKey("GPU Activity(%)"),
		vramUsed: sys.NewKey("vramUsedBytes"), unified: sys.NewKey("In use system memory"),
	}
}

func (s *gpuSource) Name() string            { return "gpu" }
func (s *gpuSource) Groups() []*metric.Group { return []*metric.Group{s.group, s.number} }

func (s *gpuSource) Close() error {
	for _, k := range []*sys.Key{s.statistics, s.vram, s.util, s.activity, s.vramUsed, s.unified} {
		k.Release()
	}
	return nil
}

func (s *gpuSource) Refresh() error {
	s.group = catalog.Group(catalog.Darwin, "gpu", "gpu.util", "gpu.memory.used", "gpu.memory.free")
	s.number = catalog.Group(catalog.Darwin, "ngpu", "hinv.ngpu")
	n, own := 0, false
	err := sys.Services(accelerator, func(x sys.Service) bool {
		n++
		stats := x.Property(s.statistics)
		own = own || stats.Get(s.vramUsed).Exists()
		stats.Release()
		return false
	})
	switch {
	case err != nil:
		unsupported(s.group, err.Error())
	case n == 0:
		unsupported(s.group, "this Mac has no GPU that tells of itself")
	case !own:
		s.group.Metrics[colGPUFree].Unsupported = sharedMemory
	}
	return nil
}

func (s *gpuSource) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
	}
	each := frameOf(frames, s.group)
	n := 0
	first := s.round == 0
	s.round++
	err := sys.Services(accelerator, func(x sys.Service) bool {
		if in := s.meet(c, at, x, first); in != nil && each != nil {
			s.fill(each, each.Row(in), x)
		}
		n++
		return false
	})
	if err != nil {
		return err
	}
	for id, g := range s.known {
		if g.seen != s.round {
			delete(s.known, id)
			c.Emit(metric.Event{At: at, Kind: metric.EventDevice, Text: "graphics processor " + g.in.Name + " went away", Indom: "gpu", Key: g.in.Key, Labels: g.in.Labels})
		}
	}
	if f := frameOf(frames, s.number); f != nil {
		f.SetUint(f.Row(nil), 0, uint64(n))
	}
	return nil
}

// meet finds the instance of an accelerator, or makes it: with the lowest
// number that none has, for one may have gone while others stay.
func (s *gpuSource) meet(c *sample.Context, at metric.Stamp, x sys.Service, first bool) *metric.Instance {
	id, err := x.ID()
	if err != nil {
		return nil
	}
	g := s.known[id]
	if g == nil {
		n := uint64(0)
		for s.has(n) {
			n++
		}
		name := "gpu" + strconv.FormatUint(n, 10)
		model, _ := x.Name()
		g = &gpu{in: metric.Instance{ID: n, Key: name, Name: name, Labels: []metric.Label{{Name: "model", Value: model}}}}
		s.known[id] = g
		if !first {
			c.Emit(metric.Event{At: at, Kind: metric.EventDevice, Text: "graphics processor " + name + " appeared", Indom: "gpu", Key: name, Labels: g.in.Labels})
		}
	}
	g.seen = s.round
	return &g.in
}

// has reports whether a graphics processor that is still there has a number.
func (s *gpuSource) has(n uint64) bool {
	for _, g := range s.known {
		if g.in.ID == n && g.seen+1 >= s.round {
			return true
		}
	}
	return false
}

func (s *gpuSource) fill(f *sample.Frame, row int, x sys.Service) {
	stats := x.Property(s.statistics)
	defer stats.Release()
	util := stats.Get(s.util)
	if !util.Exists() {
		util = stats.Get(s.activity)
	}
	setInt(f, row, colGPUUtil, util)
	used, ok := stats.Get(s.vramUsed).Int()
	if !ok {
		// Apple silicon: what the GPU uses of the machine's memory.
		setInt(f, row, colGPUUsed, stats.Get(s.unified))
		f.SetMissing(row, colGPUFree, metric.ReasonFor(sharedMemory))
		return
	}
	f.SetInt(row, colGPUUsed, used)
	if !f.Wants(colGPUFree) {
		return
	}
	// On Intel Macs the size stands at the card that the accelerator is on.
	total := x.FindProperty(s.vram)
	if mb, ok := total.Int(); ok && mb<<20 >= used {
		f.SetInt(row, colGPUFree, mb<<20-used)
	} else {
		f.SetMissing(row, colGPUFree, metric.Unsupported)
	}
	total.Release()
}
