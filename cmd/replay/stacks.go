package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/store/query"
)

// nearby is how far from an instant to look for stacks.
const nearby = 10 * time.Minute

func stacksCommand(a *app) *cobra.Command {
	f := &stackFlags{}
	cmd := &cobra.Command{
		Use:   "stacks [PATTERN|PID...]",
		Short: "What threads were doing: sampled stacks, as a tree of calls",
		Long: `stacks prints the stacks that recorder has sampled, of the processes that match,
as a tree: how many samples were in a function and in what it called, which share
that is, how many were in the function itself, and in how many the thread was
running, that is, had a processor or wanted one. In the others the thread waited; where
the kernel says for what, it is the line below the function. A PATTERN is a
name, a glob or /regexp/, or the key of a process on Linux (PID/START); a name that
no process has means those that contain it.

The window is --from to --to, else all that the archives cover; --at shows the
sampling that took place at an instant, or the nearest within ten minutes.

Names of C++ and Rust are demangled. Those of Swift are as macOS itself shows them, on
a Mac; elsewhere those of functions, initialisers, accessors and closures are readable,
and Swift's other symbols stay as the linker knows them.

A function without a name appears as its file with the offset in it. --symbols finds its
name on any machine, in programs, debug files and dSYMs of the same UUID or build ID, and
in the files of macOS's shared cache. --debuginfod asks a server for debug files of Linux
distributions (https://debuginfod.debian.net, https://debuginfod.fedoraproject.org) and
keeps them in the user's directory of caches; the server learns which programs ran, so
nothing but this flag makes replay ask.

--waiting is a tree of the time that threads waited, where that was measured, with who
woke them: on Linux for a process that was sampled by itself. Else it counts samples.

--top lists functions instead, those in which most samples were themselves first;
--by callers is a tree of these functions, with those that called them below.
--stats says how the sampling went: how many samples were taken, which were skipped or
end too early, and how long the process was stopped for them, in all and each time.
--format folded is for flamegraph.pl and inferno, pprof for go tool pprof,
speedscope for www.speedscope.app, firefox for profiler.firefox.com (with a thread for
each thread, over time; compressed if the name of the file ends in .gz); csv and json
have a row for each thread and stack, outermost function first, with the seconds
waited, and with --by callers one for each line of the tree. With --waiting, folded
and speedscope have nanoseconds; pprof has them as a second value.`,
		Example: `  replay stacks Safari --at 03:12
  replay stacks --from 03:00 --to 03:10 --top -n 10
  replay stacks 612 --running --format pprof -o cpu.pb.gz`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(a); err != nil {
				return err
			}
			if err := a.load(); err != nil {
				return err
			}
			w, err := a.Window()
			if err != nil {
				return err
			}
			symbols, done, err := a.symbolsFor(f)
			if err != nil {
				return err
			}
			list, err := profiles(&a.session, w, f.at, stacks.Request{Symbols: symbols, Ticks: f.format == firefoxFormat}, args)
			if ended := done(); ended != nil {
				return ended
			}
			if err != nil {
				return err
			}
			return (&stacksAnswer{a, f, list}).write(cmd, args)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.at, "at", "", "the sampling at an instant, or the nearest to it")
	fl.StringVar(&f.by, "by", string(stacks.ByProcess), "first branches of the tree: process, thread or none; or callers: the functions in which most samples were, and who called them")
	fl.StringVar(&f.min, "min", "1%", "leave out of the tree what has a smaller share")
	fl.BoolVar(&f.running, "running", false, "only samples of threads that had a processor or wanted one")
	fl.BoolVar(&f.waiting, "waiting", false, "only threads that waited: the time, where it was measured, else samples")
	fl.BoolVar(&f.top, "top", false, "functions instead of a tree")
	fl.BoolVar(&f.stats, "stats", false, "statistics of the sampling itself: what was taken, what was not, and how long processes were stopped for it")
	fl.IntVarP(&f.n, "number", "n", 20, "with --top: how many; 0 for all")
	fl.StringVar(&f.format, "format", string(out.Table), strings.Join(stackFormats, ", "))
	fl.StringVarP(&f.dst, "output", "o", "", "file to write, of folded, pprof, speedscope and firefox; - is standard output")
	fl.StringVar(&f.symbols, "symbols", "", "directory of programs, libraries, debug files, dSYMs or shared caches to name functions by, where their UUIDs or build IDs fit")
	fl.StringVar(&f.debuginfod, "debuginfod", "", "server to ask for debug files by build ID (http://, https:// or unix:); it learns which programs ran")
	fl.BoolVar(&f.force, "force", false, "overwrite what is there")
	return cmd
}

