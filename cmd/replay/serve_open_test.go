package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/serve"
)

// What is opened in a browser is told to nobody else: the address with the token
// stands in a file that only who started the server can read, and goes with it.
func TestOpenTellsNobody(t *testing.T) {
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	program := filepath.Join(dir, "browser")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\" >"+said+".new && mv "+said+".new "+said+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("BROWSER", program)
	t.Setenv("XDG_RUNTIME_DIR", dir)
	var opt serve.Options
	s := new(showing)
	if err := s.atLoopback(&opt); err != nil || opt.Listen != "tcp:127.0.0.1:0" || len(opt.Token) < 20 {
		t.Fatalf("%+v, %v", opt, err)
	}
	address := s.address("http://127.0.0.1:1")
	if address != "http://127.0.0.1:1/#token="+opt.Token {
		t.Errorf("address %s", address)
	}
	clean, err := s.open(address)
	if err != nil {
		t.Fatal(err)
	}
	var args []byte
	until(t, "the browser is started", func() bool { args, _ = os.ReadFile(said); return len(args) > 0 })
	file := strings.TrimSpace(string(args))
	if strings.Contains(file, opt.Token) {
		t.Errorf("the browser was started with %s", file)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), `http://127.0.0.1:1/#token=`+opt.Token) != 2 {
		t.Errorf("%s: %v", text, err)
	}
	for _, path := range []string{file, filepath.Dir(file)} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v", path, st.Mode(), err)
		}
	}
	clean()
	if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
		t.Error("the file is left there")
	}
}

func TestOpenWhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		opt   serve.Options
		want  string
		token bool
	}{
		{serve.Options{}, "tcp:127.0.0.1:0", true},
		{serve.Options{Listen: "tcp:127.0.0.1:9"}, "tcp:127.0.0.1:9", true},
		{serve.Options{TokenFile: "f"}, "tcp:127.0.0.1:0", false},
		{serve.Options{Listen: "unix:/tmp/s"}, "no browser can open a unix socket", false},
		{serve.Options{Listen: "systemd"}, "no browser can open a unix socket", false},
	} {
		s := new(showing)
		if err := s.atLoopback(&c.opt); err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Error(err)
			}
			continue
		}
		if c.opt.Listen != c.want || (c.opt.Token != "") != c.token || strings.Contains(s.address("x"), "token") != c.token {
			t.Errorf("%+v: %s", c.opt, s.address("x"))
		}
	}
}
