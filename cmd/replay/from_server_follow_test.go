package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/serve"
	"tachograph/cmd/replay/internal/serve/ask"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/storetest/proof"
)

// TestFollowFromServer follows what is recorded through a server, and compares with what the same
// command says afterwards.
func TestFollowFromServer(t *testing.T) {
	t.Parallel()
	s := newStage(t, 7)
	const begin, end = 45, 75
	s.live(0, begin)
	server := newStation(t, s, serve.Limits{})
	lines := []string{"rates test.kernel test.limits", "rates test.disk.count --step 3s", "events"} // as many as may follow
	var heard []*listener
	for _, line := range lines {
		args := append(words(line), "--from", "start", "--format", "json", "--utc")
		l := listen(t, s.clock, append(args, "--follow", "--from-server", server.address)...)
		until(t, "the past is shown", func() bool { return strings.Contains(l.out.String(), "\n") })
		heard = append(heard, l)
	}
	s.live(begin, end)
	for i, line := range lines {
		args := append(words(line), "--from", "start", "--format", "json", "--utc", "--archive", s.dir)
		want, said, status := replayWith(openStore, s.clock.Now().Time(), args...)
		if status != cli.Yes {
			t.Fatalf("%s: %d: %s", line, status, said)
		}
		last := ""
		if strings.Contains(line, "--step") {
			last = s.m.At(end - 15).Time().UTC().Format(time.RFC3339Nano)
		}
		agree(t, heard[i], want, "", last)
	}
	for _, l := range heard {
		if status := l.end(); status != cli.Failed || l.said.String() != "" {
			t.Errorf("ended by its user: status %d, %q", status, l.said.String())
		}
	}
	until(t, "nothing runs for clients that have gone", server.quiet)
}