// check refuses invalid flags before anything is read.
func (f *stackFlags) check(a *app) error {
	if err := choice("by", stacks.By(f.by), stacks.Bys); err != nil {
		return err
	}
	if !slices.Contains(stackFormats, f.format) {
		return fmt.Errorf("stacks has no format %q: it has %s%s", f.format, strings.Join(stackFormats, ", "), query.Suggest(f.format, stackFormats))
	}
	if f.running && f.waiting {
		return errors.New("--running and --waiting together are all samples: leave both out")
	}
	if f.at != "" && (a.From != "" || a.To != "") {
		return errors.New("--at names an instant, --from and --to a window: give one of them")
	}
	var rest string
	if n, _ := fmt.Sscanf(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(f.min), "%"))+" ", "%g%s", &f.share, &rest); n != 1 || !(f.share >= 0 && f.share <= 100) {
		return fmt.Errorf("--min %s: write a share such as 1%% or 0.1%%", f.min)
	}
	f.share /= 100
	switch file := f.file(); {
	case !file && f.dst != "":
		return fmt.Errorf("--output is a file of the formats folded, pprof, speedscope and firefox: send %s on with a pipe or >", f.format)
	case !file && f.force:
		return errors.New("--force overwrites the file of --output")
	case f.stats && (f.top || f.running || f.waiting):
		return errors.New("--stats is about the sampling, and not about functions and states of threads: leave --top, --running and --waiting out")
	case file && f.stats:
		return fmt.Errorf("--stats is a table, csv or json: leave it out for %s", f.format)
	case file && f.top:
		return fmt.Errorf("--top is a table, csv or json: leave it out for %s, which says more", f.format)
	case f.by == string(stacks.ByCallers) && (file || f.top):
		return errors.New("--by callers is a tree, in tables, csv and json: leave it out with --top and with formats for other programs")
	case f.format == pprofFormat && (f.dst == "" || f.dst == "-") && a.width > 0:
		return errors.New("a terminal shows no profile: name a file with --output, or lead the output elsewhere")
	case !file:
		a.format = f.format
	}
	return nil
}

// profiles returns the stacks of each host in the window, or around an instant, as r asks for them.
func profiles(s *session, w query.Window, at string, r stacks.Request, args []string) ([]*stacks.Profile, error) {
	instant := int64(0)
	if at != "" {
		var err error
		if instant, err = s.moment(at, w); err != nil {
			return nil, err
		}
	}
	m, err := query.NewMatcher(args)
	if err != nil {
		return nil, err
	}
	var list []*stacks.Profile
	found := false
	// If no process has the name, it means those whose names contain it.
	for _, loose := range []bool{false, true} {
		for _, h := range s.hostsOf(w) {
			one := query.Window{Hosts: []string{h.ID}, From: w.From, To: w.To}
			if instant != 0 {
				var ok bool
				if one, ok = stacks.Near(s.Archive, h.ID, instant, nearby); !ok {
					continue
				}
			}
			owned := m.OwnedKeys(s.Archive, one, loose)
			r.Window, r.Of = one, func(t *stacks.Thread) bool {
				found = true
				return m.Accept(t.PID, t.Command, loose) || owned[t.Process] || t.Key() != "" && slices.Contains(args, t.Key())
			}
			p := stacks.Read(s.Archive, r)
			if len(p.Stacks) > 0 {
				list = append(list, p)
			}
		}
		if len(list) > 0 || !found {
			break
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	when := windowWords(s, w)
	if instant != 0 {
		when = "within ten minutes of " + s.Show(instant)
	}
	if found {
		return nil, nothing("no stacks of %s were sampled %s, but of other processes: replay stacks lists them", strings.Join(args, ", "), when)
	}
	return nil, nothing("no stacks were sampled %s: recorder sample PID samples those of a process, and triggers in the recorder's configuration do", when)
}

// windowWords describes a window in words.
func windowWords(s *session, w query.Window) string {
	from, to, _ := query.Covered(s.Archive, w)
	if w.From != 0 {
		from = w.From
	}
	if w.To != 0 {
		to = w.To
	}
	return fmt.Sprintf("between %s and %s", s.Show(from), s.Show(to))
}

func (s *stacksAnswer) write(cmd *cobra.Command, args []string) error {
	state := s.f.state()
	if !slices.ContainsFunc(s.list, func(p *stacks.Profile) bool { return p.Sum(state) > 0 || p.Sum(s.state(p)) > 0 }) {
		return nothing("none of the samples is of a thread that was %s", state)
	}
	for _, p := range s.list {
		if text := p.LostText(); text != "" {
			s.a.warn(text)
		}
	}
	var err error
	switch {
	case s.f.file():
		return s.file(cmd, args)
	case s.f.top:
		err = s.hottest()
	case s.f.by == string(stacks.ByCallers):
		err = s.a.present(s.trees, s.callers)
	case s.f.stats:
		err = s.statistics()
	default:
		err = s.a.present(s.trees, s.rows)
	}
	if err == nil {
		s.a.finish(cmd, args, false)
	}
	return err
}
