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

// maxFromPmcd is how long a message from pmcd may be. pmcd forwards what its clients send, and
// those may send less.
const maxFromPmcd = 1 << 20

// nameWait is how long a request for names waits until the agent is ready: pmcd does not
// understand "not ready" as an answer to such a request.
const nameWait = 4 * time.Second

// Agent answers pmcd on a connection that is already made, for one domain, until the other
// side closes it, which is no error. The end of ctx closes it, if conn can be closed.
//
// Agent believes what pmcd says about its clients only on a pipe or a unix socket, where only
// pmcd can be at the other end. Over TCP anybody may connect, and claim to be root.
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

// ended returns why a connection ended; nil if the other side or ctx closed it.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// An agent is a connection with pmcd.
type agent struct {
	*session
	conn io.ReadWriter
	out  []byte
	owed int32 // flags of changes, which the next result carries

	mu      sync.Mutex // guards writing
	told    bool       // pmcd has been sent "not ready", and not yet "ready"
	waiting sync.WaitGroup
}

// one handles one message, or an error in place of one.
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
		// pmcd expects the flags in the place of the time.
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

// notReady sends pmcd an error that says to try later, and announces when that is.
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

// announce sends pmcd a message once the agent is ready.
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
		a.send(failed(pcp.ErrReady), 0) // if it fails, the next read from pmcd fails, too
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