// TestFollowFromServerBeforeThereIsAnArchive waits at a server that has nothing yet.
func TestFollowFromServerBeforeThereIsAnArchive(t *testing.T) {
	t.Parallel()
	s := newStage(t, 3)
	s.close()
	empty, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range empty {
		if err := os.RemoveAll(filepath.Join(s.dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	server := newStation(t, s, serve.Limits{})
	l := listen(t, s.clock, "values", "test.kernel.count", "--follow", "--for", "1h", "--format", "csv", "--from-server", server.address)
	until(t, "it waits for an archive", func() bool { return strings.Contains(l.said.String(), "waiting for one") })
	s.create()
	s.live(0, 3)
	until(t, "values come", func() bool { return strings.Count(l.out.String(), "test.kernel.count") > 1 })
	l.end()
	until(t, "nothing runs for clients that have gone", server.quiet)
}

// TestTopFollowsFromServer ranks processes through a server while they are recorded: each reading gives a
// table, under one another.
func TestTopFollowsFromServer(t *testing.T) {
	t.Parallel()
	s := newStage(t, 13)
	group := catalog.Group(catalog.Linux, "proc", "proc.psinfo.cmd", "proc.psinfo.utime", "proc.psinfo.stime")
	rows := []*metric.Instance{{ID: 1, Key: "17/1", Name: "000017 busy", Rev: 1}, {ID: 2, Key: "18/1", Name: "000018 idle", Rev: 1}}
	second, used := 0, uint64(0)
	read := func(share uint64) { // the first process has used so many hundredths of a processor since the reading before
		second, used = second+5, used+share*50
		at := s.m.At(second)
		s.clock.Set(at)
		it := proof.Item{Second: second, Tick: &metric.Tick{Class: metric.Process, At: at, Blocks: []*metric.Block{{Group: group, At: at, Rows: rows, Cols: []metric.Column{
			{Bits: []uint64{0, 1}, Words: []string{"busy", "idle"}}, {Bits: []uint64{used, 0}}, {Bits: []uint64{0, 0}},
		}}}}}
		if err := it.Append(s.w); err != nil {
			t.Fatal(err)
		}
	}
	read(0)
	read(40)
	server := newStation(t, s, serve.Limits{})
	l := listen(t, s.clock, "top", "--follow", "--utc", "--from-server", server.address)
	until(t, "it follows", func() bool { return server.following.Load() > 0 })
	for i, share := range []uint64{40, 10, 80} { // the first of them is of what was recorded before
		if i > 0 {
			read(share)
		}
		want := fmt.Sprintf(" %d %%", share)
		until(t, "there is a table with"+want, func() bool {
			tables := strings.Split(l.out.String(), "PID ")
			return len(tables) == i+2 && strings.Contains(tables[i+1], want) && strings.HasSuffix(tables[i+1], "busy\n")
		})
	}
	l.end()
	until(t, "nothing runs for clients that have gone", server.quiet)
}

// TestServerThatEndsSaysSo ends a server while its clients follow.
func TestServerThatEndsSaysSo(t *testing.T) {
	t.Parallel()
	s := newStage(t, 5)
	s.live(0, 5)
	server := newStation(t, s, serve.Limits{Grace: time.Hour})
	l := listen(t, s.clock, "values", "test.kernel.count", "--from", "start", "--follow", "--from-server", server.address)
	until(t, "it follows", func() bool { return server.following.Load() > 0 })
	server.end(t)
	status := <-l.done
	l.done <- status
	if want := "replay: the server at " + strings.TrimPrefix(server.address, "unix:") + ": the server is being stopped: try again\n"; status != cli.Failed || l.said.String() != want {
		t.Errorf("status %d, %q, want %q", status, l.said.String(), want)
	}
	if !server.quiet() {
		t.Error("a command still runs in a server that has ended")
	}
}

// TestNotAllCanFollow follows until the server has room for no more, and asks other questions then.
func TestNotAllCanFollow(t *testing.T) {
	t.Parallel()
	s := newStage(t, 9)
	s.live(0, 5)
	server := newStation(t, s, serve.Limits{})
	follow := func() (l *listener, ok bool) {
		l = listen(t, s.clock, "values", "test.kernel.count", "--from", "start", "--follow", "--from-server", server.address)
		before := server.following.Load()
		until(t, "it follows or is refused", func() bool { return server.following.Load() > before || len(l.done) > 0 })
		return l, len(l.done) == 0
	}
	var all []*listener
	for {
		l, ok := follow()
		if !ok {
			if status := <-l.done; status != cli.Failed || l.out.String() != "" || !strings.Contains(l.said.String(), "no room for one more command that follows") || strings.Count(l.said.String(), "\n") != 1 {
				t.Errorf("status %d, %q", status, l.said.String())
			}
			l.done <- cli.Failed
			break
		}
		if all = append(all, l); len(all) > 100 {
			t.Fatal("a hundred follow")
		}
	}
	if n := len(all); n < 3 || n > ask.DefaultLimits.Following { // the last is for root
		t.Errorf("%d can follow", n)
	}
	if out, said, status := replayWith(openStore, s.clock.Now().Time(), "info", "--from-server", server.address); status != cli.Yes || out == "" {
		t.Errorf("while many follow: status %d, %q", status, said)
	}
	for _, l := range all {
		l.end()
	}
	until(t, "nothing runs for clients that have gone", server.quiet)
	if _, ok := follow(); !ok {
		t.Error("nobody can follow after others have ended")
	}
}

// TestFollowerThatDoesNotRead ends a command whose client takes nothing.
func TestFollowerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	s := newStage(t, 11)
	s.live(0, 5)
	server := newStation(t, s, serve.Limits{Stall: 50 * time.Millisecond})
	c, err := net.Dial("unix", strings.TrimPrefix(server.address, "unix:"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const question = `{"args": ["values", "test", "--follow", "--format", "json"]}`
	body := "\x00\x00\x00\x00" + string(rune(len(question))) + question
	if _, err := io.WriteString(c, "POST /tachograph.v1.CommandService/Run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/connect+json\r\nContent-Length: "+
		strconv.Itoa(len(body))+"\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
	until(t, "the command follows", func() bool { return server.following.Load() > 0 })
	n := 5
	until(t, "the command has ended", func() bool {
		s.live(n, n+10)
		n += 10
		return server.quiet()
	})
}
