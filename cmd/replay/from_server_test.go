package main

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/api/tachograph/v1/tachographv1connect"
	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/scope"
	"tachograph/cmd/replay/internal/serve/ask"
)

// serveCommands serves the command lines of clients, and returns the address.
func serveCommands(t *testing.T, limits ask.Limits, paths ...string) string {
	lines := commandLines(scope.Given{Archives: paths}, func() time.Time { return testNow })
	_, handler := ask.New(nil, limits).Commands(lines, t.Context()).Handler()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// TestFromServer asks each question here and of a server: what is printed and the status are the same.
func TestFromServer(t *testing.T) {
	t.Parallel()
	dir := recordedMac(t, false)
	server := serveCommands(t, ask.DefaultLimits, dir)
	lines := []string{"", "info", "metrics kernel.all.load", "explain kernel.all.load", "why", "plot kernel.all.load", "plot kernel.all.load --output -",
		"plot kernel.all.load --output - --png", "find 'kernel.all.load > 1000'", "find nothing.like.this > 1", "tops", "list kernel.all", "categories", "all", "top --by luck", "metrics --categories", "metrics --category kernel.al", "__complete metrics --category=kern", "rates", "verify",
		"top --format csv", "deaths", "events --kind nothing", "top --color always", "at --show-command", "__complete rates kernel.all.lo", "__complete top --by ",
		"top --help", "help top", "diff --help", "diff -n -3"}
	for line := range questionsOfPrograms() {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	for _, line := range lines {
		for _, width := range []int{0, 60} {
			args := words(line)
			put := func(flags ...string) []string { // before the word that a shell asks for
				end := len(args)
				if completing(args) {
					end--
				}
				return slices.Concat(args[:end], flags, args[end:])
			}
			wantOut, wantErr, want := replayOn(width, openStore, testNow, put("--archive", dir)...)
			gotOut, gotErr, got := replayOn(width, openStore, testNow, put("--from-server="+server)...)
			own := strings.NewReplacer("--archive "+dir, "--from-server "+server, "--archive="+dir, "--from-server="+server)
			wantErr = strings.ReplaceAll(wantErr, "neither a command nor an archive", "no command")
			if gotOut != own.Replace(wantOut) || gotErr != own.Replace(wantErr) || got != want {
				t.Errorf("replay %s (%d columns): status %d, want %d\n%s", line, width, got, want,
					firstDifference(own.Replace(wantOut+wantErr), gotOut+gotErr))
			}
		}
	}
}

// TestNoWordsAreNotThoseOfTheServer asks without a word: the words with which the server was started
// are not meant.
func TestNoWordsAreNotThoseOfTheServer(t *testing.T) {
	own := os.Args
	t.Cleanup(func() { os.Args = own })
	os.Args = []string{"replay", "serve", "--listen", "unix:s"}
	dir := recordedMac(t, false)
	server := serveCommands(t, ask.DefaultLimits, dir)
	want, _, _ := replayWith(openStore, testNow, "--archive", dir)
	want = strings.ReplaceAll(want, "--archive "+dir, "--from-server "+server)
	if out, said, status := replayWith(openStore, testNow, "--from-server", server); status != cli.Yes || out != want {
		t.Errorf("status %d, %q, %q", status, said, out)
	}
}

// TestClientsNameNoFiles refuses command lines of clients that name files or do more than ask.
func TestClientsNameNoFiles(t *testing.T) {
	t.Parallel()
	dir := recordedMac(t, false)
	server := serveCommands(t, ask.DefaultLimits, dir)
	secret := filepath.Join(t.TempDir(), "made")
	for _, c := range []struct{ line, says string }{
		{"top --archive " + dir, "the server decides which files"},
		{"info " + dir, "the server decides which files"},
		{"why " + dir, "the server decides which files"},
		{"verify /etc/passwd", "the server decides which files"},
		{dir, "is no command"},
		{"rates kernel.all.load --derived /etc/passwd", "the server decides which files"},
		{"plot kernel.all.load --output " + secret, "writes no files"},
		{"stacks --output=" + secret, "writes no files"},
		{"stacks --symbols /etc", "does not take --symbols"},
		{"stacks --debuginfod http://127.0.0.1:1", "does not take --debuginfod"},
		{"export " + secret, "does not run"},
		{"snapshot " + secret, "does not run"},
		{"serve", "does not run"},
		{"repair", "does not run"},
		{"browse", "does not run"},
	} {
		stdout, stderr, status := replayWith(openStore, testNow, append(words(c.line), "--from-server", server)...)
		if status != 2 || stdout != "" || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("replay %s: status %d, %q, %q", c.line, status, stdout, stderr)
		}
	}
	if stdout, _, _ := replayWith(openStore, testNow, "__complete", "--from-server", server, "rates", "--archive", "/etc", "kernel.all"); !strings.Contains(stdout, "kernel.all") {
		t.Errorf("completion: %q", stdout)
	}
	if _, err := os.Stat(secret); err == nil {
		t.Error("the server made a file")
	}
}

// TestServersThatCannotAnswer has one sentence for each trouble with a server.
func TestServersThatCannotAnswer(t *testing.T) {
	t.Parallel()
	dir := recordedMac(t, false)
	other := httptest.NewServer(nil)
	defer other.Close()
	unknown := httptest.NewUnstartedServer(nil)
	unknown.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that do not trust it
	unknown.StartTLS()
	defer unknown.Close()
	token := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		flags []string
		says  string
	}{
		{[]string{"--from-server", "unix:/nowhere/at/all"}, "does replay serve run there?"},
		{[]string{"--from-server", "nowhere"}, "unix:PATH"},
		{[]string{"--from-server", other.URL}, "answers no command lines"},
		{[]string{"--from-server", unknown.URL}, "unknown authority (--server-ca)"},
		{[]string{"--from-server", other.URL, "--server-token-file", token}, token},
		{[]string{"--from-server", serveCommands(t, ask.Limits{AtOnce: 1, Waiting: 1, Longest: time.Nanosecond}, dir)}, "took too long"},
		{[]string{"--from-server"}, "--from-server"},
		{[]string{"--server-ca", "x"}, "--from-server"},
	} {
		stdout, stderr, status := replayWith(openStore, testNow, append([]string{"top"}, c.flags...)...)
		if status != 2 || stdout != "" || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: status %d, %q, %q", c.flags, status, stdout, stderr)
		}
	}
}

