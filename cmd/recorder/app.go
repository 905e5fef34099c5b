package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/recorder/service"
	"tachograph/config"
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/platform"
	"tachograph/sample/stack"
)

// noError is the answer no, with the reason.
type noError struct{ error }

func (e noError) Unwrap() error { return e.error }

// errNo is the answer no after it has been printed.
var errNo = errors.New("no")

// app is what the subcommands share; tests replace parts of it.
type app struct {
	out, err io.Writer
	sources  func(platform.Options) ([]sample.Source, error)
	catalog  func() []*metric.Desc
	now      func() metric.Stamp
	host     func() (host, error)
	stacks   func() (stack.Sampler, error)
	width    int  // of the terminal that out writes to; 0 if it is not a terminal
	ascii    bool // the locale has only ASCII letters
}

func newApp(out, err io.Writer) *app {
	a := &app{out: toPeople(out), err: toPeople(err), sources: platform.Sources, catalog: platformCatalog, now: platform.Now, host: thisHost, stacks: platform.Stacks}
	a.onTerminal(out, os.Getenv)
	return a
}

// toPeople returns a writer that shows control characters as text.
func toPeople(w io.Writer) *visible.Writer {
	f, ok := w.(*os.File)
	return visible.NewWriter(w, ok && columns(f) > 0)
}

func platformCatalog() []*metric.Desc { return catalog.For(platform.Catalog) }

// noArgs refuses arguments.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, but got %q (see %s --help)", c.CommandPath(), args[0], c.CommandPath())
	}
	return nil
}

// patterns checks arguments that are patterns of metric names and returns a function that
// reports whether they select a metric.
func patterns(args []string) (func(*metric.Desc) bool, error) {
	for _, p := range args {
		if config.CheckPattern(p) != nil {
			return nil, fmt.Errorf("%q is not a pattern of metric names (write disk.dev.* or disk)", p)
		}
	}
	return func(d *metric.Desc) bool {
		for _, p := range args {
			if config.Match(p, d.Name) {
				return true
			}
		}
		return len(args) == 0
	}, nil
}

// loadConfig reads the named file, or the default file if it exists, or else returns the
// defaults.
func loadConfig(file string) (*config.Config, error) {
	if file != "" {
		return config.Load(file)
	}
	return config.LoadDefault()
}

// open opens the sources of metrics.
func (a *app) open(c *config.Config) ([]sample.Source, func(), error) {
	sources, err := a.sources(service.PlatformOptions(c))
	if err != nil {
		return nil, nil, fmt.Errorf("the sources of metrics cannot be opened: %w", err)
	}
	return sources, func() {
		for _, s := range sources {
			s.Close()
		}
	}, nil
}

// refused turns a mistake in the configuration into the answer no: the file was read, and is
// wrong.
func refused(err error) error {
	if mistake := (*config.Error)(nil); errors.As(err, &mistake) {
		return noError{err}
	}
	return err
}

// onTerminal finds the width of the terminal that a prints to, and whether its locale has other
// letters than ASCII.
func (a *app) onTerminal(out io.Writer, env func(string) string) {
	if f, ok := out.(*os.File); ok {
		a.width = columns(f)
	}
	a.ascii = !visible.UTF8(env)
}

// toRead says that people read the output, not programs: it then uses only letters that the
// locale has.
func (a *app) toRead() {
	for _, w := range []io.Writer{a.out, a.err} {
		if v, ok := w.(*visible.Writer); ok && a.ascii {
			v.ASCII()
		}
	}
}

// interrupted returns a context that ends when the user or the system asks this program to end.
func interrupted() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
}
