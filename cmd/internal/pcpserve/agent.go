package pcpserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// maxFromPmcd is how long a message of pmcd's may be: it forwards what clients send, who
// may send less.
const maxFromPmcd = 1 << 20

// nameWait is how long a question for names is kept waiting until there are some: that
// the agent is not ready is an answer that pmcd does not understand then.
const nameWait = 4 * time.Second

// Agent answers pmcd on a connection that it has made, for one domain, until the other
// side closes it, which is no error. Ctx closes it, if conn can be closed.
//
// What pmcd tells of its clients is believed where only pmcd can be at the other end, by a
// pipe or a unix socket. Over TCP it may be anybody, who would say that they are root.
func (s *Server) Agent(ctx context.Context, conn io.ReadWriter, domain uint32) error {
	ctx, cancel := context.WithCancel(ctx)
	a := &agent{session: s.session(domain), conn: conn}
	wants := pdu.FeatureAuth
	if c, ok := conn.(net.Conn); ok && strings.HasPrefix(c.RemoteAddr().Network(), "tcp") {
		a.deaf, wants = true, 0
	}
	defer a.waiting.Wait()
	defer cancel()
	if closer, ok := conn.(io.Closer); ok {
		stop := context.AfterFunc(ctx, func() { closer.Close() })
		defer stop()
	}
	if err := a.send(&pdu.Creds{Version: pdu.Version, Features: wants}, int32(os.Getpid())); err != nil {
		return ended(ctx, fmt.Errorf("pmcd cannot be greeted: %w", err))
	}
	r := pdu.NewReader(conn, maxFromPmcd)
	_, m, err := r.Next()
	if err != nil {
		return ended(ctx, fmt.Errorf("pmcd does not answer the greeting: %w", err))
	}
	if m, ok := m.(*pdu.Creds); !ok || m.Version != pdu.Version {
		return fmt.Errorf("what connected is no pmcd: it answers the greeting with %T, and version %d of its protocol is needed", m, pdu.Version)
	}
	s.strangers.Info("pmcd has connected", "domain", domain)
	if s.opt.Announce {
		a.told = true
		a.announce(ctx)
	}
	for {
		from, m, err := r.Next()
		if err := a.one(ctx, from, m, err); err != nil {
			return ended(ctx, err)
		}
	}
}

// ended is why a connection ended; nil where the other side closed it, or ctx.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// An agent is a connection of pmcd's.
type agent struct {
	*session
	conn io.ReadWriter
	out  []byte
	owed int32 // flags of what has changed, which the next result takes along

	mu      sync.Mutex // of writing
	told    bool       // that it is not ready, and not yet that it is
	waiting sync.WaitGroup
}

// one deals with one message, or with what should have been one.
func (a *agent) one(ctx context.Context, from int32, m pdu.Message, err error) error {
	var bad *pdu.Malformed
	if errors.As(err, &bad) {
		a.s.strangers.Warn("pmcd sent something that is not understood", "what", bad.Error())
		if !wantsAnswer(bad.Kind) {
			return nil
		}
		return a.send(failed(pcp.ErrIPC), 0)
	}
	if err != nil {
		return err
	}
	if wantsAnswer(m.Kind()) && !a.ready(ctx, m) {
		return a.notReady(ctx)
	}
	a.owed |= a.news()
	answer := a.answer(ctx, from, m)
	if answer == nil {
		return nil
	}
	if r, ok := answer.(*pdu.Result); ok {
		// Pmcd looks for flags where a time would be.
		r.Seconds, a.owed = uint64(a.owed), 0
	}
	err = a.send(answer, 0)
	a.fetch.trim(keptCells)
	return err
}

// ready reports whether m can be answered.
func (a *agent) ready(ctx context.Context, m pdu.Message) bool {
	if a.s.opt.Ready == nil {
		return true
	}
	select {
	case <-a.s.opt.Ready:
		return true
	default:
	}
	switch m.(type) {
	case *pdu.Names, *pdu.IDs, *pdu.Children, *pdu.Traverse:
	default:
		return false
	}
	select {
	case <-a.s.opt.Ready:
	case <-time.After(nameWait):
	case <-ctx.Done():
	}
	return true
}

// notReady tells pmcd to try later, and when.
func (a *agent) notReady(ctx context.Context) error {
	a.mu.Lock()
	told := a.told
	a.told = true
	a.mu.Unlock()
	if err := a.send(failed(pcp.ErrNotReady), 0); err != nil || told {
		return err
	}
	a.announce(ctx)
	return nil
}

// announce tells pmcd when there is something to answer with.
func (a *agent) announce(ctx context.Context) {
	a.waiting.Go(func() {
		if a.s.opt.Ready != nil {
			select {
			case <-ctx.Done():
				return
			case <-a.s.opt.Ready:
			}
		}
		a.mu.Lock()
		a.told = false
		a.mu.Unlock()
		a.s.opt.Log.Info("ready", "domain", a.domain)
		a.send(failed(pcp.ErrReady), 0) // what comes of it the next reading tells
	})
}

// send sends one message.
func (a *agent) send(m pdu.Message, from int32) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if cap(a.out) > 4*longOne {
		a.out = nil
	}
	a.out = pdu.Append(a.out[:0], from, m)
	_, err := a.conn.Write(a.out)
	return err
}
