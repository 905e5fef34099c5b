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
	known             instances
}

func newGPUSource() *gpuSource {
	return &gpuSource{
		statistics: sys.NewKey("PerformanceStatistics"), vram: sys.NewKey("VRAM,totalMB"),
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
	err := sys.Services(accelerator, func(x sys.Service) bool {
		if each != nil {
			s.gpu(each, x, n)
		}
		n++
		return false
	})
	if err != nil {
		return err
	}
	if f := frameOf(frames, s.number); f != nil {
		f.SetUint(f.Row(nil), 0, uint64(n))
	}
	return nil
}

func (s *gpuSource) gpu(f *sample.Frame, x sys.Service, n int) {
	id, err := x.ID()
	if err != nil {
		return
	}
	in := s.known.find(id, func() (key, name string) {
		name = "gpu" + strconv.Itoa(n)
		return name, name
	})
	if in.Labels == nil {
		model, _ := x.Name()
		in.Labels = []metric.Label{{Name: "model", Value: model}}
	}
	row := f.Row(in)
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