// hostile answers with what must not reach a terminal.
type hostile struct{}

func (hostile) Run(_ context.Context, _ *connect.Request[tachographv1.RunRequest], s *connect.ServerStream[tachographv1.RunResponse]) error {
	return s.Send(&tachographv1.RunResponse{Output: []byte("a\x1b]0;title\x07b\x1b[1mc"), Errors: []byte("\x1b[2Jd")})
}

// TestHostileServer shows that a terminal gets no sequences from a server but those that replay has itself, and that
// an answer without an end is not taken for one.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	_, handler := tachographv1connect.NewCommandServiceHandler(hostile{})
	server := httptest.NewServer(handler)
	defer server.Close()
	var o, e strings.Builder
	a := newApp(&o, &e, time.Now)
	a.terminalOut, a.width = true, 80
	status := a.run([]string{"top", "--from-server", server.URL})
	if status != 2 || o.String() != `a\x1b]0;title\x07b`+"\x1b[1mc" || !strings.HasPrefix(e.String(), `\x1b[2Jd`) || !strings.Contains(e.String(), "too early") {
		t.Errorf("status %d, %q, %q", status, o.String(), e.String())
	}
}

// TestColorsAreTheClients has colours depend on the client's terminal, flags and environment, not
// on the server's.
func TestColorsAreTheClients(t *testing.T) {
	t.Setenv("CLICOLOR_FORCE", "1") // the server's
	dir := recordedMac(t, false)
	server := serveCommands(t, ask.DefaultLimits, dir)
	for _, c := range []struct {
		args     string
		terminal bool
		env      string
		want     bool
	}{
		{"top", false, "", false},
		{"top", true, "", true},
		{"top", true, "NO_COLOR", false},
		{"top --color never", true, "", false},
		{"top --color always", false, "", true},
		{"top", false, "CLICOLOR_FORCE", true},
	} {
		for _, where := range []string{"--archive=" + dir, "--from-server=" + server} {
			var o strings.Builder
			a := newApp(&o, &o, func() time.Time { return testNow })
			a.terminalOut, a.env = c.terminal, func(name string) string {
				if name == c.env {
					return "1"
				}
				return ""
			}
			if c.terminal {
				a.width = 80
			}
			if status := a.run(append(words(c.args), where)); status != 0 || strings.Contains(o.String(), "\x1b[1m") != c.want {
				t.Errorf("%+v, %s: status %d, %q", c, where, status, o.String())
			}
		}
	}
}
