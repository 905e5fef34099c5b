package pcpserve_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"

	"tachograph/cmd/internal/pcp/pcpclient"
	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/sample/metric"
)

// A machine is what a server under attack answers from: a catalogue with metrics that
// have one value, some and a thousand, and values that tell whose they are.
type machine struct {
	catalog *pcpserve.Catalog
	blocks  map[*metric.Desc]*metric.Block

	mu     sync.Mutex
	stored int
}

const (
	singles   = 250
	disks     = 10
	processes = 1000
)

func newMachine() *machine {
	m := &machine{blocks: make(map[*metric.Desc]*metric.Block)}
	cat := &pcpserve.Catalog{Host: metric.Host{ID: "1", Name: "mac", OS: "Darwin", Platform: "macos"}}
	m.catalog = cat
	add := func(group, indom string, cluster uint32, rows int, types ...metric.Type) {
		g := &metric.Group{Name: group, Indom: indom}
		b := &metric.Block{Group: g, Rows: []*metric.Instance{nil}}
		if indom != metric.NoIndom {
			b.Rows = nil
			for i := range rows {
				b.Rows = append(b.Rows, &metric.Instance{
					ID: uint64(i + 1), Key: fmt.Sprint(indom, i), Name: fmt.Sprintf("%06d %s", i+100, indom),
					Labels: []metric.Label{{Name: "start", Value: "2026-11-22T00:00:00Z"}},
				})
			}
		}
		for i, typ := range types {
			d := &metric.Desc{
				Name: fmt.Sprintf("attack.%s.m%d", group, i), PMID: metric.NewPMID(metric.OwnDomain, cluster, uint32(i)), Type: typ,
				Sem: metric.Instant, Indom: indom, Class: metric.Fast, Help: "one of many", LongHelp: "More of it.",
			}
			col := metric.Column{}
			for row := range b.Rows {
				v := metric.Value{Type: typ, Bits: uint64(i*1000 + row)}
				if typ == metric.String {
					v = metric.Value{Type: typ, Str: fmt.Sprint("word ", row)}
				}
				col.Push(v)
			}
			g.Metrics = append(g.Metrics, d)
			b.Cols = append(b.Cols, col)
			cat.Descs = append(cat.Descs, d)
			m.blocks[d] = b
		}
	}
	one := make([]metric.Type, singles)
	for i := range one {
		one[i] = metric.U64
	}
	add("one", metric.NoIndom, 400, 1, one...)
	add("disk", "disk", 401, disks, metric.U64, metric.F32, metric.I32, metric.String)
	add("process", "process", 402, processes, metric.U64, metric.F64, metric.U32, metric.String)
	return m
}

func (m *machine) Catalog() *pcpserve.Catalog { return m.catalog }

func (m *machine) Fetch(ctx context.Context, want []*metric.Desc) (*pcpserve.View, error) {
	v := &pcpserve.View{At: metric.Stamp{Wall: 1795300000_000000000}}
	seen := make(map[*metric.Block]bool)
	for _, d := range want {
		b := m.blocks[d]
		if b == nil {
			return nil, errors.New("asked for what there is not")
		}
		if !seen[b] {
			seen[b] = true
			v.Blocks = append(v.Blocks, b)
		}
	}
	return v, ctx.Err()
}

func (m *machine) Instances(_ context.Context, indom string) ([]*metric.Instance, error) {
	for d, b := range m.blocks {
		if d.Indom == indom {
			return b.Rows, nil
		}
	}
	return nil, errors.New("no such instances")
}

func (m *machine) Store(context.Context, *metric.Desc, *metric.Instance, metric.Value) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored++
	return nil
}

// shortDir is a directory whose name leaves room for that of a socket.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// somebody says that all clients are one user.
func somebody(net.Conn) (uid uint32, known bool) { return 1000, true }

// serve has a server answer at an address until the test ends.
func serve(t testing.TB, m pcpserve.Metrics, opt pcpserve.Options) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- pcpserve.NewServer(m, opt).Clients(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the server ended with %v", err)
		}
	})
	return l.Addr().String()
}

// sound reports what is wrong with how a server answers somebody who behaves.
func sound(c *pcpclient.Client) error {
	for _, group := range []string{"one", "disk"} {
		names, err := c.Traverse("attack." + group)
		if err != nil {
			return err
		}
		if want := map[string]int{"one": singles, "disk": 4}[group]; len(names) != want {
			return fmt.Errorf("attack.%s has %d metrics", group, len(names))
		}
	}
	list, err := c.Read("attack.one.m7", "attack.disk.m0", "attack.disk.m3", "attack.nowhere")
	if err != nil {
		return err
	}
	if v := list[0].Values; len(v) != 1 || v[0].Bits != 7000 {
		return fmt.Errorf("the one is %+v", list[0])
	}
	if v := list[1].Values; len(v) != disks || v[3].Bits != 3 || v[3].Instance != "000103 disk" {
		return fmt.Errorf("those of disks are %+v", list[1])
	}
	if v := list[2].Values; len(v) != disks || v[9].Str != "word 9" {
		return fmt.Errorf("words are %+v", list[2])
	}
	if list[3].Err == nil {
		return fmt.Errorf("what is not is %+v", list[3])
	}
	return nil
}
