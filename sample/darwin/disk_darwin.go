package darwin

import (
	"tachograph/sample"
	"tachograph/sample/catalog"
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
	reading   diskReading
	prev      diskReading
}

// diskSource asks every block storage driver for its statistics. The drivers
// are listed afresh each round: a driver that is gone would otherwise go on
// answering with its last numbers.
type diskSource struct {
	each, all, number *metric.Group

	last                          reading
	err                           error
	round                         uint64
	known                         map[uint64]*disk // by registry ID
	order                         []*disk
	total                         [diskValues]runningTotal
	totalHas                      [diskValues]bool // some disk has told it
	totalNow                      [diskValues]bool // and one did this round
	nextID                        uint64
	statistics                    *sys.Key
	keys                          [diskKeys]*sys.Key
	bsdName, whole, preferredSize *sys.Key
}

func newDiskSource() *diskSource {
	s := &diskSource{
		known: make(map[uint64]*disk), statistics: sys.NewKey("Statistics"),
		bsdName: sys.NewKey("BSD Name"), whole: sys.NewKey("Whole"), preferredSize: sys.NewKey("Preferred Block Size"),
	}
	for i, name := range diskKeyNames {
		s.keys[i] = sys.NewKey(name)
	}
	return s
}

func (s *diskSource) Name() string            { return "disk" }
func (s *diskSource) Groups() []*metric.Group { return []*metric.Group{s.each, s.all, s.number} }

func (s *diskSource) Close() error {
	for _, k := range append([]*sys.Key{s.statistics, s.bsdName, s.whole, s.preferredSize}, s.keys[:]...) {
		k.Release()
	}
	return nil
}

func (s *diskSource) Refresh() error {
	each, all := make([]string, len(diskColumns)), make([]string, len(diskColumns))
	for i, c := range diskColumns {
		each[i], all[i] = "disk.dev."+c.name, "disk.all."+c.name
	}
	s.each = catalog.Group(catalog.Darwin, "disk", each...)
	s.all = catalog.Group(catalog.Darwin, "disks", all...)
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
		case s.each:
			for _, d := range s.order {
				fillDisk(f, f.Row(d.in), &d.reading, metric.Unsupported)
			}
		case s.all:
			// The sum of before is no reading of now.
			var sum diskReading
			why := metric.Unsupported
			for i, t := range s.total {
				sum.v[i], sum.has[i] = t.sum, s.totalNow[i]
				if s.totalHas[i] {
					why = whyNoDisk
				}
			}
			fillDisk(f, f.Row(nil), &sum, why)
		case s.number:
			f.SetUint(f.Row(nil), 0, uint64(len(s.order)))
		}
	}
	return nil
}

var whyNoDisk = metric.FailureFor("no disk could be read")

// fillDisk sets a row; why is the reason of what the reading lacks.
func fillDisk(f *sample.Frame, row int, r *diskReading, why metric.Reason) {
	for col := range diskColumns {
		if v, ok := diskColumns[col].value(r); ok {
			f.SetUint(row, col, v)
		} else {
			f.SetMissing(row, col, why)
		}
	}
}

func (s *diskSource) readAll(c *sample.Context, at metric.Stamp) error {
	first := s.round == 0
	s.round++
	s.order = s.order[:0]
	s.totalNow = [diskValues]bool{}
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
		// A driver without its medium (an empty card reader) is asked again:
		// the medium may come.
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
	d.reading = diskReading{}
	stats := driver.Property(s.statistics)
	for i, k := range s.keys {
		v, ok := stats.Get(k).Int()
		d.reading.v[i], d.reading.has[i] = uint64(v), ok
	}
	stats.Release()
	d.reading.blocks(d.blockSize)
	for i := range s.total {
		if d.reading.has[i] {
			s.total[i].gained(&d.prev.v[i], d.reading.v[i], &counter64)
			s.totalHas[i], s.totalNow[i] = true, true
		}
	}
	s.order = append(s.order, d)
}

// identify looks for the whole medium that hangs on a driver. A disk is
// identified by its name and what it calls itself: names are given again when
// another disk is plugged in.
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
		d = &disk{blockSize: uint64(max(blockSize, 0)), in: &metric.Instance{
			ID: s.nextID, Key: bsd + " " + model, Name: bsd, Labels: []metric.Label{{Name: "model", Value: model}},
		}}
		s.nextID++
		return false
	})
	return d
}
