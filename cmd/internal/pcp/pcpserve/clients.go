package pcpserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"tachograph/cmd/internal/listen"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

const (
	// greetWait is how long a client may take to answer the greeting.
	greetWait = 10 * time.Second
	// partWait is how long a message may take from its first byte to its last, and how long a
	// client may take to read an answer.
	partWait = 10 * time.Second
)

// features are the features that the greeting offers clients.
const features = pdu.FeatureLabels | pdu.FeatureHighres | pdu.FeatureDescs

// Clients answers PCP's tools that connect, as pmcd would, until ctx ends, which is no error, or
// the listener fails. It closes l, and returns when all clients have gone.
func (s *Server) Clients(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	seats := listen.NewSeats(s.opt.MaxClients)
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if passing(err) {
				s.strangers.Warn("a client cannot connect", "why", err.Error())
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
				continue
			}
			return fmt.Errorf("clients cannot connect to %v: %w", l.Addr(), err)
		}
		leave, why := s.seat(seats, conn)
		if leave == nil {
			s.strangers.Warn("a client is refused", "why", why)
			conn.SetWriteDeadline(time.Now().Add(time.Second))
			conn.Write(pdu.Append(nil, 0, &pdu.Greeting{Code: pcp.ErrConnLimit, Version: pdu.Version}))
			conn.Close()
			continue
		}
		all.Go(func() {
			defer leave()
			defer conn.Close()
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			defer stop()
			if err := s.serve(ctx, conn); err != nil && ctx.Err() == nil {
				s.strangers.Info("a client was left", "why", err.Error())
			}
		})
	}
}

// seat gives a client a seat, or returns why there is none.
func (s *Server) seat(seats *listen.Seats, conn net.Conn) (leave func(), why string) {
	var who *listen.Who
	if told, ok := conn.(interface{ Who() *listen.Who }); ok {
		who = told.Who()
	} else {
		var err error
		if who, err = listen.WhoIs(conn, listen.PeerOf, int(s.self)); err != nil {
			return nil, err.Error()
		}
	}
	leave, ok := seats.Take(who)
	if !ok {
		return nil, fmt.Sprintf("%s is one too many: there may be %d, half of them of one user or address", who.Name, s.opt.MaxClients)
	}
	return leave, ""
}

// passing reports whether accepting may succeed after this error.
func passing(err error) bool {
	var n net.Error
	return !errors.Is(err, net.ErrClosed) && errors.As(err, &n)
}

// A patient reader waits forever for a message to begin, but not for the rest of it.
type patient struct {
	net.Conn
	begun bool
}

func (p *patient) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if !p.begun && n > 0 {
		p.begun = true
		p.Conn.SetReadDeadline(time.Now().Add(partWait))
	}
	return n, err
}

// next returns the next message.
func (p *patient) next(r *pdu.Reader) (from int32, m pdu.Message, err error) {
	p.begun = false
	p.Conn.SetReadDeadline(time.Time{})
	return r.Next()
}

// serve answers a client until it closes the connection or sends something that is not a
// request.
func (s *Server) serve(ctx context.Context, conn net.Conn) error {
	c := s.session(0)
	if s.opt.Who != nil {
		c.client.uid, c.client.known = s.opt.Who(conn)
	}
	out := &outlet{session: c, conn: conn}
	if err := out.send(&pdu.Greeting{Version: pdu.Version, Features: features}, 0); err != nil {
		return err
	}
	p := &patient{Conn: conn, begun: true}
	r := pdu.NewReader(p, pdu.MaxRequest)
	conn.SetReadDeadline(time.Now().Add(greetWait))
	_, m, err := r.Next()
	if err != nil {
		return gone(err)
	}
	if _, ok := m.(*pdu.Creds); !ok {
		return fmt.Errorf("it answered the greeting with %v", m.Kind())
	}
	owed := int32(0)
	for {
		from, m, err := p.next(r)
		if err != nil {
			if errors.As(err, new(*pdu.Malformed)) || errors.Is(err, pdu.ErrLength) {
				out.send(failed(pcp.ErrIPC), 0)
			}
			return gone(err)
		}
		owed |= c.news()
		if _, fetch := m.(*pdu.Fetch); fetch && owed != 0 {
			// A client looks for changes in the answer to a fetch, and nowhere else.
			if err := out.send(failed(owed), 0); err != nil {
				return err
			}
			owed = 0
		}
		answer := c.answer(ctx, from, m)
		if answer == nil {
			continue
		}
		if err := out.send(answer, c.size(answer)); err != nil {
			return err
		}
	}
}

// gone returns nil if err says that the other side has closed the connection.
func gone(err error) error {
	// PCP's tools end without reading all that was sent to them.
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}

// An outlet sends to a client. Long answers to all clients share a limit.
type outlet struct {
	*session
	conn net.Conn
}

// buffers are what answers are written to before they are sent: one for each answer being sent,
// none for an idle client.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// send sends a message; size is its approximate size if that is known.
func (o *outlet) send(m pdu.Message, size int) error {
	if size > longOne {
		defer o.s.flight.Add(-int64(size))
		if o.s.flight.Add(int64(size)) > maxFlight {
			m = failed(pcp.ErrAgain)
		}
	}
	buf := buffers.Get().(*[]byte)
	*buf = pdu.Append((*buf)[:0], 0, m)
	o.fetch.trim(keptOfClient) // sending may take long
	o.conn.SetWriteDeadline(time.Now().Add(partWait))
	_, err := o.conn.Write(*buf)
	if cap(*buf) <= 4*longOne {
		buffers.Put(buf)
	}
	return err
}
