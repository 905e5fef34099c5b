package main

import (
	"slices"

	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/stacks"
)

// The formats of stacks besides those of all answers.
const (
	foldedFormat     = "folded"
	pprofFormat      = "pprof"
	speedscopeFormat = "speedscope"
	firefoxFormat    = "firefox"
)

var stackFormats = []string{string(out.Table), string(out.CSV), string(out.JSON), foldedFormat, pprofFormat, speedscopeFormat, firefoxFormat}

type stackFlags struct {
	at, by, min, format, dst string
	symbols, debuginfod      string
	running, waiting         bool
	top, stats, force        bool
	n                        int
	share                    float64
}

// file reports whether the format is for a profiler.
func (f *stackFlags) file() bool {
	return slices.Contains([]string{foldedFormat, pprofFormat, speedscopeFormat, firefoxFormat}, f.format)
}

func (f *stackFlags) state() stacks.State {
	switch {
	case f.running:
		return stacks.Running
	case f.waiting:
		return stacks.Waiting
	}
	return stacks.Any
}

// state returns what to count in a profile: of threads that waited, the time if it was measured.
func (s *stacksAnswer) state(p *stacks.Profile) stacks.State {
	if s.f.waiting {
		return p.Waits()
	}
	return s.f.state()
}

// stacksAnswer shows the profiles of hosts as the flags have it.
type stacksAnswer struct {
	a    *app
	f    *stackFlags
	list []*stacks.Profile
}
