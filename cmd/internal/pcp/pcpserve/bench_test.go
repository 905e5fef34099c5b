package pcpserve

import (
	"context"
	"fmt"
	"net"
	"testing"

	"tachograph/cmd/internal/pcp/pcpclient"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// still is a Metrics that has been read: what a fetch costs beyond reading.
type still struct {
	cat  *Catalog
	view *View
}

func (s *still) Catalog() *Catalog                                    { return s.cat }
func (s *still) Fetch(context.Context, []*metric.Desc) (*View, error) { return s.view, nil }
func (s *still) Instances(_ context.Context, indom string) ([]*metric.Instance, error) {
	for _, b := range s.view.Blocks {
		if b.Group.Indom == indom {
			return b.Rows, nil
		}
	}
	return nil, nil
}

// again has everything read again: the same instances in other blocks.
func (s *still) again() {
	blocks := make([]*metric.Block, len(s.view.Blocks))
	for i, b := range s.view.Blocks {
		blocks[i] = b.Clone()
		for j, in := range blocks[i].Rows {
			if in != nil {
				copied := *in
				blocks[i].Rows[j] = &copied
			}
		}
	}
	s.view = &View{At: s.view.At, Blocks: blocks}
}

// newStill has groups metrics each of that many groups, of so many instances.
func newStill(indom string, groups, metrics int, rows []*metric.Instance) *still {
	s := &still{cat: &Catalog{}, view: &View{At: metric.Stamp{Wall: 1}}}
	for g := range groups {
		group := &metric.Group{Name: fmt.Sprint("group", g), Indom: indom}
		b := &metric.Block{Group: group, Rows: rows}
		for i := range metrics {
			d := &metric.Desc{Name: fmt.Sprintf("g%d.m%d", g, i), PMID: metric.NewPMID(500, uint32(g), uint32(i)), Indom: indom}
			c := metric.Column{Bits: make([]uint64, len(rows))}
			if d.Type = metric.Type(i % 7); d.Type == metric.String {
				c.Words = []string{"a text of some length"}
			}
			group.Metrics, b.Cols = append(group.Metrics, d), append(b.Cols, c)
		}
		s.cat.Descs, s.view.Blocks = append(s.cat.Descs, group.Metrics...), append(s.view.Blocks, b)
	}
	return s
}

func processes(n int) (list []*metric.Instance) {
	for i := range n {
		list = append(list, process(i+1, "1", fmt.Sprint("program", i%50), "0"))
	}
	return list
}

func interfaces(n int) (list []*metric.Instance) {
	for i := range n {
		name := fmt.Sprint("en", i)
		list = append(list, &metric.Instance{Key: name, Name: name})
	}
	return list
}

func allOf(s *still) (ids []metric.PMID) {
	for _, d := range s.cat.Descs {
		ids = append(ids, d.PMID)
	}
	return ids
}

// What a fetch costs beyond reading, without a connection.
func BenchmarkFetch(b *testing.B) {
	for _, c := range []struct {
		name string
		*still
		want *pdu.Profile
	}{
		{"250 metrics", newStill("", 10, 25, []*metric.Instance{nil}), nil},
		{"250 metrics of 8 interfaces", newStill("interface", 10, 25, interfaces(8)), nil},
		{"40 metrics of 400 processes", newStill("process", 1, 40, processes(400)), nil},
		{"40 metrics of one of 400 processes", newStill("process", 1, 40, processes(400)), &pdu.Profile{Choice: pdu.Choice{Exclude: true},
			InDoms: []pdu.InDomProfile{{InDom: 500<<22 | 7, Choice: pdu.Choice{Exclude: true}, Instances: []uint32{77}}}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			session := NewServer(c.still, Options{Names: pcp.Native(500)}).session(500)
			if c.want != nil {
				c.want.InDoms[0].InDom = session.world.items[0].InDom
				session.answer(b.Context(), 0, c.want)
			}
			m := &pdu.Fetch{PMIDs: allOf(c.still)}
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				c.again()
				b.StartTimer()
				buf = pdu.Append(buf[:0], 0, session.answer(b.Context(), 0, m))
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

// The same as pmcd sees it, over a unix socket, its own work included.
func BenchmarkPmcdFetch(b *testing.B) {
	s := newStill("", 10, 25, []*metric.Instance{nil})
	ids := allOf(s)
	c := dialAgent(b, NewServer(s, Options{Names: pcp.Native(500)}))
	b.ReportAllocs()
	for b.Loop() {
		if r, err := c.Fetch(ids...); err != nil || len(r.Sets) != 250 {
			b.Fatal(err)
		}
	}
}

func BenchmarkInstances(b *testing.B) {
	s := newStill("process", 1, 1, processes(400))
	session := NewServer(s, Options{Names: pcp.Native(500)}).session(500)
	indom := session.world.items[0].InDom
	for _, c := range []struct {
		name string
		m    pdu.Message
	}{
		{"of 400 processes", &pdu.InstanceReq{InDom: indom, Instance: pcp.Null}},
		{"by name", &pdu.InstanceReq{InDom: indom, Instance: pcp.Null, Name: "000399"}},
		{"labels", &pdu.LabelReq{Ident: indom, Type: pcp.LabelInstances}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = pdu.Append(buf[:0], 0, session.answer(b.Context(), 0, c.m))
			}
		})
	}
}

func dialAgent(b *testing.B, s *Server) *pcpclient.Client {
	l, err := net.Listen("unix", b.TempDir()+"/s")
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		if conn, err := l.Accept(); err == nil {
			s.Agent(b.Context(), conn, 500)
		}
	}()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(); l.Close() })
	c, err := pcpclient.Pmcd(conn)
	if err != nil {
		b.Fatal(err)
	}
	return c
}
