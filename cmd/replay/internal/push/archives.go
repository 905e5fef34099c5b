package push

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/fault"
	"tachograph/store/follow"
)

// Archives returns Options.Open and Options.Oldest for the archives in paths. host is the ID of
// the host to push; empty if there is only one.
func Archives(opt follow.Options, paths ...string) (open func(follow.Position, bool) (Follower, error), oldest func(int64) (follow.Position, int64, bool, error)) {
	open = func(from follow.Position, standing bool) (Follower, error) {
		o := opt
		o.From, o.Standing = from, standing
		return follow.Open(o, paths...)
	}
	oldest = func(after int64) (at follow.Position, from int64, ok bool, err error) {
		r, err := store.Open(paths...)
		if opt.Wait && (errors.Is(err, fs.ErrNotExist) || fault.Of(err) == fault.NotFound) {
			return at, 0, false, nil
		}
		if err != nil {
			return at, 0, false, err
		}
		defer r.Close()
		var names, hosts []string
		for _, a := range r.Files() {
			host := &a.Info.Host
			if opt.Host != "" && host.ID != opt.Host {
				continue
			}
			if !slices.Contains(hosts, host.ID) {
				names, hosts = append(names, host.Name), append(hosts, host.ID)
			}
			if !ok && (a.Info.To > after || after == 0) {
				at, from, ok = before(after, a), a.Info.From, true
			}
		}
		if len(hosts) > 1 {
			return at, 0, false, fmt.Errorf("the archives are of several hosts (%s): choose one with --host", strings.Join(names, ", "))
		}
		return at, from, ok, nil
	}
	return open, oldest
}

// before returns a position in an archive before everything recorded at an instant or later. In
// each class it is behind the older chunks, so that these need not be read.
func before(instant int64, a *archive.File) follow.Position {
	at := follow.Position{Archive: a.Info.ID}
	chunks := slices.SortedFunc(slices.Values(a.Chunks), func(x, y *archive.ChunkRef) int {
		return cmp.Compare(x.Info.First.Cont, y.Info.First.Cont)
	})
	var come [metric.NumClasses]bool
	for _, c := range chunks {
		in := &c.Info
		if come[in.Class] = come[in.Class] || in.To >= instant; !come[in.Class] {
			at.Ticks[in.Class] = in.Last.Cont
		}
	}
	return at
}
