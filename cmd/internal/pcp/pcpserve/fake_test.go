package pcpserve

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"tachograph/cmd/internal/pcp/pcpclient"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// A machine is a Metrics whose values a test says.
type machine struct {
	cat     atomic.Pointer[Catalog]
	mu      sync.Mutex
	blocks  []*metric.Block
	missing map[*metric.Desc]metric.Reason
	err     error
	asked   [][]*metric.Desc
	stored  []string
	stuck   chan struct{} // if it is there, fetches wait for it
}

func (m *machine) Catalog() *Catalog { return m.cat.Load() }

func (m *machine) Fetch(ctx context.Context, want []*metric.Desc) (*View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stuck != nil {
		select {
		case <-m.stuck:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m.asked = append(m.asked, append([]*metric.Desc(nil), want...))
	return &View{At: metric.Stamp{Wall: 1_700_000_000_123_456_789}, Blocks: m.blocks, Missing: m.missing}, m.err
}

func (m *machine) Instances(_ context.Context, indom string) ([]*metric.Instance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.blocks {
		if b.Group.Indom == indom {
			return b.Rows, nil
		}
	}
	return nil, m.err
}

func (m *machine) Store(_ context.Context, d *metric.Desc, in *metric.Instance, v metric.Value) error {
	if d.Name != "tachograph.control.filter" && d.Name != "vm.limit" {
		return ErrReadOnly
	}
	if v.Str == "bad" {
		return pdu.Failure(pcp.ErrBadStore)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stored = append(m.stored, d.Name+"="+v.String())
	return nil
}

func (m *machine) set(blocks ...*metric.Block) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blocks = blocks
}

func block(g *metric.Group, rows []*metric.Instance, cols ...metric.Column) *metric.Block {
	return &metric.Block{Group: g, Rows: rows, Cols: cols}
}

func numbers(bits ...uint64) metric.Column { return metric.Column{Bits: bits} }

func words(list ...string) metric.Column {
	c := metric.Column{Words: list}
	for i := range list {
		c.Bits = append(c.Bits, uint64(i))
	}
	return c
}

func process(pid int, start, name, uid string) *metric.Instance {
	text := strconv.Itoa(pid)
	return &metric.Instance{Key: text + "/" + start, Name: "000000"[len(text):] + text + " " + name,
		Labels: []metric.Label{{Name: "pid", Value: text}, {Name: "uid", Value: uid}, {Name: "exe", Value: "/bin/" + name}}}
}

// What most tests have.
var (
	load     = &metric.Desc{Name: "kernel.all.load", PMID: metric.NewPMID(78, 3, 0), Type: metric.F32, Sem: metric.Instant, Indom: "load", Help: "Load", LongHelp: "How many wait."}
	free     = &metric.Desc{Name: "mem.free", PMID: metric.NewPMID(78, 1, 2), Type: metric.U64, Sem: metric.Instant, Units: metric.Bytes, Help: "Free memory", Source: "vm_stat"}
	limit    = &metric.Desc{Name: "vm.limit", PMID: metric.NewPMID(500, 2, 3), Type: metric.I32, Sem: metric.Discrete, Help: "A limit"}
	argv     = &metric.Desc{Name: "proc.psinfo.psargs", PMID: metric.NewPMID(3, 1, 30), Type: metric.String, Sem: metric.Discrete, Indom: "process", Help: "Arguments"}
	faults   = &metric.Desc{Name: "proc.psinfo.maj_flt", PMID: metric.NewPMID(3, 1, 9), Type: metric.U64, Sem: metric.Counter, Units: metric.Counts, Indom: "process", Help: "Faults"}
	fan      = &metric.Desc{Name: "fan.speed", PMID: metric.NewPMID(500, 6, 1), Type: metric.F64, Sem: metric.Instant, Help: "Speed", Unsupported: "this machine has no fans"}
	slow     = &metric.Desc{Name: "nfs.calls", PMID: metric.NewPMID(60, 7, 4), Type: metric.U32, Sem: metric.Counter, Units: metric.Counts, Help: "Calls"}
	unread   = &metric.Desc{Name: "nfs.other", PMID: metric.NewPMID(60, 7, 5), Type: metric.U32, Sem: metric.Counter, Units: metric.Counts, Help: "Others"}
	filter   = &metric.Desc{Name: "tachograph.control.filter", PMID: metric.NewPMID(500, pcp.Reserved, 9), Type: metric.String, Sem: metric.Discrete, Help: "A filter"}
	mounted  = &metric.Desc{Name: "filesys.used", PMID: metric.NewPMID(78, 5, 2), Type: metric.U64, Sem: metric.Instant, Units: metric.Kbytes, Indom: "filesys", Help: "Used"}
	loads    = &metric.Group{Name: "load", Indom: "load", Metrics: []*metric.Desc{load}}
	memory   = &metric.Group{Name: "memory", Metrics: []*metric.Desc{free, limit, filter}}
	procs    = &metric.Group{Name: "proc", Indom: "process", Metrics: []*metric.Desc{argv, faults}}
	mounts   = &metric.Group{Name: "filesys", Indom: "filesys", Metrics: []*metric.Desc{mounted}}
	averages = []*metric.Instance{{Key: "1 minute", Name: "1 minute"}, {Key: "5 minute", Name: "5 minute"}, {Key: "15 minute", Name: "15 minute"}}
	shells   = []*metric.Instance{process(7, "100", "sh", "1000"), process(8, "101", "sh", "0"), process(9, "102", "vi", "1000")}
	disks    = []*metric.Instance{{Key: "/", Name: "/"}, {Key: "/Volumes/My Disk", Name: "/Volumes/My Disk"}, {Key: "/Volumes/My Other", Name: "/Volumes/My Other"}}
)

func newMachine() *machine {
	m := &machine{missing: map[*metric.Desc]metric.Reason{slow: metric.TimedOut}}
	m.cat.Store(&Catalog{
		Descs:  []*metric.Desc{load, free, limit, argv, faults, fan, slow, unread, filter, mounted},
		Host:   metric.Host{Name: "mini", ID: "a1", OS: "Darwin", Labels: []metric.Label{{Name: "cores", Value: "8"}}},
		Labels: []metric.Label{{Name: "recorder", Value: "1.2"}},
	})
	gone := numbers(11, 0, 33)
	gone.Miss = []metric.Reason{0, metric.Vanished, 0}
	m.set(
		block(loads, averages, numbers(0x3f000000, 0x3f800000, 0x40000000)),
		block(memory, []*metric.Instance{nil}, numbers(1<<40), numbers(^uint64(4)), words("all")),
		block(procs, shells, words("sh -c a", "sh -c b", "vi secret"), gone),
		block(mounts, disks, numbers(1, 2, 3)))
	return m
}

// agentOf is an agent as pmcd has it.
func agentOf(t testing.TB, s *Server, domain uint32) *pcpclient.Client {
	ours, theirs := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.Agent(t.Context(), ours, domain) }()
	c, err := pcpclient.Pmcd(theirs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		theirs.Close()
		if err := <-done; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("the agent ends with %v", err)
		}
	})
	return c
}

// toolOf is a tool that has connected; uid says who it is.
func toolOf(t testing.TB, s *Server) *pcpclient.Client {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Clients(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the server ends with %v", err)
		}
	})
	c, err := pcpclient.Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
