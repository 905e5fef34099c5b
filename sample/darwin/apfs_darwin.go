package darwin

import (
	"strconv"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// apfsColumns are the metrics of a container: what its driver keeps under
// Statistics, but for the first, which is a property of its own.
var apfsColumns = []struct{ metric, key string }{
	{"disk.apfs.container.block_size", "ContainerBlockSize"},
	{"disk.apfs.container.bytes_read", "Bytes read from block device"},
	{"disk.apfs.container.bytes_written", "Bytes written to block device"},
	{"disk.apfs.container.read_requests", "Read requests sent to block device"},
	{"disk.apfs.container.write_requests", "Write requests sent to block device"},
	{"disk.apfs.container.transactions", "Number of transactions flushed"},
	{"disk.apfs.container.cache_hits", "Object cache: Number of hits"},
	{"disk.apfs.container.cache_evictions", "Object cache: Number of evictions"},
	{"disk.apfs.container.read_errors", "Metadata: Number of read errors"},
	{"disk.apfs.container.write_errors", "Metadata: Number of write errors"},
}

var (
	apfsContainer = sys.NewClass("AppleAPFSContainer")
	apfsVolume    = sys.NewClass("AppleAPFSVolume")
)

const (
	colEncrypted = iota
	colLocked

	colContainers = 0
	colVolumes    = 1
)

// apfsSource reads the containers and volumes of the Apple File System.
type apfsSource struct {
	containers, volumes, counts *metric.Group

	keys                          []*sys.Key
	statistics, uuid, bsd, volume *sys.Key
	encrypted, locked             *sys.Key
	known                         instances
	text                          [128]byte
}

func newAPFSSource() *apfsSource {
	s := &apfsSource{
		statistics: sys.NewKey("Statistics"), uuid: sys.NewKey("UUID"), bsd: sys.NewKey("BSD Name"),
		volume: sys.NewKey("Volume Name"), encrypted: sys.NewKey("Encrypted"), locked: sys.NewKey("Locked"),
	}
	for _, c := range apfsColumns {
		s.keys = append(s.keys, sys.NewKey(c.key))
	}
	return s
}

func (s *apfsSource) Name() string { return "apfs" }
func (s *apfsSource) Groups() []*metric.Group {
	return []*metric.Group{s.containers, s.volumes, s.counts}
}

func (s *apfsSource) Close() error {
	for _, k := range append([]*sys.Key{s.statistics, s.uuid, s.bsd, s.volume, s.encrypted, s.locked}, s.keys...) {
		k.Release()
	}
	return nil
}

func (s *apfsSource) Refresh() error {
	names := make([]string, len(apfsColumns))
	for i, c := range apfsColumns {
		names[i] = c.metric
	}
	s.containers = catalog.Group(catalog.Darwin, "apfs container", names...)
	s.volumes = catalog.Group(catalog.Darwin, "apfs volume", "disk.apfs.volume.encrypted", "disk.apfs.volume.locked")
	s.counts = catalog.Group(catalog.Darwin, "apfs", "disk.apfs.ncontainer", "disk.apfs.nvolume")
	return nil
}

func (s *apfsSource) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
	}
	containers, volumes := frameOf(frames, s.containers), frameOf(frames, s.volumes)
	counts := frameOf(frames, s.counts)
	countRow := 0
	if counts != nil {
		countRow = counts.Row(nil)
	}
	if containers != nil || counts != nil && counts.Wants(colContainers) {
		n := 0
		err := sys.Services(apfsContainer, func(x sys.Service) bool {
			if containers != nil {
				s.container(containers, x, n)
			}
			n++
			return false
		})
		if err != nil {
			return err
		}
		if counts != nil {
			counts.SetUint(countRow, colContainers, uint64(n))
		}
	}
	if volumes != nil || counts != nil && counts.Wants(colVolumes) {
		n := 0
		err := sys.Services(apfsVolume, func(x sys.Service) bool {
			if volumes != nil {
				s.volumeRow(volumes, x, n)
			}
			n++
			return false
		})
		if err != nil {
			return err
		}
		if counts != nil {
			counts.SetUint(countRow, colVolumes, uint64(n))
		}
	}
	return nil
}

// container adds the row of a container. Its UUID names it; where there is
// none, its place in the list must do.
func (s *apfsSource) container(f *sample.Frame, x sys.Service, n int) {
	id, err := x.ID()
	if err != nil {
		return
	}
	in := s.known.find(id, func() (key, name string) {
		place := "container" + strconv.Itoa(n)
		if uuid := s.textOf(x, s.uuid); uuid != "" {
			return uuid, uuid
		}
		return place, place
	})
	row := f.Row(in)
	size := x.Property(s.keys[0])
	setInt(f, row, 0, size)
	size.Release()
	stats := x.Property(s.statistics)
	for col := 1; col < len(s.keys); col++ {
		setInt(f, row, col, stats.Get(s.keys[col]))
	}
	stats.Release()
}

func (s *apfsSource) volumeRow(f *sample.Frame, x sys.Service, n int) {
	id, err := x.ID()
	if err != nil {
		return
	}
	in := s.known.find(id, func() (key, name string) {
		if name = s.textOf(x, s.bsd); name == "" {
			name = s.textOf(x, s.volume)
		}
		if name == "" {
			name = "volume" + strconv.Itoa(n)
		}
		return name, name
	})
	row := f.Row(in)
	for col, k := range []*sys.Key{colEncrypted: s.encrypted, colLocked: s.locked} {
		v := x.Property(k)
		setInt(f, row, col, v)
		v.Release()
	}
}

func (s *apfsSource) textOf(x sys.Service, k *sys.Key) string {
	v := x.Property(k)
	defer v.Release()
	b, _ := v.Text(s.text[:])
	return string(b)
}

// setInt sets a cell to a property; one that is not there is not supported by
// its driver.
func setInt(f *sample.Frame, row, col int, v sys.Value) {
	if n, ok := v.Int(); ok {
		f.SetInt(row, col, n)
	} else {
		f.SetMissing(row, col, metric.Unsupported)
	}
}

// instances keeps an instance per object of the I/O registry. Objects that are
// gone are forgotten by the number of those that are remembered: registry IDs
// are never given twice.
type instances struct {
	byID   map[uint64]*metric.Instance
	nextID uint64
}

// maxInstances bounds the memory for objects that came and went.
const maxInstances = 4096

func (m *instances) find(id uint64, name func() (key, name string)) *metric.Instance {
	if in := m.byID[id]; in != nil {
		return in
	}
	if m.byID == nil || len(m.byID) >= maxInstances {
		m.byID = make(map[uint64]*metric.Instance)
	}
	in := &metric.Instance{ID: m.nextID}
	m.nextID++
	in.Key, in.Name = name()
	m.byID[id] = in
	return in
}
