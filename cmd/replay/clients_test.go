package main

import (
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"connectrpc.com/connect"

	"tachograph/api/sysctl"
	"tachograph/api/sysctl/sysctlconnect"
	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/api/tachograph/v1/tachographv1connect"
	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/serve"
	"tachograph/cmd/replay/internal/serve/ask"
)

// manyClients is how many clients there are at once in tests.
const manyClients = 200

// altogether runs fn for many clients, all at once.
func altogether(fn func(n int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for n := range manyClients {
		all.Go(func() {
			<-begin
			fn(n)
		})
	}
	close(begin)
	all.Wait()
}

// over returns an HTTP client with a connection of its own to a station.
func (st *station) over(t *testing.T) *http.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(st.address, "unix:"))
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestManyCommandLinesAtOnce asks command lines by 200 clients at once: each has its whole answer or learns
// that the server is busy, and only two commands run at a time.
func TestManyCommandLinesAtOnce(t *testing.T) {
	t.Parallel()
	dir := recordedMac(t, false)
	server := stationOf(t, dir, func() time.Time { return testNow }, serve.Limits{})
	lines := []string{"info", "top", "metrics --categories", "values kernel.all.load --format json"}
	want := make([]string, len(lines))
	for i, line := range lines {
		want[i], _, _ = replayWith(openStore, testNow, append(words(line), "--archive", dir)...)
	}
	var answered, busy atomic.Int64
	altogether(func(n int) {
		line := lines[n%len(lines)]
		out, said, status := replayWith(openStore, testNow, append(words(line), "--from-server", server.address)...)
		switch {
		case status == cli.Yes && out == want[n%len(lines)]:
			answered.Add(1)
		case status == cli.Failed && out == "" && strings.Contains(said, "ask again later") && strings.Count(said, "\n") == 1:
			busy.Add(1)
		default:
			t.Errorf("replay %s: status %d, %q, %.300s", line, status, said, firstDifference(want[n%len(lines)], out))
		}
	})
	t.Logf("%d were answered, %d were refused", answered.Load(), busy.Load())
	limits := ask.DefaultLimits
	if most := server.most.Load(); most > int64(limits.AtOnce) || answered.Load() < int64(limits.AtOnce+limits.Waiting)*3/4 {
		t.Errorf("%d commands ran at a time, %d clients of %d were answered", most, answered.Load(), manyClients)
	}
	until(t, "nothing runs for clients that have gone", server.quiet)
}

// TestManySubscribersOfSysctls has 200 clients subscribe, and ask, at once. All are answered, and nothing
// is left of them when they have gone.
func TestManySubscribersOfSysctls(t *testing.T) { // not parallel: it counts goroutines
	s := newStage(t, 13)
	s.live(0, 5)
	server := newStation(t, s, serve.Limits{})
	names := []string{"kern.boottime", "vm.page_free_count", "no.such.name"}
	telemetry := func(c *http.Client) sysctlconnect.SysctlServiceClient {
		return sysctlconnect.NewSysctlServiceClient(c, "http://localhost")
	}
	want, err := telemetry(server.over(t)).GetMetrics(t.Context(), connect.NewRequest(&sysctl.GetMetricsRequest{Names: names}))
	if err != nil {
		t.Fatal(err)
	}
	altogether(func(n int) {
		got, err := telemetry(server.over(t)).GetMetrics(t.Context(), connect.NewRequest(&sysctl.GetMetricsRequest{Names: names}))
		switch {
		case connect.CodeOf(err) == connect.CodeResourceExhausted && err != nil:
		case err != nil || len(got.Msg.Metrics) != len(want.Msg.Metrics):
			t.Errorf("%v, %v", got, err)
		}
	})
	before := runtime.NumGoroutine()
	var all sync.WaitGroup
	ctx, leave := context.WithCancel(t.Context())
	all.Add(manyClients)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		altogether(func(n int) {
			c := server.over(t)
			defer c.CloseIdleConnections()
			stream, err := telemetry(c).Subscribe(ctx, connect.NewRequest(&sysctl.SubscribeRequest{Names: names}))
			if err != nil || !stream.Receive() || len(stream.Msg().Deltas)+len(stream.Msg().Errors) != len(names) {
				t.Errorf("%v, %v", stream, err)
			}
			all.Done()
			<-ctx.Done()
			if err == nil {
				stream.Close()
			}
		})
	}()
	all.Wait()
	if n := runtime.NumGoroutine() - before; n > 12*manyClients {
		t.Errorf("%d goroutines for %d clients and the server", n, manyClients)
	}
	leave()
	<-ended
	until(t, "nothing is left of the clients", func() bool { return runtime.NumGoroutine() < before+manyClients/2 })
}

