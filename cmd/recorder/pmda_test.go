package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/pcp/pcpclient"
	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
	"tachograph/sample/platform"
)

func TestPmdaMistakes(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"--speed 2", "--speed is of a recording: add --archive FILE"},
		{"--archive " + dir + "/none --listen tcp:127.0.0.1:0", "--archive: there is nothing at " + dir + "/none"},
		{"--archive " + dir + " --listen tcp:127.0.0.1:0", "there is no archive in " + dir},
		{"--archive " + dir + " --speed -1", "--speed -1: it is from 0"},
		{"--archive " + dir + " --speed 0 --loop", "never comes to an end"},
		{"--archive " + dir + " --listen tcp:0.0.0.0:1", "say --remote if that is meant, or listen at tcp:127.0.0.1:1"},
		{"--socket tcp:0.0.0.0:1", "can be reached from other machines"},
		{"--socket foo", "write unix:PATH or tcp:HOST:PORT"},
		{"--beside --socket 78=unix:" + dir + "/s", "there is nothing in domain 78; there is in 500"},
		{"--socket unix:" + dir + "/s --socket unix:" + dir + "/t", "domain 500 has a socket already"},
		{"--socket 511=unix:" + dir + "/s", "--socket 511: PCP's domains are 1 to 510"},
		{"--socket unix:" + dir, "it is there and is no socket"},
		{"--socket unix:" + dir + "/s --socket-mode 1777", "write it as chmod does"},
		{"--socket unix:" + dir + "/s --socket-group no-such-group", `there is no group "no-such-group"`},
		{"--domain 600", "--domain 600: PCP's domains are 1 to 510"},
		{"--native --beside", "choose one"},
		{"--prefix a.b", "--prefix a.b is no name that PCP could have"},
		{"--listen tcp:127.0.0.1:0", "--listen is for --archive"},
		{"--log-format xml", "--log-format is text or json"},
		{"name", `takes no arguments, but got "name"`},
	} {
		_, errs, status := runRecorder(t, append([]string{"pmda"}, strings.Fields(c.args)...)...)
		if status != cli.Failed || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("pmda %s: status %d, %s", c.args, status, errs)
		}
	}
}

// While what is read is being opened pmcd is told that the agent is not ready, and then
// that it is.
func TestPmdaNotReady(t *testing.T) {
	opened := make(chan struct{})
	var said bytes.Buffer
	a := &app{
		out: toPeople(&said), err: toPeople(&said), now: platform.Now,
		sources: func(platform.Options) ([]sample.Source, error) { <-opened; return []sample.Source{newMachine()}, nil },
		catalog: func() []*metric.Desc { return nil },
	}
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	log := slog.New(slog.DiscardHandler)
	f := &pmdaFlags{domain: 500, prefix: pcp.Root, beside: true, mode: "0600", sockets: []string{"unix:" + dir + "/s"}}
	layout, err := f.layout()
	if err != nil {
		t.Fatal(err)
	}
	doors, err := f.doors(layout, log)
	if err != nil {
		t.Fatal(err)
	}
	defer doors[0].Close()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.answerLive(ctx, f, layout, false, doors, log) }()
	conn, err := net.Dial("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c, err := pcpclient.Pmcd(conn)
	if err != nil {
		t.Fatal(err)
	}
	switches := pcp.NewSpaceOf(layout).Add(newMachine().groups[0].Metrics[2]).PMID
	if _, err := c.Desc(switches); err != pdu.Failure(pcp.ErrNotReady) {
		t.Fatalf("before there is anything: %v", err)
	}
	close(opened)
	if err := c.AwaitReady(); err != nil {
		t.Fatal(err)
	}
	if r, err := c.Fetch(switches); err != nil || r.Sets[0].Err != 0 || len(r.Sets[0].Bits) != 1 {
		t.Errorf("%+v %v", r, err)
	}
	if ids, err := c.IDs("tachograph.host.switches"); err != nil || ids[0] != switches {
		t.Errorf("%v, want %v: %v", ids, switches, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// What cannot be opened ends the agent, and says why.
func TestPmdaCannotOpen(t *testing.T) {
	a := &app{
		out: toPeople(io.Discard), err: toPeople(io.Discard), now: platform.Now, catalog: func() []*metric.Desc { return nil },
		sources: func(platform.Options) ([]sample.Source, error) { return nil, errors.New("the kernel says no") },
	}
	err := a.answerLive(context.Background(), &pmdaFlags{domain: 500}, pcp.Beside(500), false, nil, slog.New(slog.DiscardHandler))
	if err == nil || err.Error() != "the sources of metrics cannot be opened: the kernel says no" {
		t.Errorf("it ends with %v", err)
	}
}

// TestWhatIsDescribedStays holds that a package's metrics are numbered once, not once for
// each of them.
func TestWhatIsDescribedStays(t *testing.T) {
	d := new(described)
	if once, again := d.Catalog(), d.Catalog(); once != again {
		t.Error("each question finds another catalogue")
	}
}
