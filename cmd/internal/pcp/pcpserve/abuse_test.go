package pcpserve_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"tachograph/cmd/internal/pcp/pcpclient"
	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

func dial(t testing.TB, address string) *pcpclient.Client {
	t.Helper()
	c, err := pcpclient.Dial(context.Background(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func id(cluster, item uint32) metric.PMID { return metric.NewPMID(metric.OwnDomain, cluster, item) }

// requests is one of everything that a client may send.
func requests() []pdu.Message {
	return []pdu.Message{
		&pdu.Creds{Version: pdu.Version},
		&pdu.Error{Code: pcp.ErrNotConn},
		&pdu.Attr{Attribute: pdu.AttrContainer, Value: "x"},
		&pdu.Profile{InDoms: []pdu.InDomProfile{{InDom: metric.OwnDomain<<22 | 1, Choice: pdu.Choice{Exclude: true}, Instances: []uint32{1, 2}}}},
		&pdu.Fetch{PMIDs: []metric.PMID{id(400, 1), id(401, 3), id(3000, 1)}},
		&pdu.Fetch{Highres: true, PMIDs: []metric.PMID{id(402, 0)}},
		&pdu.Result{Sets: []pdu.Set{{PMID: id(401, 3), Type: pcp.String, Instances: []uint32{1}, Words: []string{"abc"}}, {PMID: id(400, 1), Type: pcp.U64, Instances: []uint32{pcp.Null}, Bits: []uint64{1}}}},
		&pdu.DescReq{PMID: id(400, 1)},
		&pdu.DescIDs{PMIDs: []metric.PMID{id(400, 1), pcp.Null}},
		&pdu.InstanceReq{InDom: metric.OwnDomain<<22 | 1, Instance: pcp.Null, Name: "000101"},
		&pdu.TextReq{Ident: uint32(id(400, 1)), Type: pdu.TextPMID | pdu.TextHelp},
		&pdu.LabelReq{Ident: pcp.Null, Type: pcp.LabelContext},
		&pdu.Names{Names: []string{"attack.one.m1", "attack", ""}},
		&pdu.IDs{PMIDs: []metric.PMID{id(400, 1)}},
		&pdu.Children{Name: "attack", Statuses: true},
		&pdu.Traverse{Name: "attack"},
	}
}

// answered are the kinds of what a client is told.
func answered(k pdu.Kind) bool {
	switch k {
	case pdu.KindProfile, pdu.KindFetch, pdu.KindHighresFetch, pdu.KindDescReq, pdu.KindDescIDs, pdu.KindInstanceReq,
		pdu.KindTextReq, pdu.KindLabelReq, pdu.KindTraverse, pdu.KindChildren, pdu.KindCreds, pdu.KindAttr:
		return false
	}
	return true
}

// broken are bytes that are no request, each as a message of its own or as less or more
// than one.
func broken() [][]byte {
	head := func(size, kind uint32, body ...uint32) []byte {
		b := binary.BigEndian.AppendUint32(nil, size)
		b = append(binary.BigEndian.AppendUint32(b, kind), 0, 0, 0, 0)
		for _, v := range body {
			b = binary.BigEndian.AppendUint32(b, v)
		}
		return b
	}
	list := [][]byte{
		head(0, 0), head(8, 0x7003), head(11, 0x7003), head(12, 0x7003), head(12, 0), head(16, 0x700a, 1), head(16, 0x9000, 1), head(16, ^uint32(0), 1),
		head(1<<31-1, 0x7003), head(1<<32-1, 0x7003), head(pdu.MaxRequest+1, 0x7003),
		head(28, 0x7003, 0, 0, 0, 1<<31), head(28, 0x7002, 0, 0, 1<<30, 0), head(28, 0x7002, 0, 7, 0, 0),
		head(24, 0x7001, 0, 0, 1<<31), head(24, 0x700e, 0, 1<<31, 1<<31), head(20, 0x700d, 0, 1<<31),
		[]byte("GET /pmapi/metric HTTP/1.1\r\nHost: a\r\n\r\n"), bytes.Repeat([]byte{0xff}, 4096), make([]byte, 4096),
	}
	for _, m := range requests() {
		whole := pdu.Append(nil, 0, m)
		for n := 1; n < len(whole); n += 3 {
			cut := bytes.Clone(whole[:n])
			list = append(list, cut) // less than it says
			if n >= pdu.HeaderSize {
				said := bytes.Clone(cut)
				binary.BigEndian.PutUint32(said, uint32(n))
				list = append(list, said) // and what says so
			}
		}
		long := append(bytes.Clone(whole), 0, 0, 0, 1)
		binary.BigEndian.PutUint32(long, uint32(len(long)))
		list = append(list, long)
		for at := pdu.HeaderSize; at+4 <= len(whole); at += 4 {
			for _, v := range []uint32{0, 1 << 31, 1<<31 - 1, 1<<32 - 1, uint32(len(whole))} {
				other := bytes.Clone(whole)
				binary.BigEndian.PutUint32(other[at:], v)
				list = append(list, other)
			}
		}
	}
	return list
}

// Whatever a client sends, it is answered in the protocol or left, and nobody else notices.
func TestBrokenRequests(t *testing.T) {
	// There are a thousand clients, one after another: if any stayed there were too many.
	address := serve(t, newMachine(), pcpserve.Options{MaxClients: 16})
	witness := dial(t, address)
	for i, b := range broken() {
		c := dial(t, address)
		// The end of what it sends is the end of it all; it may have been left before.
		if c.Write(b) == nil {
			_ = c.CloseWrite()
		}
		for {
			m, err := c.Receive()
			if err != nil {
				if errors.As(err, new(*pdu.Malformed)) || errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("%x is answered with what is no message: %v", b, err)
				}
				break
			}
			if !answered(m.Kind()) {
				t.Fatalf("%x is answered with %+v", b, m)
			}
		}
		c.Close()
		if i%50 == 0 {
			if err := sound(witness); err != nil {
				t.Fatalf("after %x: %v", b, err)
			}
		}
	}
	if err := sound(witness); err != nil {
		t.Fatal(err)
	}
}

// Pmcd's side: what it says it is answered, or not, and the agent stays.
func TestAgentStays(t *testing.T) {
	s := pcpserve.NewServer(newMachine(), pcpserve.Options{Names: pcp.Beside(metric.OwnDomain)})
	for _, b := range broken() {
		if len(b) < pdu.HeaderSize || int64(binary.BigEndian.Uint32(b)) != int64(len(b)) {
			continue // the stream cannot be read on
		}
		ours, theirs := net.Pipe()
		done := make(chan error, 1)
		go func() { done <- s.Agent(context.Background(), theirs, metric.OwnDomain) }()
		c, err := pcpclient.Pmcd(ours)
		if err != nil {
			t.Fatal(err)
		}
		// There may be an answer to that before the one to what is sent behind it.
		sent := make(chan error, 1)
		go func() { sent <- c.Write(pdu.Append(bytes.Clone(b), 0, &pdu.DescReq{PMID: id(400, 1)})) }()
		for {
			m, err := c.Receive()
			if err != nil {
				t.Fatalf("after %x: %v", b, err)
			}
			if d, ok := m.(*pdu.Desc); ok && d.PMID == id(400, 1) {
				break
			}
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		c.Close()
		if err := <-done; err != nil {
			t.Fatalf("after %x the agent ends with %v", b, err)
		}
	}
}

// Over TCP anybody can be pmcd, and say who their clients are.
func TestLiars(t *testing.T) {
	m := newMachine()
	s := pcpserve.NewServer(m, pcpserve.Options{Names: pcp.Beside(metric.OwnDomain), Private: func(d *metric.Desc) bool { return d.PMID == id(401, 3) }})
	for network, want := range map[string]int{"tcp": 0, "unix": disks} {
		address := "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(shortDir(t), "s")
		}
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		done := make(chan error, 1)
		go func() {
			conn, err := l.Accept()
			if err == nil {
				// As who listens may have wrapped it.
				err = s.Agent(context.Background(), struct{ net.Conn }{conn}, metric.OwnDomain)
				conn.Close()
			}
			done <- err
		}()
		conn, err := net.Dial(network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c, err := pcpclient.Pmcd(conn)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Attr(pdu.AttrUserID, "0"); err != nil {
			t.Fatal(err)
		}
		r, err := c.Fetch(id(401, 3), id(401, 0))
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Sets[0].Words) != want || len(r.Sets[1].Bits) != disks {
			t.Errorf("who says by %s that it is root is told %+v", network, r.Sets)
		}
		err = c.Store(pdu.Set{PMID: id(400, 1), Type: pcp.U64, Instances: []uint32{pcp.Null}, Bits: []uint64{1}})
		if (err == nil) != (want > 0) {
			t.Errorf("and may set values: %v", err)
		}
		c.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A hundred clients at once, each of whom hears what is true.
func TestHundredClients(t *testing.T) {
	address := serve(t, newMachine(), pcpserve.Options{Who: somebody})
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range 100 {
		c := dial(t, address)
		c.Timeout = time.Minute // of a busy machine
		all.Go(func() {
			<-start
			for range rounds {
				if err := sound(c); err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
				if err := choosy(c, i); err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
			}
		})
	}
	close(start)
	all.Wait()
}

// choosy wants other processes than all others, and gets them.
func choosy(c *pcpclient.Client, i int) error {
	d, err := c.Desc(id(402, 0))
	if err != nil {
		return err
	}
	list, err := c.Instances(d.InDom)
	if err != nil {
		return err
	}
	if len(list) != processes {
		return fmt.Errorf("there are %d processes", len(list))
	}
	mine := list[i*7]
	if err := c.Want(d.InDom, mine.ID); err != nil {
		return err
	}
	r, err := c.Fetch(id(402, 0), id(400, 0))
	if err != nil {
		return err
	}
	var row int
	fmt.Sscanf(mine.Name, "%d", &row)
	if s := r.Sets[0]; len(s.Instances) != 1 || s.Instances[0] != mine.ID || s.Bits[0] != uint64(row-100) || len(r.Sets[1].Bits) != 1 {
		return fmt.Errorf("of %+v it is %+v", mine, s)
	}
	return c.Want(0)
}

// What a client asks for at its worst is not kept for it, and not sent without a limit.
func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("asks for millions of values")
	}
	address := serve(t, newMachine(), pcpserve.Options{Who: somebody})
	first := dial(t, address)
	if err := sound(first); err != nil {
		t.Fatal(err)
	}
	var many []metric.PMID
	for i := range uint32(16000) {
		many = append(many, id(400, i%singles))
	}
	same := make([]metric.PMID, 16000)
	for i := range same {
		same[i] = id(402, 3)
	}
	huge := &pdu.Profile{InDoms: []pdu.InDomProfile{{InDom: 1, Instances: make([]uint32, 16000)}}}
	// They come in rounds, and what counts is how much the fewest bytes are that came with
	// one: whatever else this process does need not be little.
	const rounds, each = 5, 20
	var clients []*pcpclient.Client
	before, least := heap(), int64(math.MaxInt64)
	for n := range rounds * each {
		c := dial(t, address)
		c.Timeout = time.Minute
		clients = append(clients, c)
		for context := range int32(100) {
			huge.Context = context
			if err := c.Send(huge); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Fetch(many...); err != nil {
			t.Fatal(err)
		}
		if n%each == each-1 {
			now := heap()
			least, before = min(least, now-before), now
		}
	}
	// 16,000 times a thousand strings.
	if _, err := clients[0].Fetch(same...); !errors.Is(err, pdu.Failure(pcp.ErrTooBig)) {
		t.Errorf("half a GB was asked for: %v", err)
	}
	if err := sound(first); err != nil {
		t.Fatal(err)
	}
	// Less than half a MB each, of which a part is the clients'.
	if t.Logf("%d clients keep %d KB", each, least>>10); least > each<<19 {
		t.Error("that is too much")
	}
	runtime.KeepAlive(clients)
}

// heap is what is in use after everything was collected that can be.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// An inbox is a connection of which everything has come already, and which keeps what it
// is told.
type inbox struct {
	net.Conn // for what it has no use for
	sent     io.Reader
	told     bytes.Buffer
}

func (b *inbox) Read(p []byte) (int, error)       { return b.sent.Read(p) }
func (b *inbox) Write(p []byte) (int, error)      { return b.told.Write(p) }
func (b *inbox) SetReadDeadline(time.Time) error  { return nil }
func (b *inbox) SetWriteDeadline(time.Time) error { return nil }
func (b *inbox) Close() error                     { return nil }
func (b *inbox) RemoteAddr() net.Addr             { return &net.UnixAddr{Net: "unix"} }

// An once is a listener to whom one connects.
type once struct{ conns []net.Conn }

func (l *once) Accept() (net.Conn, error) {
	if len(l.conns) == 0 {
		return nil, net.ErrClosed
	}
	c := l.conns[0]
	l.conns = l.conns[1:]
	return c, nil
}

func (l *once) Close() error   { return nil }
func (l *once) Addr() net.Addr { return &net.UnixAddr{Net: "unix"} }

// saysOnlyMessages holds what a fuzzed connection was told against what was sent.
func saysOnlyMessages(t *testing.T, b []byte, conn *inbox) {
	r := pdu.NewReader(&conn.told, 1<<30)
	answers := 0
	for ; ; answers++ {
		if _, _, err := r.Next(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%x is answered with what is no message: %v", b, err)
		}
	}
	if answers > 2+len(b)/pdu.HeaderSize {
		t.Errorf("%d answers to %d bytes", answers, len(b))
	}
}

// Whatever comes, a server and an agent end when that ends, and say nothing that is no
// message.
func FuzzServer(f *testing.F) {
	for _, m := range requests() {
		f.Add(pdu.Append(nil, 0, m))
	}
	m := newMachine()
	agent := pcpserve.NewServer(m, pcpserve.Options{Names: pcp.Beside(metric.OwnDomain)})
	server := pcpserve.NewServer(m, pcpserve.Options{})
	begin := pdu.Append(nil, 1, &pdu.Creds{Version: pdu.Version})
	f.Fuzz(func(t *testing.T, b []byte) {
		all := append(bytes.Clone(begin), b...)
		pmcd, tool := &inbox{sent: bytes.NewReader(all)}, &inbox{sent: bytes.NewReader(all)}
		// What it says of the end is not of interest: there may be nothing whole in it.
		_ = agent.Agent(context.Background(), pmcd, metric.OwnDomain)
		saysOnlyMessages(t, b, pmcd)
		if err := server.Clients(context.Background(), &once{[]net.Conn{tool}}); !errors.Is(err, net.ErrClosed) {
			t.Fatal(err)
		}
		saysOnlyMessages(t, b, tool)
	})
}

// What is longer than a request may be is not waited for.
func TestTooLong(t *testing.T) {
	c := dial(t, serve(t, newMachine(), pcpserve.Options{}))
	if err := c.Write(binary.BigEndian.AppendUint64(nil, (pdu.MaxRequest+1)<<32|uint64(pdu.KindFetch))); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if m, err := c.Receive(); err != nil || m.(*pdu.Error).Code != pcp.ErrIPC {
		t.Errorf("it is answered with %+v, %v", m, err)
	}
	if _, err := c.Receive(); err != io.EOF {
		t.Errorf("and then %v", err)
	}
}
