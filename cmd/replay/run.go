package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"tachograph/cmd/internal/cli"
	"tachograph/store/query"
)

// run executes one command line and returns the exit status.
func (a *app) run(args []string) int {
	a.Words = args
	err := a.execute(args)
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

// execute runs one command line.
func (a *app) execute(args []string) error {
	root := a.command()
	root.SetArgs(withNegatives(root, args))
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	if completing(args) {
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
