package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"tachograph/cmd/internal/exit"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/out"
	"tachograph/store/fault"
	"tachograph/store/query"
)

// errNo ends a command whose answer, already printed, is no.
var errNo = errors.New("no")

// app is one run of the program.
type app struct {
	*clock
	session
	page
	showCommand bool
	// damageTold are the paths of the archives that have been warned of; nil where
	// a command tells of damage itself.
	damageTold map[string]bool
}

func newApp(stdout, stderr io.Writer, now func() time.Time) *app {
	c := &clock{}
	return &app{
		clock:      c,
		session:    session{clock: c, now: now, open: openStore, resolved: make(map[string]string)},
		page:       page{clock: c, stdout: visible.NewWriter(stdout, false), stderr: visible.NewWriter(stderr, false)},
		damageTold: make(map[string]bool),
	}
}

// run executes one command line and returns the exit status.
func (a *app) run(args []string) int {
	a.words = args
	root := a.command()
	root.SetArgs(withNegatives(root, args))
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := contain(root.Execute)
	a.tellDamage()
	if a.close != nil {
		a.close()
	}
	defer a.stderr.Flush()
	a.stdout.Flush()
	switch {
	case err == nil && a.failed():
		return exit.Failed
	case err == nil:
		return exit.Yes
	case errors.Is(err, errNo):
		return exit.No
	}
	text := "replay: " + err.Error()
	if pointed := (*query.ExprError)(nil); !errors.As(err, &pointed) {
		text = strings.ReplaceAll(text, "\n", "; ")
	}
	for line := range strings.Lines(text) {
		a.stderr.Println(strings.TrimSuffix(line, "\n"))
	}
	return exit.Failed
}

// contain runs fn and makes an error of a panic: what a stranger's archive
// holds must not look as if the terminal were broken.
func contain(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("this program failed, which is a mistake of the program; please report it: %v (TACHO_PANIC=1 shows where)", p)
			if os.Getenv("TACHO_PANIC") != "" {
				panic(p)
			}
		}
	}()
	return fn()
}

// load opens the archives: those of --archive, those given as plain arguments,
// or the recorder's own.
func (a *app) load(args ...string) error {
	if err := a.session.load(args); err != nil {
		return err
	}
	a.tellDamage()
	if len(a.archive.Archives()) == 0 {
		return fmt.Errorf("no archive in %s", strings.Join(a.paths, ", "))
	}
	return nil
}

// tellDamage warns, once for each file, that it or some of it could not be
// read. Damage may come to light only when a question meets it.
func (a *app) tellDamage() {
	if a.archive == nil {
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
	for _, info := range a.archive.Archives() {
		if len(info.Damage) > 0 {
			note(info.Path, info.Damage...)
		}
	}
	losses := a.lost()
	a.losses = append(a.losses, losses...)
	if a.damageTold == nil {
		return
	}
	for _, l := range losses {
		switch {
		case l.Archive != nil:
			note(l.Path, l.What)
		case l.Kind == fault.Denied:
			a.stderr.Printf("replay: left out: %v\n", noPermission(l.Path))
		default:
			a.stderr.Printf("replay: %s; it is left out\n", l.What)
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
		a.stderr.Printf("replay: %s is damaged: %s%s; what is shown is what could be read (replay verify tells all)\n", path, wrong[path][0], more)
	}
}

// rows begins the output. With several hosts a leading column tells them
// apart; rows then begin with hostCell.
func (a *app) rows(columns ...out.Column) (out.Writer, error) {
	host := out.Column{Name: "host", Only: out.Nowhere}
	if a.manyHosts() {
		host.Only = out.Everywhere
	}
	return a.begin(append([]out.Column{host}, columns...))
}
