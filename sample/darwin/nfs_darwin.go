package darwin

import (
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// The NFS nodes below its file system's number: the client's statistics and
// the server's.
const (
	nfsClientStats = 1
	nfsServerStats = 2
)

// nfsSide is the client or the server.
type nfsSide struct {
	columns   []nfsColumn
	procs     int // where the procedure counters begin
	size      int
	one, each *metric.Group
	stats     *node
}

// nfsSource reads the statistics of the NFS client and server, where the
// kernel has NFS loaded.
type nfsSource struct {
	client, server nfsSide
	procedures     []*metric.Instance
	round          uint64
}

func newNFSSource() *nfsSource {
	s := &nfsSource{
		client: nfsSide{columns: nfsClientColumns, procs: decode.NFS3Client, size: decode.NFSSize},
		server: nfsSide{columns: nfsServerColumns, procs: decode.NFS3Server, size: decode.NFSDSize},
	}
	for i, name := range nfs3Procedures {
		s.procedures = append(s.procedures, &metric.Instance{ID: uint64(i), Key: name, Name: name})
	}
	return s
}

func (s *nfsSource) Name() string { return "nfs" }
func (s *nfsSource) Groups() []*metric.Group {
	return []*metric.Group{s.client.one, s.client.each, s.server.one, s.server.each}
}
func (s *nfsSource) Close() error { return nil }

func (s *nfsSource) Refresh() error {
	s.client.describe("nfs client", "nfs3.client.reqs")
	s.server.describe("nfs server", "nfs3.server.reqs")
	conf := make([]byte, decode.VFSConfSize)
	if err := sys.FileSystemType("nfs", conf); err != nil {
		s.client.lack("NFS is not loaded")
		s.server.lack("NFS is not loaded")
		return nil
	}
	number, _ := decode.VFSTypenum.Uint(conf)
	s.client.find(int32(number), nfsClientStats, "this kernel has no NFS client statistics")
	s.server.find(int32(number), nfsServerStats,
		"this kernel tells its NFS server's statistics to the server's own daemon only")
	return nil
}

func (x *nfsSide) describe(group, each string) {
	names := make([]string, len(x.columns))
	for i, c := range x.columns {
		names[i] = c.metric
	}
	x.one = catalog.Group(catalog.Darwin, group, names...)
	x.each = catalog.Group(catalog.Darwin, group+" calls", each)
}

func (x *nfsSide) lack(why string) {
	unsupported(x.one, why)
	unsupported(x.each, why)
}

// find looks for the statistics; an answer of another size is something else.
func (x *nfsSide) find(number, which int32, why string) {
	mib := sys.MIB{3, number, which}
	if size, errno := sys.Sysctl(mib, nil); errno != 0 || size != x.size {
		x.lack(why)
		return
	}
	x.stats = newNode("vfs.nfs", mib, x.size)
}

func (s *nfsSource) Read(c *sample.Context, frames []*sample.Frame) error {
	s.round++
	at := c.Now()
	for _, side := range []*nfsSide{&s.client, &s.server} {
		if f := frameOf(frames, side.one); f != nil {
			f.Reset(at)
			row := f.Row(nil)
			if !side.stats.read(s.round) {
				f.MissRow(row, side.stats.reason)
			} else {
				side.fill(f, row)
			}
		}
		f := frameOf(frames, side.each)
		if f == nil {
			continue
		}
		f.Reset(at)
		for i, in := range s.procedures {
			row := f.Row(in)
			if !side.stats.read(s.round) {
				f.MissRow(row, side.stats.reason)
			} else if v, ok := nfsProcedure(side.stats.answer, side.procs, i); ok {
				f.SetUint(row, 0, v)
			}
		}
	}
	return nil
}

func (x *nfsSide) fill(f *sample.Frame, row int) {
	for col := range x.columns {
		if v, ok := x.columns[col].value(x.stats.answer, x.procs); ok {
			f.SetUint(row, col, v)
		}
	}
}
