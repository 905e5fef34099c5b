package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/scope"
	"tachograph/cmd/replay/internal/serve/ask"
	"tachograph/store/fault"
	"tachograph/store/query"
)

// run executes one command line and returns the exit status.
func (a *app) run(args []string) int {
	a.Words = args
	err := a.answer(args)
	defer a.stderr.Flush()
	a.stdout.Flush()
	switch {
	case err == nil && a.failed():
		return cli.Failed
	case err == nil:
		return cli.Yes
	case errors.Is(err, errNo):
		return cli.No
	case errors.Is(err, errUntold):
		return cli.Failed // The answer says so.
	case errors.Is(err, context.Canceled):
		return cli.Failed // A signal ended it; die chooses the status.
	}
	text := "replay: " + err.Error()
	if pointed := (*query.ExprError)(nil); !errors.As(err, &pointed) {
		text = strings.ReplaceAll(text, "\n", "; ")
	}
	for line := range strings.Lines(text) {
		a.complain(strings.TrimSuffix(line, "\n"))
	}
	return cli.Failed
}

// answer executes one command line here, or on the server that it names.
func (a *app) answer(args []string) error {
	if a.Given == nil {
		if server, rest := serverOf(args); server != nil {
			return a.askServer(server, rest)
		}
	}
	return a.execute(args)
}

// execute runs one command line.
func (a *app) execute(args []string) error {
	a.answers, a.lines = answers, commandLines
	root := a.command()
	// Without any words cobra would take those of the process, which are not those of a server's client.
	root.SetArgs(append([]string{}, withNegatives(root, args)...))
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	if completing(args) {
		completions(root, &a.session)
		a.damageTold = nil // A shell that asks for words gets nothing else.
	}
	err := contain(root.Execute)
	a.tellDamage()
	if a.Close != nil {
		a.Close()
	}
	return err
}

// contain runs fn and turns a panic into an error, so that a stranger's archive cannot make the
// terminal look broken.
func contain(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v (TACHO_PANIC=1 shows where)", errFailed, p)
			if os.Getenv("TACHO_PANIC") != "" {
				panic(p)
			}
		}
	}()
	return fn()
}

// answers returns the function that answers programs' questions from the archives, with the
// commands that people use. Derived metrics come only from the files given here: the server's
// clients do not get the private definitions of the user who started it.
func answers(archives, derived []string, now func() time.Time) ask.Run {
	var given []string
	for _, path := range archives {
		given = append(given, "--archive="+path)
	}
	for _, path := range derived {
		given = append(given, "--derived="+path)
	}
	given = append(given, "--format="+string(out.JSON))
	return func(ctx context.Context, c ask.Command) (ask.Aside, error) {
		var said bytes.Buffer
		a := newApp(io.Discard, &said, now)
		a.ctx, a.sink = ctx, c.Begin
		a.OwnDefinitions = func() string { return "" }
		a.Open = func(paths ...string) (reader, error) { return openFor(ctx, paths...) }
		err := a.execute(slices.Concat(given, c.Args))
		a.stderr.Flush()
		aside := ask.Aside{Lost: a.damage, Basis: a.basis}
		if said.Len() > 0 {
			aside.Notes = strings.Split(strings.TrimSuffix(said.String(), "\n"), "\n")
		}
		if errors.Is(err, errNo) || errors.Is(err, errUntold) {
			err = nil
		}
		return aside, blamed(err)
	}
}

// commandLines returns the function that answers the command lines of clients, from the archives
// that are given.
func commandLines(given scope.Given, now func() time.Time) ask.RunLine {
	return func(ctx context.Context, l ask.Line) int {
		given := given
		given.Name = l.Server
		a := newApp(l.Output, l.Errors, now)
		a.ctx, a.Given, a.toFollow = ctx, &given, l.Follow
		a.width, a.height = l.Width, l.Height
		a.terminalOut, a.env = l.Width > 0, colorOf(l)
		a.OwnDefinitions = func() string { return "" }
		a.Open = func(paths ...string) (reader, error) { return openFor(ctx, paths...) }
		return a.run(l.Args)
	}
}

// colorOf returns what the environment of a client says of colours, which need not be what this
// program's says.
func colorOf(l ask.Line) func(string) string {
	says := "NO_COLOR"
	if l.Color {
		says = "CLICOLOR_FORCE"
	}
	return func(name string) string {
		if name == says {
			return "1"
		}
		return ""
	}
}

// blamed marks an error that is no mistake of the client: an archive cannot be read, or this
// program failed. It leaves alone an error that says so itself.
func blamed(err error) error {
	kind := fault.Of(err)
	switch {
	case err == nil, errors.As(err, new(*scope.Error)):
		return err
	case errors.Is(err, errFailed), kind == fault.Bug:
		return &scope.Error{Kind: scope.Broken, Err: err}
	case kind != fault.Other, errors.As(err, new(*fault.Error)), errors.As(err, new(*fs.PathError)), errors.As(err, new(syscall.Errno)):
		return &scope.Error{Kind: scope.Unreadable, Err: err}
	}
	return err
}
