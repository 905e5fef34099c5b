package assistant

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/serve/ask"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// A script is an input of lines; before is called before each is read.
type script struct {
	lines  []string
	before func(int)
	n      int
}

func (s *script) Read(b []byte) (int, error) {
	if s.n == len(s.lines) {
		return 0, io.EOF
	}
	s.before(s.n)
	n := copy(b, s.lines[s.n]+"\n")
	s.n++
	return n, nil
}

// A line that is no message is answered with an error, whatever it is, and those after it are
// answered as ever.
func TestLinesThatAreNoMessages(t *testing.T) {
	s := New(ask.New(func(context.Context, ask.Command) (ask.Aside, error) { return ask.Aside{Basis: basis}, nil }, ask.DefaultLimits), Options{})
	good := `{"jsonrpc":"2.0","id":"ok","method":"tools/call","params":{"name":"why","arguments":{},` + meta + `}}`
	for _, c := range []struct{ name, line, want string }{
		{"no JSON", "top --by memory", `"id":null,"error":{"code":-32700,"message":"this line is no JSON`},
		{"half", `{"jsonrpc":"2.0","id":1,`, `"code":-32700`},
		{"two", good + good, `"code":-32700`},
		{"a batch", "[" + good + "]", `"code":-32600`},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `"code":-32600`},
		{"no words", "\x1b[2J\xff\x00", `"code":-32700`},
		{"10 MB", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 10<<20) + `"}`, `"code":-32600,"message":"a message has more than 1048576 bytes"`},
		{"deep", strings.Repeat("[", 100000) + strings.Repeat("]", 100000), `"error":{"code":-32`},
		{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"tools/run","params":{` + meta + `}}`, `"code":-32601`},
		{"an unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + strings.Repeat("x", 1<<10) + `",` + meta + `}}`, `"code":-32602`},
		{"huge arguments", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"top","arguments":{"host":"` + strings.Repeat("x", 1<<19) + `"},` + meta + `}}`, `"isError":true`},
		{"nothing", "", `"id":"ok"`},
		{"nothing at all", " \r", `"id":"ok"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var answers bytes.Buffer
			if err := s.Serve(t.Context(), strings.NewReader(c.line+"\n"+good), &answers); err != nil {
				t.Fatal(err)
			}
			text := answers.String()
			if !strings.Contains(text, c.want) || !strings.Contains(text, `"id":"ok","result"`) {
				t.Errorf("%.600s", text)
			}
			if len(text) > 10000 || strings.Contains(text, "\x1b") {
				t.Errorf("%d bytes of answers", len(text))
			}
		})
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// Without a reader of the answers, or after a signal, the server ends though its input does not.
func TestTheServerEnds(t *testing.T) {
	s := New(ask.New(func(context.Context, ask.Command) (ask.Aside, error) { return ask.Aside{Basis: basis}, nil }, ask.DefaultLimits), Options{})
	in, to := io.Pipe()
	defer to.Close()
	go io.WriteString(to, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}`+"\n")
	if err := s.Serve(t.Context(), in, closed{}); err == nil {
		t.Error("no error for a broken pipe")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Serve(ctx, in, io.Discard); err == nil {
		t.Error("no error for a signal")
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n[1]\nx"))
	s := New(ask.New(func(context.Context, ask.Command) (ask.Aside, error) { return ask.Aside{Basis: basis}, nil }, ask.DefaultLimits), Options{})
	f.Fuzz(func(t *testing.T, in []byte) {
		var answers bytes.Buffer
		_ = s.Serve(t.Context(), bytes.NewReader(in), &answers)
		if n := bytes.Count(answers.Bytes(), []byte("\n")); n > bytes.Count(in, []byte("\n"))+1 {
			t.Errorf("%d answers to %q", n, in)
		}
	})
}
