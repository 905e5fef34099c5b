package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/scope"
	"tachograph/cmd/replay/internal/serve/ask"
	"tachograph/store"
	"tachograph/store/fault"
)

// app is one run of the program.
type app struct {
	*clock
	session
	page
	// collector sets the process's garbage collection; nil where several commands share the
	// process.
	collector *collector
	// damageTold holds the paths of the archives for which a warning has been printed; nil where
	// a command reports damage itself.
	damageTold map[string]bool
	// ctx ends commands that run until they are stopped. signal is the signal that ended it, 0
	// if none did.
	ctx    context.Context
	signal syscall.Signal
	// toFollow is called before a command that follows prints anything, and returns the function that it
	// calls before it waits for what is being recorded; nil where the command runs for itself.
	toFollow func() (goOn func() error, err error)
	// stdin is what a client writes that started this program.
	stdin io.Reader
	// answers is the function answers, which is above the commands of which two, serve and mcp,
	// need it.
	answers func(archives, derived []string, now func() time.Time) ask.Run
	// lines is the function commandLines, for the same reason.
	lines func(given scope.Given, now func() time.Time) ask.RunLine
	// damage holds the warnings of an answer that goes to a program.
	damage []string
	// basis is what an answer that goes to a program was made from, if it asked for that.
	basis *ask.Basis
}

func newApp(stdout, stderr io.Writer, now func() time.Time) *app {
	c := &clock{Now: now}
	return &app{
		clock:      c,
		ctx:        context.Background(),
		stdin:      os.Stdin,
		session:    session{Scope: scope.New(c, openStore, ownDefinitions), follows: followArchives},
		page:       page{clock: c, stdout: visible.NewWriter(stdout, false), stderr: visible.NewWriter(stderr, false), env: os.Getenv},
		damageTold: make(map[string]bool),
	}
}

// load opens the archives: those of --archive, those given as plain arguments, or else the
// recorder's own.
func (a *app) load(args ...string) error {
	a.collector.later()
	if err := a.session.Load(args); err != nil {
		return err
	}
	a.tellDamage()
	if err := a.None(); err != nil {
		return err
	}
	a.tellSteps()
	return nil
}

// tellDamage warns, once for each file, that all or part of it could not be read. Some damage is
// found only when a question reads the damaged part.
func (a *app) tellDamage() {
	if a.Archive == nil {
		return
	}
	wrong := make(map[string][]string)
	var paths []string
	note := func(path string, what ...string) {
		if wrong[path] == nil {
			paths = append(paths, path)
		}
		wrong[path] = append(wrong[path], what...)
	}
	for _, info := range a.Archive.Archives() {
		if len(info.Damage) > 0 {
			note(info.Path, info.Damage...)
		}
	}
	for _, info := range a.Archive.Archives() {
		if a.damageTold != nil && !a.damageTold[info.Path] && len(info.Damage) == 0 && isCopy(info.Path) {
			a.damageTold[info.Path] = true
			a.warn(copyText(info.Path) + "; the last that is here is of " + a.Show(info.To))
		}
	}
	losses := a.Archive.Losses()
	a.Losses = append(a.Losses, losses...)
	if a.damageTold == nil {
		return
	}
	for _, l := range losses {
		switch {
		case l.Archive != nil:
			note(l.Path, l.What)
		case l.Kind == fault.Denied:
			a.warn(fmt.Sprintf("left out: %v", scope.NoPermission(l.Path)))
		default:
			a.warn(l.What + "; it is left out")
		}
	}
	for _, path := range paths {
		if a.damageTold[path] {
			continue
		}
		a.damageTold[path] = true
		more := ""
		if n := len(wrong[path]); n > 1 {
			more = fmt.Sprintf(" and %d more", n-1)
		}
		a.warn(fmt.Sprintf("%s is damaged: %s%s; what is shown is what could be read (replay verify shows all damage)", path, wrong[path][0], more))
	}
}

// leaveOut warns of what could not be read and is left out of what the command makes.
func (a *app) leaveOut(losses ...store.Loss) {
	a.Losses = append(a.Losses, losses...)
	for _, l := range losses {
		a.warn(l.What + "; it is left out")
	}
}

// tellSteps prints that some values are known only by steps, because their archives were
// reduced.
func (a *app) tellSteps() {
	var steps []string
	to := int64(0)
	detailed := false
	for _, info := range a.Archive.Archives() {
		if info.Step == 0 {
			detailed = true
			continue
		}
		if text := human.Duration(time.Duration(info.Step)); !slices.Contains(steps, text) {
			steps = append(steps, text)
		}
		to = max(to, info.To)
	}
	if len(steps) == 0 || a.sink != nil {
		return
	}
	until := ""
	if detailed {
		until = " up to " + a.Show(to)
	}
	a.tell("values" + until + " are of steps of " + strings.Join(steps, " and ") + ": what was recorded was reduced")
}

// warn reports what the answer lacks: to a program in damage, otherwise as text.
func (a *app) warn(text string) {
	if a.sink != nil {
		a.damage = append(a.damage, text)
		return
	}
	a.complain("replay: " + text)
}

// rows begins the output. Each row must begin with hostCell; that column is shown only where
// there are several hosts.
func (a *app) rows(columns ...out.Column) (out.Writer, error) {
	host := out.Column{Name: "host", Only: out.Nowhere, Flex: true}
	if a.ManyHosts() {
		host.Only = out.Everywhere
	}
	return a.begin(append([]out.Column{host}, columns...))
}
