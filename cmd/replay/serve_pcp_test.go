package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/pcp/pcpclient"
	"tachograph/cmd/replay/internal/serve"
	"tachograph/store/query/querytest"
)

// What is said of unix sockets is meant for the one of the two that is one.
func TestWhoseSocket(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listen, pcp  string
		alone        bool
		server, door bool
	}{
		{"unix:/a", "unix:/b", false, true, true},
		{"tcp:localhost:1", "unix:/b", false, false, true},
		{"unix:/a", "tcp:localhost:1", false, true, false},
		{"unix:/a", "tcp:localhost:1", true, true, true}, // which the door refuses
		{"unix:/a", "unix:/b", true, true, true},
	} {
		server := serve.Options{Listen: c.listen, Mode: 0o600, Group: "g", Access: serve.Access{Users: []string{"u"}, Paths: []string{"p"}}}
		door := server
		(&pcpOptions{listen: c.pcp}).share(&server, &door, c.alone)
		for _, one := range []struct {
			opt  serve.Options
			want bool
		}{{server, c.server}, {door, c.door}} {
			if got := one.opt.Mode != 0 && one.opt.Group != "" && len(one.opt.Access.Users) > 0; got != one.want || len(one.opt.Access.Paths) != 1 {
				t.Errorf("%+v: %+v", c, one.opt)
			}
		}
	}
}

// What is said of PCP's tools is refused where they are not answered, and not ignored.
func TestPCPOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		opt  pcpOptions
		flag string // that is refused
	}{
		{pcpOptions{}, ""},
		{pcpOptions{listen: "tcp:localhost:1", remote: true, allAccess: true}, ""},
		{pcpOptions{remote: true}, "--pcp-remote"},
		{pcpOptions{allAccess: true}, "--pcp-all-access"},
	} {
		if err := c.opt.check(); (err != nil) != (c.flag != "") || err != nil && !strings.HasPrefix(err.Error(), c.flag+" ") {
			t.Errorf("%+v: %v", c.opt, err)
		}
	}
}

// The command answers PCP's tools alone or beside the rest, says so, tells of a recording
// that has ended, and leaves nothing behind.
func TestServePCP(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "r") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	archives, socket := filepath.Join(dir, "a"), filepath.Join(dir, "pcp")
	parts, err := querytest.Load("testdata/mac.txt")
	if err != nil {
		t.Fatal(err)
	}
	part := *parts[0]
	part.Ticks, part.Events = part.Ticks[:3], nil
	defer beginPart(t, &part, archives).Close()
	user := ""
	if os.Geteuid() == 0 {
		user = "root" // the test does not become somebody else
	}
	for _, listen := range []string{"", "unix:" + filepath.Join(dir, "http")} {
		var out, errs bytes.Buffer
		a := newApp(&out, &errs, func() time.Time { return testNow.Add(24 * time.Hour) })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		a.answers, a.lines = answers, commandLines
		s := &serving{a: a, opt: serve.Options{Listen: listen}, pcpOptions: pcpOptions{listen: "unix:" + socket}, user: user}
		go func() { ended <- s.serve(ctx, []string{archives}) }()
		var c *pcpclient.Client
		for start := time.Now(); c == nil; {
			if c, err = pcpclient.Dial(ctx, "unix", socket); err != nil && time.Since(start) > time.Minute {
				t.Fatal(err)
			}
		}
		got, err := c.Read("pmcd.hostname", "kernel.all.load")
		if err != nil || len(got) != 2 || got[0].Err != nil || got[1].Err == nil {
			t.Errorf("%v %v", got, err)
		}
		c.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		a.stderr.Flush()
		want := 1
		if listen != "" {
			want = 2
		}
		if !strings.Contains(out.String(), "pminfo -h local:"+socket) || strings.Count(out.String(), "serving") != want || !strings.Contains(errs.String(), "until a recorder writes here") {
			t.Errorf("%s%s", out.String(), errs.String())
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
			t.Errorf("left behind: %v", left)
		}
	}
}
