package darwin

import (
	"runtime"

	"tachograph/sample"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// The nodes of NFS below its file system's number: the client's statistics and the server's.
const (
	nfsClientStats = 1
	nfsServerStats = 2
)

// nfsSide is the client or the server: its own metrics, and those of each procedure.
type nfsSide struct {
	side   string
	size   int // of the answer
	rows   [2]*rows.Table
	answer [2]rows.Struct
	stats  *node
}

// nfsSource reads the statistics of the NFS client and server, where the
// kernel has NFS loaded.
type nfsSource struct {
	client, server nfsSide
	procedures     []*metric.Instance
	round          uint64
}

func newNFSSource() *nfsSource {
	s := &nfsSource{client: nfsSide{side: "client", size: decode.NFSSize}, server: nfsSide{side: "server", size: decode.NFSDSize}}
	for i, name := range nfs3Procedures {
		s.procedures = append(s.procedures, &metric.Instance{ID: uint64(i), Key: name, Name: name})
	}
	return s
}

func (s *nfsSource) Name() string { return "nfs" }
func (s *nfsSource) Groups() []*metric.Group {
	return []*metric.Group{s.client.rows[0].Group, s.client.rows[1].Group, s.server.rows[0].Group, s.server.rows[1].Group}
}
func (s *nfsSource) Close() error { return nil }

func (s *nfsSource) Refresh() error {
	s.client.describe()
	s.server.describe()
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

func (x *nfsSide) describe() {
	x.rows[0], x.rows[1] = nfsRows(x.side)
	for i, t := range x.rows {
		x.answer[i] = rows.Struct{Members: t.Members(runtime.GOARCH), Short: badAnswer}
	}
}

func (x *nfsSide) lack(why string) {
	unsupported(x.rows[0].Group, why)
	unsupported(x.rows[1].Group, why)
}

// find looks for the statistics; an answer of another size is a different struct.
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
		if f := frameOf(frames, side.rows[0].Group); f != nil {
			f.Reset(at)
			side.fill(f, f.Row(nil), 0, 0, s.round)
		}
		if f := frameOf(frames, side.rows[1].Group); f != nil {
			f.Reset(at)
			for i, in := range s.procedures {
				side.fill(f, f.Row(in), 1, i, s.round)
			}
		}
	}
	return nil
}

// fill sets a row from one of the side's tables.
func (x *nfsSide) fill(f *sample.Frame, row, table, instance int, round uint64) {
	if !x.stats.read(round) {
		f.MissRow(row, x.stats.reason)
		return
	}
	x.answer[table].Answer = x.stats.answer
	x.rows[table].Fill(f, row, instance, &x.answer[table])
}
