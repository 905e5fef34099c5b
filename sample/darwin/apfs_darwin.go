package darwin

import (
	"strconv"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

var (
	apfsContainer = sys.NewClass("AppleAPFSContainer")
	apfsVolume    = sys.NewClass("AppleAPFSVolume")
)

const (
	colContainers = iota
	colVolumes
)

// apfsSource reads the containers and volumes of the Apple File System.
type apfsSource struct {
	containers, volumes *rows.Table
	counts              *metric.Group

	container, volume     *registry
	uuid, bsd, volumeName *sys.Key
	known                 instances
	text                  [128]byte
}

func newAPFSSource() *apfsSource {
	containers, volumes := apfsRows()
	return &apfsSource{
		container: newRegistry(containers.Leaves), volume: newRegistry(volumes.Leaves),
		uuid: sys.NewKey("UUID"), bsd: sys.NewKey("BSD Name"), volumeName: sys.NewKey("Volume Name"),
	}
}

func (s *apfsSource) Name() string { return "apfs" }
func (s *apfsSource) Groups() []*metric.Group {
	return []*metric.Group{s.containers.Group, s.volumes.Group, s.counts}
}

func (s *apfsSource) Close() error {
	s.container.close()
	s.volume.close()
	for _, k := range []*sys.Key{s.uuid, s.bsd, s.volumeName} {
		k.Release()
	}
	return nil
}

func (s *apfsSource) Refresh() error {
	s.containers, s.volumes = apfsRows()
	s.counts = catalog.Group(catalog.Darwin, "apfs", "disk.apfs.ncontainer", "disk.apfs.nvolume")
	return nil
}

func (s *apfsSource) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	for _, f := range frames {
		f.Reset(at)
	}
	containers, volumes := frameOf(frames, s.containers.Group), frameOf(frames, s.volumes.Group)
	counts := frameOf(frames, s.counts)
	countRow := 0
	if counts != nil {
		countRow = counts.Row(nil)
	}
	if containers != nil || counts != nil && counts.Wants(colContainers) {
		n := 0
		err := sys.Services(apfsContainer, func(x sys.Service) bool {
			if containers != nil {
				s.containerRow(containers, x, n)
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

// containerRow adds the row of a container. Its name is its UUID, or without one its position in
// the list.
func (s *apfsSource) containerRow(f *sample.Frame, x sys.Service, n int) {
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
	s.container.ask(x)
	s.containers.Fill(f, row, 0, s.container)
	s.container.done()
}

func (s *apfsSource) volumeRow(f *sample.Frame, x sys.Service, n int) {
	id, err := x.ID()
	if err != nil {
		return
	}
	in := s.known.find(id, func() (key, name string) {
		if name = s.textOf(x, s.bsd); name == "" {
			name = s.textOf(x, s.volumeName)
		}
		if name == "" {
			name = "volume" + strconv.Itoa(n)
		}
		return name, name
	})
	row := f.Row(in)
	s.volume.ask(x)
	s.volumes.Fill(f, row, 0, s.volume)
	s.volume.done()
}

func (s *apfsSource) textOf(x sys.Service, k *sys.Key) string {
	v := x.Property(k)
	defer v.Release()
	b, _ := v.Text(s.text[:])
	return string(b)
}

// instances keeps an instance per object of the I/O registry. It forgets all objects when it has
// too many of them. That is safe because registry IDs are never reused.
type instances struct {
	byID   map[uint64]*metric.Instance
	nextID uint64
}

// maxInstances limits the memory for objects that came and went.
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
