package darwin

import (
	"runtime"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// filesystem is a mounted file system. Its key and name are the directory that it is mounted on,
// because several mounts may have the same device.
type filesystem struct {
	in       *metric.Instance
	from, on string
	kind     string
	seen     uint64
	rec      []byte // this round's struct statfs
}

// filesysSource lists the mounts from the kernel's memory, which cannot hang on a dead file
// server.
type filesysSource struct {
	rows   *rows.Table
	number *metric.Group
	buf    []byte
	known  map[string]*filesystem
	order  []*filesystem // this round's, in the kernel's order
	rec    rows.Struct   // of the file system whose row is being filled
	nextID uint64
	round  uint64
}

func newFilesysSource() *filesysSource {
	return &filesysSource{known: make(map[string]*filesystem), buf: make([]byte, 32*sys.StatfsSize)}
}

func (s *filesysSource) Name() string            { return "filesys" }
func (s *filesysSource) Groups() []*metric.Group { return []*metric.Group{s.rows.Group, s.number} }
func (s *filesysSource) Close() error            { return nil }

func (s *filesysSource) Refresh() error {
	s.rows = filesysRows()
	s.rec = rows.Struct{Members: s.rows.Members(runtime.GOARCH), Short: badAnswer}
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
	s.order = s.order[:0]
	for ; len(list) >= sys.StatfsSize; list = list[sys.StatfsSize:] {
		s.see(list[:sys.StatfsSize])
	}
	for _, x := range s.order {
		s.mounted(c, at, x, first)
	}
	s.forget(c, at)
	for _, f := range frames {
		f.Reset(at)
		if f.Full() == s.number {
			f.SetUint(f.Row(nil), 0, uint64(len(s.order)))
			continue
		}
		for _, x := range s.order {
			s.fill(f, x)
		}
	}
	return nil
}

// see records a mount. Of several mounts on one directory, programs see the last.
func (s *filesysSource) see(rec []byte) {
	on, _ := decode.FSMntonname.Text(rec)
	if kind, _ := decode.FSFstypename.Text(rec); bottomless[string(kind)] {
		return
	}
	x := s.known[string(on)]
	if x == nil {
		x = &filesystem{on: string(on)}
		x.in = &metric.Instance{ID: s.nextID, Key: x.on, Name: x.on}
		s.nextID++
		s.known[x.on] = x
	}
	if x.rec = rec; x.seen != s.round {
		x.seen = s.round
		s.order = append(s.order, x)
	}
}

// mounted updates the labels of x, and emits an event if another volume is mounted there.
func (s *filesysSource) mounted(c *sample.Context, at metric.Stamp, x *filesystem, first bool) {
	from, _ := decode.FSMntfromname.Text(x.rec)
	kind, _ := decode.FSFstypename.Text(x.rec)
	if x.from == string(from) && x.kind == string(kind) {
		return
	}
	x.from, x.kind = string(from), string(kind)
	x.in.Labels = []metric.Label{{Name: "device", Value: x.from}, {Name: "type", Value: x.kind}}
	x.in.Rev++
	if !first {
		c.Emit(metric.Event{At: at, Kind: metric.EventMount, Text: x.from + " was mounted on " + x.on, Indom: "filesys", Key: x.in.Key})
	}
}

func (s *filesysSource) forget(c *sample.Context, at metric.Stamp) {
	for on, x := range s.known {
		if x.seen != s.round {
			delete(s.known, on)
			c.Emit(metric.Event{At: at, Kind: metric.EventMount, Text: x.from + " was unmounted from " + x.on, Indom: "filesys", Key: x.in.Key})
		}
	}
}

func (s *filesysSource) fill(f *sample.Frame, x *filesystem) {
	row := f.Row(x.in)
	s.rec.Answer = x.rec
	s.rows.Fill(f, row, 0, &s.rec)
	// Pass the same strings again while the mount has not changed.
	for col, d := range s.rows.Group.Metrics {
		if d.Type != metric.String {
			continue
		}
		switch s.rec.Members[s.rows.LeavesOf(col)[0]].Field {
		case decode.FSMntonname:
			f.SetString(row, col, x.on)
		case decode.FSFstypename:
			f.SetString(row, col, x.kind)
		}
	}
}
