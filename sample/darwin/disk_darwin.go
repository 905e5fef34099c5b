package darwin

import (
	"slices"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

var (
	blockStorageDriver = sys.NewClass("IOBlockStorageDriver")
	storageMedia       = sys.NewClass("IOMedia")
)

type disk struct {
	in        *metric.Instance
	blockSize uint64
	seen      uint64
	values    []rows.Value // parallel to diskTables.leaves
	prev      []uint64     // of the totals' parts
}

// diskSource reads the statistics of every block storage driver. It lists the drivers again each
// round, because a driver that is gone would go on answering with its last numbers.
type diskSource struct {
	rows   diskTables
	number *metric.Group

	last                          reading
	err                           error
	round                         uint64
	known                         map[uint64]*disk // by registry ID
	order                         []*disk
	one                           diskReading // of the current disk
	total                         []diskTotal
	nextID                        uint64
	registry                      *registry
	bsdName, whole, preferredSize *sys.Key
}

func newDiskSource() *diskSource {
	s := &diskSource{
		known: make(map[uint64]*disk), rows: diskRows(),
		bsdName: sys.NewKey("BSD Name"), whole: sys.NewKey("Whole"), preferredSize: sys.NewKey("Preferred Block Size"),
	}
	s.registry = newRegistry(s.rows.leaves, blockSizeWord)
	s.total = make([]diskTotal, len(s.rows.parts.Group.Metrics))
	return s
}

func (s *diskSource) Name() string { return "disk" }
func (s *diskSource) Groups() []*metric.Group {
	return []*metric.Group{s.rows.each.Group, s.rows.all.Group, s.number}
}

func (s *diskSource) Close() error {
	s.registry.close()
	for _, k := range []*sys.Key{s.bsdName, s.whole, s.preferredSize} {
		k.Release()
	}
	return nil
}

func (s *diskSource) Refresh() error {
	s.rows = diskRows()
	s.number = catalog.Group(catalog.Darwin, "ndisk", "hinv.ndisk")
	s.last = reading{}
	return nil
}

func (s *diskSource) Read(c *sample.Context, frames []*sample.Frame) error {
	if now := c.Now(); s.last.due(now) {
		s.err = s.readAll(c, now)
	}
	if s.err != nil {
		return s.err
	}
	for _, f := range frames {
		f.Reset(s.last.at)
		switch f.Full() {
		case s.rows.each.Group:
			s.one.of = s.rows.ofEach
			for _, d := range s.order {
				s.one.values = d.values
				s.rows.each.Fill(f, f.Row(d.in), 0, &s.one)
			}
		case s.rows.all.Group:
			s.rows.all.Fill(f, f.Row(nil), 0, s)
		case s.number:
			f.SetUint(f.Row(nil), 0, uint64(len(s.order)))
		}
	}
	return nil
}

var whyNoDisk = metric.FailureFor("no disk could be read")

// Leaf is a sum over all disks. A sum from earlier rounds is not a current value.
func (s *diskSource) Leaf(i int) rows.Value {
	switch {
	case s.total[i].now:
		return rows.Value{Bits: s.total[i].sum}
	case slices.ContainsFunc(s.total, func(t diskTotal) bool { return t.told }):
		return rows.Value{Miss: whyNoDisk}
	}
	return rows.Value{Miss: metric.Unsupported}
}

func (s *diskSource) readAll(c *sample.Context, at metric.Stamp) error {
	first := s.round == 0
	s.round++
	s.order = s.order[:0]
	for i := range s.total {
		s.total[i].now = false
	}
	err := sys.Services(blockStorageDriver, func(driver sys.Service) bool {
		s.readDriver(c, at, driver, first)
		return false
	})
	if err != nil {
		return err
	}
	for id, d := range s.known {
		if d.seen != s.round {
			delete(s.known, id)
			c.Emit(metric.Event{At: at, Kind: metric.EventDevice, Text: "disk " + d.in.Name + " went away", Indom: "disk", Key: d.in.Key})
		}
	}
	return nil
}

func (s *diskSource) readDriver(c *sample.Context, at metric.Stamp, driver sys.Service, first bool) {
	id, err := driver.ID()
	if err != nil {
		return
	}
	d := s.known[id]
	if d == nil {
		// A driver without a medium (an empty card reader) is identified again next time: the
		// medium may come.
		if d = s.identify(driver); d != nil {
			s.known[id] = d
			if !first {
				c.Emit(metric.Event{At: at, Kind: metric.EventDevice, Text: "disk " + d.in.Name + " appeared", Indom: "disk", Key: d.in.Key})
			}
		}
	}
	if d == nil {
		return
	}
	d.seen = s.round
	s.registry.ask(driver)
	for i, l := range s.rows.leaves {
		switch {
		case l.Word != blockSizeWord:
			d.values[i] = s.registry.Leaf(i)
		case d.blockSize != 0:
			d.values[i] = rows.Value{Bits: d.blockSize}
		default:
			d.values[i] = rows.Value{Miss: metric.Unsupported}
		}
	}
	s.registry.done()
	s.one.values, s.one.of = d.values, s.rows.ofParts
	for i := range s.total {
		if v := s.rows.parts.Value(i, 0, &s.one); v.Miss == metric.Present {
			s.total[i].gained(&d.prev[i], v.Bits, &counter64)
			s.total[i].told, s.total[i].now = true, true
		}
	}
	s.order = append(s.order, d)
}

// identify looks for the whole medium below a driver. A disk's key is its name and its model,
// because names are reused when another disk is plugged in.
func (s *diskSource) identify(driver sys.Service) *disk {
	var d *disk
	driver.Children(func(medium sys.Service) bool {
		if d != nil || !medium.Conforms(storageMedia) {
			return false
		}
		var buf [64]byte
		whole := medium.Property(s.whole)
		isWhole, _ := whole.Int()
		whole.Release()
		name := medium.Property(s.bsdName)
		text, named := name.Text(buf[:])
		name.Release()
		if isWhole == 0 || !named {
			return false
		}
		size := medium.Property(s.preferredSize)
		blockSize, _ := size.Int()
		size.Release()
		model, _ := medium.Name()
		bsd := string(text)
		d = &disk{blockSize: uint64(max(blockSize, 0)), values: make([]rows.Value, len(s.rows.leaves)), prev: make([]uint64, len(s.total)), in: &metric.Instance{
			ID: s.nextID, Key: bsd + " " + model, Name: bsd, Labels: []metric.Label{{Name: "model", Value: model}},
		}}
		s.nextID++
		return false
	})
	return d
}
