package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"html/template"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"tachograph/cmd/replay/internal/serve"
)

// A showing is a server that is started to be looked at in a browser: at a loopback address, for
// clients that have its token.
type showing struct {
	token string // made for this server; "" if a file has one
}

// atLoopback makes the server listen where a browser of this machine can connect. A new token
// keeps others out, unless a token file is given.
func (s *showing) atLoopback(opt *serve.Options) error {
	switch {
	case opt.Listen == "":
		opt.Listen = "tcp:127.0.0.1:0"
	case !strings.HasPrefix(opt.Listen, "tcp:"):
		return errors.New("no browser can open a unix socket: with --open leave --listen out, or write --listen tcp:127.0.0.1:PORT")
	}
	if opt.TokenFile == "" {
		s.token = rand.Text()
		opt.Token = s.token
	}
	return nil
}

// address returns the page's address, with the token behind a #, which browsers do not send to
// servers.
func (s *showing) address(server string) string {
	if s.token == "" {
		return server + "/"
	}
	return server + "/#token=" + s.token
}

// door is a page that redirects to an address. Every user of the machine can read a program's
// arguments, so the browser gets the name of this file, which only the user who started the
// server can read.
var door = template.Must(template.New("door").Parse(`<!DOCTYPE html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={{.}}">
<title>replay serve</title>
<p><a href="{{.}}">The page of replay serve</a></p>
`))

// open shows an address in the browser. Call clean when the server ends: it removes what open
// left.
func (s *showing) open(address string) (clean func(), err error) {
	program := browser()
	if program == "" {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp(os.Getenv("XDG_RUNTIME_DIR"), "replay-serve-") // 0700
	if err != nil {
		return func() {}, err
	}
	clean = func() { os.RemoveAll(dir) }
	var page strings.Builder
	if err := door.Execute(&page, address); err != nil {
		return clean, err
	}
	file := filepath.Join(dir, "open.html")
	if err := os.WriteFile(file, []byte(page.String()), 0o600); err != nil {
		return clean, err
	}
	cmd := exec.Command(program, file)
	if err := cmd.Start(); err != nil {
		return clean, fmt.Errorf("%s cannot be started: %w", program, err)
	}
	go cmd.Wait()
	return clean, nil
}

// browser returns the program that shows pages to the user; "" if there is none, or no screen.
func browser() string {
	name := os.Getenv("BROWSER")
	switch {
	case name != "":
	case runtime.GOOS == "darwin" && os.Getenv("SSH_CONNECTION") == "":
		name = "open"
	case os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "":
		name = "xdg-open"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}
