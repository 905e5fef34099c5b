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

// A showing is a server that is started to be looked at: at a loopback address that
// only who has its token can ask, and that a browser opens.
type showing struct {
	token string // that was made for it; "" where there is a file with one
}

// atLoopback has a server listen where a browser of this machine can connect, and
// nobody else's.
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

// address is the page's, with the token behind a #, which browsers send nowhere.
func (s *showing) address(server string) string {
	if s.token == "" {
		return server + "/"
	}
	return server + "/#token=" + s.token
}

// door is a page that leads to an address. What a program is started with every user
// of the machine can read, so a browser is told of this file, which only who started
// the server can.
var door = template.Must(template.New("door").Parse(`<!DOCTYPE html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={{.}}">
<title>replay serve</title>
<p><a href="{{.}}">The page of replay serve</a></p>
`))

// open has the browser show an address. What it left is to be removed when the server
// ends.
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

// browser is the program that shows pages to whoever started this one; "" where there
// is none, or nobody to look.
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
