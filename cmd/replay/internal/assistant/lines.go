package assistant

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mostLine is the most bytes that a request may have.
const mostLine = 1 << 20

// lines is a connection of JSON-RPC messages, one a line. Unlike the SDK's it survives lines that
// are no message, or too long, and answers them with an error; and at the end of the input it
// waits until all requests are answered.
type lines struct {
	from  *bufio.Reader
	read  chan line
	ended chan struct{}
	end   func()

	mu   sync.Mutex // is held while a line is written
	to   io.Writer
	open map[any]bool  // the ids of requests that are not answered
	idle chan struct{} // receives when there are none
}

// A line is what was read: a line, or why there is none.
type line struct {
	text []byte
	err  error
}

func newLines(from io.Reader, to io.Writer) *lines {
	l := &lines{from: bufio.NewReaderSize(from, 64<<10), to: to, read: make(chan line), ended: make(chan struct{}), open: make(map[any]bool), idle: make(chan struct{}, 1)}
	l.end = sync.OnceFunc(func() { close(l.ended) })
	return l
}

// Connect is for mcp.Transport.
func (l *lines) Connect(context.Context) (mcp.Connection, error) {
	go l.readAll()
	return l, nil
}

// readAll reads lines until there are no more, or the connection is closed. A read of standard
// input cannot be interrupted; it ends with the process.
func (l *lines) readAll() {
	for {
		text, err := l.readLine()
		select {
		case l.read <- line{text, err}:
		case <-l.ended:
			return
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return
		}
	}
}

var errTooLong = fmt.Errorf("a message has more than %d bytes", mostLine)

// readLine reads a line. Of one that is too long it keeps nothing.
func (l *lines) readLine() ([]byte, error) {
	var text []byte
	long := false
	for {
		part, err := l.from.ReadSlice('\n')
		if long = long || len(text)+len(part) > mostLine; long {
			text = nil
		} else {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || err == io.EOF):
			return nil, errTooLong
		case err == io.EOF && len(text) > 0:
			return text, nil // The next call finds the end.
		default:
			return text, err
		}
	}
}

// Read returns the next message.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var got line
		select {
		case got = <-l.read:
		case <-l.ended:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		code, err := int64(jsonrpc.CodeInvalidRequest), got.err
		switch {
		case err == nil && blank(got.text):
			continue
		case err == nil && !json.Valid(got.text):
			code, err = jsonrpc.CodeParseError, errors.New("this line is no JSON: each line must be one message of JSON-RPC")
		case err == nil:
			m, err := jsonrpc.DecodeMessage(got.text)
			if err == nil {
				l.begin(m)
				return m, nil
			}
			if err := l.refuse(code, errors.New("this line is no request of JSON-RPC 2.0: "+safe(err.Error(), roomOfText))); err != nil {
				return nil, err
			}
			continue
		case !errors.Is(err, errTooLong):
			return nil, l.last(ctx, err)
		}
		if err := l.refuse(code, err); err != nil {
			return nil, err
		}
	}
}

// begin notes a request that is to be answered. One that is cancelled is not.
func (l *lines) begin(m jsonrpc.Message) {
	r, ok := m.(*jsonrpc.Request)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.ID.IsValid() {
		l.open[r.ID.Raw()] = true
		return
	}
	var cancelled mcp.CancelledParams
	if r.Method == "notifications/cancelled" && json.Unmarshal(r.Params, &cancelled) == nil {
		if id, err := jsonrpc.MakeID(cancelled.RequestID); err == nil {
			l.done(id)
		}
	}
}

// done notes that a request needs no answer any more. The caller holds l.mu.
func (l *lines) done(id jsonrpc.ID) {
	if delete(l.open, id.Raw()); len(l.open) == 0 {
		select {
		case l.idle <- struct{}{}:
		default:
		}
	}
}

// last returns the error that ended the input, once all requests are answered.
func (l *lines) last(ctx context.Context, err error) error {
	for {
		l.mu.Lock()
		open := len(l.open)
		l.mu.Unlock()
		if open == 0 {
			return err
		}
		select {
		case <-l.idle:
		case <-l.ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func blank(text []byte) bool {
	for _, c := range text {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// refuse answers a line that is no message.
func (l *lines) refuse(code int64, why error) error {
	o, e := newObject(), newObject()
	e.add("code", code)
	e.add("message", why.Error())
	o.add("jsonrpc", "2.0")
	o.add("id", nil)
	o.add("error", e.close())
	return l.write(o.close())
}

// Write writes a message.
func (l *lines) Write(_ context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	err = l.write(text)
	if r, ok := m.(*jsonrpc.Response); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.done(r.ID)
	}
	return err
}

func (l *lines) write(text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.to.Write(append(text, '\n'))
	return err
}

// Close ends the connection.
func (l *lines) Close() error { l.end(); return nil }

// SessionID is for mcp.Connection: there is one session.
func (l *lines) SessionID() string { return "" }
