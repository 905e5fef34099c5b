package main

import (
	"slices"

	"tachograph/cmd/replay/internal/scope"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/fault"
	"tachograph/store/follow"
	"tachograph/store/query"
)

// What the commands call by short names.
type (
	reader = scope.Reader
	clock  = scope.Clock
)

// session is what a command is about.
type session struct {
	*scope.Scope
	// follows opens a follower of what is being recorded.
	follows func(opt follow.Options, paths ...string) (follower, error)
}

// failed reports whether this program failed on an archive, so that the answer covers only the
// others.
func (s *session) failed() bool {
	return slices.ContainsFunc(s.Losses, func(l store.Loss) bool { return l.Kind == fault.Bug })
}

// hostsOf returns the hosts of a window.
func (s *session) hostsOf(w query.Window) []metric.Host {
	return slices.DeleteFunc(slices.Clone(s.Archive.Hosts()), func(h metric.Host) bool { return !w.Wants(h.ID) })
}
