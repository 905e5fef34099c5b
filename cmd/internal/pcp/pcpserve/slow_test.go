package pcpserve_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/cmd/internal/listen"
	"tachograph/cmd/internal/pcp/pcpclient"
	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// A lane is a listener to whom one connects without a network, in a time of its own.
type lane struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newLane() *lane { return &lane{conns: make(chan net.Conn), done: make(chan struct{})} }

func (l *lane) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *lane) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *lane) Addr() net.Addr { return &net.UnixAddr{Name: "lane", Net: "unix"} }

func (l *lane) connect() net.Conn { return l.connectAs(&listen.Who{Owner: true}) }

func (l *lane) connectAs(who *listen.Who) net.Conn {
	ours, theirs := net.Pipe()
	l.conns <- known{theirs, who}
	return ours
}

// A known connection says who is at the other end.
type known struct {
	net.Conn
	who *listen.Who
}

func (k known) Who() *listen.Who { return k.who }

// inTime runs a test in a time of its own, with a server.
func inTime(t *testing.T, opt pcpserve.Options, test func(t *testing.T, l *lane)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		l := newLane()
		done := make(chan error, 1)
		go func() { done <- pcpserve.NewServer(newMachine(), opt).Clients(ctx, l) }()
		test(t, l)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// left is how long it takes until a server has had enough of a connection.
func left(conn net.Conn) time.Duration {
	since := time.Now()
	io.Copy(io.Discard, conn)
	return time.Since(since)
}

// Who is slow is left; who has nothing to ask is not.
func TestSlow(t *testing.T) {
	greeted := func(t *testing.T, l *lane) (net.Conn, *pcpclient.Client) {
		conn := l.connect()
		c, err := pcpclient.Tool(conn)
		if err != nil {
			t.Fatal(err)
		}
		return conn, c
	}
	const most = time.Minute
	t.Run("says nothing", func(t *testing.T) {
		inTime(t, pcpserve.Options{}, func(t *testing.T, l *lane) {
			conn := l.connect()
			if took := left(conn); took == 0 || took > most {
				t.Errorf("it was left after %v", took)
			}
		})
	})
	t.Run("takes no greeting", func(t *testing.T) {
		inTime(t, pcpserve.Options{}, func(t *testing.T, l *lane) {
			conn := l.connect()
			time.Sleep(most)
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Error("it is still being greeted")
			}
		})
	})
	t.Run("sends half a message", func(t *testing.T) {
		inTime(t, pcpserve.Options{}, func(t *testing.T, l *lane) {
			conn, _ := greeted(t, l)
			conn.SetDeadline(time.Time{})
			conn.Write(pdu.Append(nil, 0, &pdu.DescReq{PMID: 1})[:14])
			if took := left(conn); took == 0 || took > most {
				t.Errorf("it was left after %v", took)
			}
		})
	})
	t.Run("sends byte by byte", func(t *testing.T) {
		inTime(t, pcpserve.Options{}, func(t *testing.T, l *lane) {
			conn, _ := greeted(t, l)
			conn.SetDeadline(time.Time{})
			since := time.Now()
			long := pdu.Append(nil, 0, &pdu.Traverse{Name: string(bytes.Repeat([]byte("a"), 1000))})
			for i := range long {
				if _, err := conn.Write(long[i:][:1]); err != nil {
					break
				}
				time.Sleep(time.Second)
			}
			if took := time.Since(since); took > most {
				t.Errorf("it was listened to for %v", took)
			}
		})
	})
	t.Run("takes no answer", func(t *testing.T) {
		inTime(t, pcpserve.Options{}, func(t *testing.T, l *lane) {
			conn, c := greeted(t, l)
			if err := c.Send(&pdu.Traverse{Name: "attack"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(most)
			conn.SetDeadline(time.Time{})
			if took := left(conn); took > time.Second {
				t.Errorf("after a minute it was left after %v", took)
			}
		})
	})
	t.Run("asks and takes nothing", func(t *testing.T) {
		inTime(t, pcpserve.Options{}, func(t *testing.T, l *lane) {
			conn, c := greeted(t, l)
			c.Timeout = 10 * most
			since := time.Now()
			sent := 0
			for ; c.Send(&pdu.Fetch{PMIDs: []metric.PMID{id(402, 0)}}) == nil; sent++ {
			}
			if took := time.Since(since); took > most || sent > 2 {
				t.Errorf("%d requests were read in %v", sent, took)
			}
			conn.Close()
		})
	})
	t.Run("has nothing to ask for a day", func(t *testing.T) {
		inTime(t, pcpserve.Options{}, func(t *testing.T, l *lane) {
			_, c := greeted(t, l)
			for range 3 {
				time.Sleep(24 * time.Hour)
				if err := sound(c); err != nil {
					t.Error(err)
				}
			}
			c.Close()
		})
	})
}

// Who comes when there are too many is told so, and can come when one has gone.
func TestTooMany(t *testing.T) {
	inTime(t, pcpserve.Options{MaxClients: 4}, func(t *testing.T, l *lane) { // of which the last is root's
		var there []*pcpclient.Client
		for range 3 {
			c, err := pcpclient.Tool(l.connect())
			if err != nil {
				t.Fatal(err)
			}
			there = append(there, c)
		}
		for range 5 {
			if _, err := pcpclient.Tool(l.connect()); !errors.Is(err, pdu.Failure(pcp.ErrConnLimit)) {
				t.Errorf("one too many: %v", err)
			}
		}
		for _, c := range there {
			if err := sound(c); err != nil {
				t.Error(err)
			}
		}
		root, err := pcpclient.Tool(l.connectAs(&listen.Who{Name: "user 0", Peer: &listen.Peer{}}))
		if err != nil {
			t.Fatal("root:", err)
		}
		if err := sound(root); err != nil {
			t.Error(err)
		}
		root.Close()
		there[1].Close()
		synctest.Wait()
		c, err := pcpclient.Tool(l.connect())
		if err != nil {
			t.Fatal(err)
		}
		if err := sound(c); err != nil {
			t.Error(err)
		}
		c.Close()
		there[0].Close()
		there[2].Close()
	})
}

// A server that ends leaves nobody waiting, whatever they were about.
func TestServerEnds(t *testing.T) {
	inTime(t, pcpserve.Options{}, func(t *testing.T, l *lane) {
		l.connect() // who has not taken the greeting
		idle, err := pcpclient.Tool(l.connect())
		if err != nil {
			t.Fatal(err)
		}
		busy, err := pcpclient.Tool(l.connect())
		if err != nil {
			t.Fatal(err)
		}
		if err := busy.Send(&pdu.Fetch{PMIDs: []metric.PMID{id(402, 0)}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		defer idle.Close()
		defer busy.Close()
	})
}

// A source that hangs costs a fetch its two seconds, and those of others nothing.
func TestHungMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &hung{machine: newMachine()}
		ctx, cancel := context.WithCancel(t.Context())
		l := newLane()
		done := make(chan error, 1)
		go func() { done <- pcpserve.NewServer(m, pcpserve.Options{}).Clients(ctx, l) }()
		slow, err := pcpclient.Tool(l.connect())
		if err != nil {
			t.Fatal(err)
		}
		quick, err := pcpclient.Tool(l.connect())
		if err != nil {
			t.Fatal(err)
		}
		m.hangs.Store(true)
		since := time.Now()
		r, err := slow.Fetch(id(402, 0))
		if took := time.Since(since); took > 4*time.Second {
			t.Errorf("it took %v", took)
		}
		if err == nil && r.Sets[0].Err != pcp.ErrAgain || err != nil && !errors.Is(err, pdu.Failure(pcp.ErrAgain)) {
			t.Errorf("what hangs is %+v, %v", r, err)
		}
		if _, err := quick.Desc(id(402, 0)); err != nil {
			t.Error(err)
		}
		m.hangs.Store(false)
		if err := errors.Join(sound(slow), sound(quick)); err != nil {
			t.Error(err)
		}
		slow.Close()
		quick.Close()
		cancel()
		<-done
	})
}

// hung is a machine that does not answer before it must.
type hung struct {
	*machine
	hangs atomic.Bool
}

func (h *hung) Fetch(ctx context.Context, want []*metric.Desc) (*pcpserve.View, error) {
	if h.hangs.Load() {
		<-ctx.Done()
	}
	return h.machine.Fetch(ctx, want)
}

// One user's clients, or one address's, leave places for those of others.
func TestTooManyOfOne(t *testing.T) {
	inTime(t, pcpserve.Options{MaxClients: 8}, func(t *testing.T, l *lane) {
		for _, c := range []struct {
			who  listen.Who
			most int
		}{{listen.Who{Name: "user 7", Peer: &listen.Peer{UID: 7}}, 4}, {listen.Who{Name: "192.0.2.1"}, 2}} {
			for n := range 5 {
				_, err := pcpclient.Tool(l.connectAs(&c.who))
				if full := errors.Is(err, pdu.Failure(pcp.ErrConnLimit)); full != (n >= c.most) || err != nil && !full {
					t.Errorf("%s: connection %d: %v", c.who.Name, n+1, err)
				}
			}
		}
	})
}

// Whoever connects in a loop fills no disk.
func TestSparing(t *testing.T) {
	var out bytes.Buffer
	opt := pcpserve.Options{Log: slog.New(slog.NewTextHandler(&out, nil)), MaxClients: 1}
	inTime(t, opt, func(t *testing.T, l *lane) {
		for range 3 {
			for range 1000 {
				conn := l.connect()
				io.ReadFull(conn, make([]byte, 20))
				conn.Write(pdu.Append(nil, 0, &pdu.DescReq{}))
				left(conn)
				synctest.Wait()
			}
			time.Sleep(time.Minute)
		}
	})
	if lines := bytes.Count(out.Bytes(), []byte("\n")); lines != 3*60+2 || !bytes.Contains(out.Bytes(), []byte("too much of this to tell it all\" lines=940")) {
		t.Errorf("it said %d lines\n%s", lines, out.Bytes()[:min(out.Len(), 2000)])
	}
}
