package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/internal/cli"
	"tachograph/launchd"
)

// ran runs a subcommand on h.
func ran(h host, args ...string) (out, errs string, status int) {
	var o, e bytes.Buffer
	a := newApp(&o, &e)
	a.host = func() (host, error) { return h, nil }
	status = a.run(args)
	return o.String(), e.String(), status
}

// configured is a machine in a directory with that configuration; empty: with none.
func configured(t *testing.T, manager, text string) host {
	t.Helper()
	h := managers[manager](newKeeper(t))
	h.from = t.TempDir()
	if text == "" {
		return h
	}
	path := filepath.Join(h.root, h.layout.Config)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestWhatIsInstalledOfTheServer: it is in the group that may read the archives,
// which the configuration says once there is one, and needs one.
func TestWhatIsInstalledOfTheServer(t *testing.T) {
	const needs = "the server is nobody in particular, and needs a group that may read the archives: "
	for _, c := range []struct {
		name, config string
		args         []string
		want, errs   string
	}{
		{"not asked for", "", nil, "", ""},
		{"a group that is given", "", []string{"--serve", "--group", "daemon"}, "SupplementaryGroups=daemon|SocketGroup=daemon|SocketMode=0660|--archive /var/lib/tachograph", ""},
		{"that of the configuration", "[archive]\ngroup = \"daemon\"\ndir = \"/srv/archives\"\n", []string{"--serve"}, "SupplementaryGroups=daemon|--archive /srv/archives", ""},
		{"another for the socket", "", []string{"--serve", "--group", "daemon", "--serve-group", "tty", "--serve-mode", "0666"}, "SocketGroup=tty|SocketMode=0666|--allow-group tty", ""},
		{"no group", "", []string{"--serve"}, "", needs + "name one with --group"},
		{"none in the configuration", "[archive]\nsync = \"1s\"\n", []string{"--serve"}, "", needs + "set archive.group in "},
		{"a mode that is none", "", []string{"--serve", "--group", "daemon", "--serve-mode", "rw"}, "", "--serve-mode rw is no mode of a socket"},
		{"a mode that executes", "", []string{"--serve", "--group", "daemon", "--serve-mode", "0777"}, "", "--serve-mode 0777 is no mode of a socket"},
		{"a mode of nothing", "", []string{"--serve-mode", "0600"}, "", "add --serve"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := configured(t, "systemd", c.config)
			out, errs, status := ran(h, append([]string{"install", "--print"}, c.args...)...)
			if c.errs != "" {
				if status == cli.Yes || !strings.Contains(errs, c.errs) || strings.Count(errs, "\n") != 1 {
					t.Errorf("status %d: %s", status, errs)
				}
				return
			}
			if status != cli.Yes {
				t.Fatalf("status %d: %s", status, errs)
			}
			if strings.Contains(out, launchd.ServeUnit) != (c.want != "") {
				t.Errorf("shown:\n%s", out)
			}
			for _, want := range strings.Split(c.want, "|") {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not shown:\n%s", want, out)
				}
			}
		})
	}
}

// TestStateOfTheServer is what status tells of it.
func TestStateOfTheServer(t *testing.T) {
	for name := range managers {
		t.Run(name, func(t *testing.T) {
			h := configured(t, name, "")
			if got := h.serverState(); got != "" {
				t.Errorf("none is installed: %q", got)
			}
			server := h.manager.Job(h.layout, launchd.Server)
			files, err := h.manager.Describe(h.layout, launchd.Serve{Archives: h.layout.Archives, Group: "daemon", SocketGroup: "daemon", Mode: 0o660})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				path := filepath.Join(h.root, f.Path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, f.Content, f.Mode); err != nil {
					t.Fatal(err)
				}
			}
			if got := h.serverState(); !strings.HasPrefix(got, "NOT LISTENING: ") && !strings.HasPrefix(got, "DISABLED: ") {
				t.Errorf("it is not loaded: %q", got)
			}
			if err := server.Load(); err != nil {
				t.Fatal(err)
			}
			if got := h.serverState(); got != "waits for somebody to connect to "+h.layout.ServeSocket {
				t.Errorf("it is loaded: %q", got)
			}
			if err := server.Unload(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// An installation keeps the group of its archives when it is done again.
func TestTheGroupOfTheArchivesIsKept(t *testing.T) {
	h := configured(t, "systemd", "[archive]\ngroup = \"daemon\"\n")
	out, errs, status := ran(h, "install", "--print")
	if want := h.layout.Archives + " (root:daemon 0750)"; status != cli.Yes || !strings.Contains(out, want) {
		t.Errorf("status %d: %s%s\nlacks %s", status, out, errs, want)
	}
}
