// Package pcpclient is the client side of PCP's protocol, for tests. It plays a tool that
// asks a server, or pmcd asking an agent. An answer of the wrong kind, or about other
// metrics than it asked for, is an error.
package pcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
)

// Timeout is how long an answer may take: longer than pmcd waits for one, because a machine that
// runs tests may be busy.
const Timeout = 30 * time.Second

// maxAnswer is how long an answer may be.
const maxAnswer = 64 << 20

// Client is one end of a connection. It sends one request at a time.
type Client struct {
	// Context is the number of the context that asks: agents keep what they know about a client,
	// its profile and its attributes, under it.
	Context int32
	// Timeout is how long this client waits for an answer.
	Timeout time.Duration
	// Features are what the other end offered, or what an agent asked for.
	Features pdu.Features
	// Changes are all flags so far for changes of names and labels.
	Changes int32

	conn io.ReadWriter
	r    *pdu.Reader
	pmcd bool
	out  []byte
}

func newClient(conn io.ReadWriter) *Client {
	return &Client{Timeout: Timeout, conn: conn, r: pdu.NewReader(conn, maxAnswer)}
}

// Tool connects as PCP's tools do: it waits for pmcd's greeting, and answers it.
func Tool(conn io.ReadWriter) (*Client, error) {
	c := newClient(conn)
	m, err := c.Receive()
	if err != nil {
		return nil, fmt.Errorf("no greeting: %w", err)
	}
	switch m := m.(type) {
	case *pdu.Greeting:
		if m.Code < 0 {
			return nil, pdu.Failure(m.Code)
		}
		if m.Version != pdu.Version {
			return nil, fmt.Errorf("greeted with version %d of the protocol", m.Version)
		}
		c.Features = m.Features
	case *pdu.Error:
		return nil, pdu.Failure(m.Code)
	default:
		return nil, fmt.Errorf("greeted with %v", m.Kind())
	}
	// A tool just uses the features that it wants of those offered: asking for them here is a
	// protocol error for pmcd.
	return c, c.send(int32(os.Getpid()), &pdu.Creds{Version: pdu.Version})
}

// Dial connects to an address and calls Tool. The caller must close the client.
func Dial(ctx context.Context, network, address string) (*Client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c, err := Tool(conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// Pmcd accepts an agent as pmcd does: it waits for its credentials, and answers them.
func Pmcd(conn io.ReadWriter) (*Client, error) {
	c := newClient(conn)
	c.pmcd = true
	m, err := c.Receive()
	if err != nil {
		return nil, fmt.Errorf("no credentials: %w", err)
	}
	creds, ok := m.(*pdu.Creds)
	if !ok {
		return nil, fmt.Errorf("an agent begins with %v", m.Kind())
	}
	if creds.Version != pdu.Version {
		return nil, fmt.Errorf("an agent of version %d of the protocol", creds.Version)
	}
	c.Features = creds.Features
	return c, c.send(int32(os.Getpid()), &pdu.Creds{Version: pdu.Version, Features: creds.Features & pdu.FeatureAuth})
}

// Command starts an agent, with a pipe each way, and calls Pmcd. The agent must end when the
// client is closed.
func Command(cmd *exec.Cmd) (*Client, error) {
	toAgent, send, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	receive, fromAgent, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, toAgent.Close(), send.Close())
	}
	cmd.Stdin, cmd.Stdout = toAgent, fromAgent
	err = errors.Join(cmd.Start(), toAgent.Close(), fromAgent.Close())
	p := &agentPipe{cmd, receive, send}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	c, err := Pmcd(p)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return c, nil
}

// agentPipe is an agent with the pipes to it.
type agentPipe struct {
	cmd           *exec.Cmd
	receive, send *os.File
}

func (p *agentPipe) Read(b []byte) (int, error)  { return p.receive.Read(b) }
func (p *agentPipe) Write(b []byte) (int, error) { return p.send.Write(b) }

func (p *agentPipe) SetDeadline(t time.Time) error {
	return errors.Join(p.receive.SetDeadline(t), p.send.SetDeadline(t))
}

// Close closes the pipe to the agent, as pmcd does, and waits for the agent to end.
func (p *agentPipe) Close() error {
	err := p.send.Close()
	if p.cmd.Process != nil {
		late := time.AfterFunc(2*Timeout, func() { p.cmd.Process.Kill() })
		err = errors.Join(err, p.cmd.Wait())
		late.Stop()
	}
	return errors.Join(err, p.receive.Close())
}

// Close closes the connection. It waits for the end of an agent that Command has started, and
// returns an error if the agent fails.
func (c *Client) Close() error {
	if closer, ok := c.conn.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

func (c *Client) send(from int32, m pdu.Message) error {
	c.out = pdu.Append(c.out[:0], from, m)
	return c.Write(c.out)
}

// Write sends arbitrary bytes.
func (c *Client) Write(b []byte) error {
	c.limit()
	_, err := c.conn.Write(b)
	return err
}

// CloseWrite ends sending; the client can still receive. Over a pipe or a connection that cannot
// do this, it closes both directions.
func (c *Client) CloseWrite() error {
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

func (c *Client) limit() {
	if d, ok := c.conn.(interface{ SetDeadline(time.Time) error }); ok {
		d.SetDeadline(time.Now().Add(c.Timeout))
	}
}

// Send sends a message that has no answer.
func (c *Client) Send(m pdu.Message) error {
	from := int32(0)
	if c.pmcd {
		from = c.Context
	}
	return c.send(from, m)
}

// Receive returns the next message.
func (c *Client) Receive() (pdu.Message, error) {
	c.limit()
	_, m, err := c.r.Next()
	return m, err
}

// Ask sends a message and returns its answer. An answer that is an Error becomes a pdu.Failure.
// An error that announces changes comes before the answer, and is kept in Changes.
func (c *Client) Ask(m pdu.Message) (pdu.Message, error) {
	if err := c.Send(m); err != nil {
		return nil, err
	}
	for {
		a, err := c.Receive()
		if err != nil {
			return nil, fmt.Errorf("no answer to %v: %w", m.Kind(), err)
		}
		e, failed := a.(*pdu.Error)
		switch {
		case !failed:
			return a, nil
		case e.Code > 0:
			c.Changes |= e.Code
		default:
			return a, pdu.Failure(e.Code)
		}
	}
}

// ask is Ask for an answer that must be of type A.
func ask[A pdu.Message](c *Client, m pdu.Message) (A, error) {
	a, err := c.Ask(m)
	if err != nil {
		var none A
		return none, err
	}
	answer, ok := a.(A)
	if !ok {
		return answer, fmt.Errorf("%v is answered with %v", m.Kind(), a.Kind())
	}
	return answer, nil
}

// AwaitReady waits until an agent that was not ready sends that it is.
func (c *Client) AwaitReady() error {
	m, err := c.Receive()
	if err != nil {
		return err
	}
	if e, ok := m.(*pdu.Error); !ok || e.Code != pcp.ErrReady {
		return fmt.Errorf("%v where an agent should say that it is ready", m.Kind())
	}
	return nil
}

// End sends an agent that the client with this Context has gone.
func (c *Client) End() error { return c.Send(&pdu.Error{Code: pcp.ErrNotConn}) }

// Attr sends an agent an attribute of the client with this Context.
func (c *Client) Attr(attribute uint32, value string) error {
	return c.Send(&pdu.Attr{Attribute: attribute, Value: value})
}
