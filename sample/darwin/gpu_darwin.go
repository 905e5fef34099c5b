package darwin

import (
	"slices"
	"strconv"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

var accelerator = sys.NewClass("IOAccelerator")

// gpuSource reads the accelerators' own statistics.
type gpuSource struct {
	rows   *rows.Table
	number *metric.Group

	registry *registry
	vram     *sys.Key
	own      bool // the accelerator has its own memory

	known map[uint64]*gpu // by registry ID
	round uint64
}

type gpu struct {
	in   metric.Instance
	seen uint64
}

func newGPUSource() *gpuSource {
	return &gpuSource{known: make(map[uint64]*gpu), registry: newRegistry(gpuRows().Leaves, cardMemory), vram: sys.NewKey("VRAM,totalMB")}
}

func (s *gpuSource) Name() string            { return "gpu" }
func (s *gpuSource) Groups() []*metric.Group { return []*metric.Group{s.rows.Group, s.number} }

func (s *gpuSource) Close() error {
	s.registry.close()
	s.vram.Release()
	return nil
}

func (s *gpuSource) Refresh() error {
	s.rows = gpuRows()
	s.number = catalog.Group(catalog.Darwin, "ngpu", "hinv.ngpu")
	n, own := 0, false
	err := sys.Services(accelerator, func(x sys.Service) bool {
		n++
		s.registry.ask(x)
		own = own || s.ownMemory()
		s.registry.done()
		return false
	})
	switch {
	case err != nil:
		unsupported(s.rows.Group, err.Error())
	case n == 0:
		unsupported(s.rows.Group, "this Mac has no GPU that tells of itself")
	case !own:
		s.rows.Lack(sharedMemory, ofCard)
	}
	return nil
}

func (s *gpuSource) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
	}
	each := frameOf(frames, s.rows.Group)
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

// meet returns the instance of an accelerator, making it if necessary. A new one gets the lowest
// free number, because one may have gone while others stay.
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

// has reports whether an existing graphics processor has number n.
func (s *gpuSource) has(n uint64) bool {
	for _, g := range s.known {
		if g.in.ID == n && g.seen+1 >= s.round {
			return true
		}
	}
	return false
}

func (s *gpuSource) fill(f *sample.Frame, row int, x sys.Service) {
	s.registry.ask(x)
	defer s.registry.done()
	s.own = s.ownMemory()
	s.rows.Fill(f, row, 0, s)
}

// ownMemory reports whether the accelerator has its own memory. Those of Apple silicon do not.
func (s *gpuSource) ownMemory() bool {
	i := slices.IndexFunc(s.rows.Leaves, func(l rows.Leaf) bool { return l.Word == "vramUsedBytes" })
	return s.registry.Leaf(i).Miss == metric.Present
}

// Leaf is an entry of the statistics, or on Intel Macs the size of the memory, which is a
// property of the accelerator's card.
func (s *gpuSource) Leaf(i int) rows.Value {
	if !ofCard(&s.rows.Leaves[i]) {
		return s.registry.Leaf(i)
	}
	if !s.own {
		return rows.Value{Miss: whySharedMemory}
	}
	v := s.registry.service.FindProperty(s.vram)
	defer v.Release()
	return numberOf(v)
}
