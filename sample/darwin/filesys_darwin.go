package darwin

import (
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// filesystem is a mounted file system. Where it is mounted identifies it: the
// device does not (several mounts may have the same).
type filesystem struct {
	in       *metric.Instance
	from, on string
	kind     string
	seen     uint64
}

// filesysSource lists the mounts from the kernel's memory, which cannot hang
// on a file server that is gone.
type filesysSource struct {
	group, number *metric.Group
	buf           []byte
	known         map[string]*filesystem
	nextID        uint64
	round         uint64
}

func newFilesysSource() *filesysSource {
	return &filesysSource{known: make(map[string]*filesystem), buf: make([]byte, 32*sys.StatfsSize)}
}

func (s *filesysSource) Name() string            { return "filesys" }
func (s *filesysSource) Groups() []*metric.Group { return []*metric.Group{s.group, s.number} }
func (s *filesysSource) Close() error            { return nil }

func (s *filesysSource) Refresh() error {
	s.group = catalog.Group(catalog.Darwin, "filesys", filesysNames...)
	s.number = catalog.Group(catalog.Darwin, "nfilesys", "hinv.nfilesys")
	return nil
}

func (s *filesysSource) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	list, next, err := sys.Mounts(s.buf)
	s.buf = next
	if err != nil {
		return err
	}
	first := s.round == 0
	s.round++
	each := frameOf(frames, s.group)
	if each != nil {
		each.Reset(at)
	}
	n := uint64(0)
	for ; len(list) >= sys.StatfsSize; list = list[sys.StatfsSize:] {
		rec := list[:sys.StatfsSize]
		x := s.mounted(c, at, rec, first)
		n++
		if each != nil {
			x.fill(each, rec)
		}
	}
	s.forget(c, at)
	if f := frameOf(frames, s.number); f != nil {
		f.Reset(at)
		f.SetUint(f.Row(nil), 0, n)
	}
	return nil
}

// mounted finds or makes the file system of a record.
func (s *filesysSource) mounted(c *sample.Context, at metric.Stamp, rec []byte, first bool) *filesystem {
	on, _ := decode.FSMntonname.Text(rec)
	from, _ := decode.FSMntfromname.Text(rec)
	kind, _ := decode.FSFstypename.Text(rec)
	x := s.known[string(on)]
	if x == nil {
		x = &filesystem{on: string(on)}
		x.in = &metric.Instance{ID: s.nextID, Key: x.on}
		s.nextID++
		s.known[x.on] = x
	}
	if x.from != string(from) || x.kind != string(kind) {
		x.from, x.kind = string(from), string(kind)
		x.in.Name = filesysName(x.from, x.on)
		x.in.Labels = []metric.Label{
			{Name: "mountdir", Value: x.on}, {Name: "device", Value: x.from}, {Name: "type", Value: x.kind},
		}
		x.in.Rev++
		if !first {
			c.Emit(metric.Event{At: at, Kind: metric.EventMount, Text: x.from + " was mounted on " + x.on, Indom: "filesys", Key: x.in.Key})
		}
	}
	x.seen = s.round
	return x
}

func (s *filesysSource) forget(c *sample.Context, at metric.Stamp) {
	for on, x := range s.known {
		if x.seen != s.round {
			delete(s.known, on)
			c.Emit(metric.Event{At: at, Kind: metric.EventMount, Text: x.from + " was unmounted from " + x.on, Indom: "filesys", Key: x.in.Key})
		}
	}
}

func (x *filesystem) fill(f *sample.Frame, rec []byte) {
	sp := readSpace(rec)
	row := f.Row(x.in)
	f.SetUint(row, colFSCapacity, sp.kbytes(sp.blocks))
	f.SetUint(row, colFSUsed, sp.kbytes(sp.used()))
	f.SetUint(row, colFSFree, sp.kbytes(sp.bfree))
	f.SetUint(row, colFSAvail, sp.kbytes(sp.bavail))
	f.SetUint(row, colFSBlocksize, sp.bsize)
	f.SetFloat(row, colFSFull, sp.full())
	f.SetUint(row, colFSMaxfiles, sp.files)
	f.SetUint(row, colFSUsedfiles, sp.usedFiles())
	f.SetUint(row, colFSFreefiles, sp.ffree)
	f.SetString(row, colFSMountdir, x.on)
	f.SetString(row, colFSType, x.kind)
}