// TestHostileCommandLines sends what no client of ours sends. Each is refused, in one sentence without
// control characters, and the server goes on.
func TestHostileCommandLines(t *testing.T) {
	t.Parallel()
	dir := recordedMac(t, false)
	server := stationOf(t, dir, func() time.Time { return testNow }, serve.Limits{})
	client := tachographv1connect.NewCommandServiceClient(server.over(t), "http://localhost")
	many := func(n int, word string) []string { return slices.Repeat([]string{word}, n) }
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"a huge word", []string{"rates", strings.Repeat("x", 200<<10)}, "a word of the command line has"},
		{"more than a request may have", []string{strings.Repeat("x", 1<<20)}, "larger than configured max"},
		{"thousands of words", many(20000, "top"), "the command line is too long"},
		{"thousands of flags", append([]string{"top"}, many(900, "--host=x")...), ""},
		{"a zero", []string{"top", "a\x00b"}, "or a zero in it"},
		{"control characters", []string{"\x1b]0;title\x07\r\n\x1b[2J"}, "is no command"},
		{"control characters in a flag", []string{"top", "--\x1b[2J"}, "unknown flag"},
		{"control characters in a value", []string{"top", "--by", "\x1b[2J\n"}, "--by"},
		{"control characters of Unicode", []string{"explain", "\u202e\u2028\u009b"}, ""},
		{"no command of ours", []string{"rm", "-rf", "/"}, ""},
		{"an expression without an end", []string{"rates", strings.Repeat("(", 5000)}, ""},
		{"an expression of much", []string{"rates", strings.Repeat("-", 5000) + "1"}, ""},
		{"a file of archives", []string{"top", "--archive", "/etc/passwd"}, "the server decides which files"},
		{"a file of definitions", []string{"rates", "--derived=/etc/passwd", "x"}, "the server decides which files"},
		{"a file of symbols", []string{"stacks", "--symbols", "/etc"}, "does not take --symbols"},
		{"a file for the answer", []string{"plot", "kernel.all.load", "--output", "/etc/passwd"}, "writes no files"},
		{"another server", []string{"top", "--from-server", server.address}, "--from-server"},
		{"a token", []string{"top", "--server-token-file", "/etc/passwd"}, "--from-server"},
		{"a zone that is a file", []string{"top", "--tz", "../../../../etc/passwd"}, "--tz"},
		{"a chart that is huge", []string{"plot", "kernel.all.load", "--height", "2000000000"}, "--height"},
		{"a picture that is huge", []string{"plot", "kernel.all.load", "--output", "-", "--png", "--size", "900000x900000"}, "is no size"},
	} {
		t.Run(c.name, func(t *testing.T) {
			size := uint32(math.MaxUint32)
			if slices.Contains(c.args, "--png") {
				size = 0 // a terminal shows none
			}
			stream, err := client.Run(t.Context(), connect.NewRequest(&tachographv1.RunRequest{Args: c.args, Width: size, Height: size, Server: "x"}))
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			var said, out strings.Builder
			status := int32(-1)
			for stream.Receive() {
				said.Write(stream.Msg().Errors)
				out.Write(stream.Msg().Output)
				if stream.Msg().Status != nil {
					status = stream.Msg().GetStatus()
				}
			}
			text := said.String()
			if err := stream.Err(); err != nil {
				text, status = err.Error()+"\n", cli.Failed
			}
			if status != cli.Failed || out.Len() > 0 || !strings.Contains(text, c.says) || strings.Count(text, "\n") != 1 || len(text) > 1000 {
				t.Errorf("status %d, prints %.200q, says %d bytes: %.400q", status, out.String(), len(text), text)
			}
			if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) }); i >= 0 {
				t.Errorf("it has control characters: %.400q", text)
			}
		})
	}
	t.Run("letters that are none", func(t *testing.T) {
		r, err := server.over(t).Post("http://localhost/tachograph.v1.CommandService/Run", "application/connect+proto", strings.NewReader("\x00\x00\x00\x00\x04\x0a\x02\xff\xfe"))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.Contains(string(body), "invalid_argument") {
			t.Errorf("%q, %v", body, err)
		}
	})
	if out, said, status := replayWith(openStore, testNow, "info", "--from-server", server.address); status != cli.Yes || out == "" {
		t.Errorf("afterwards: status %d, %s", status, said)
	}
}
