package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/browse"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/cmd/replay/internal/scope"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/fault"
	"tachograph/store/follow"
	"tachograph/store/query"
)

// goOn prepares opt for browsing a recording that is still being written. The browser waits
// for an archive, and for the first sample in it, where there is none yet.
func (b *browsing) goOn(ctx context.Context, opt *browse.Options, args []string) error {
	a := b.a
	paths, err := a.Locate(args)
	if err != nil {
		return err
	}
	err = a.load(args...)
	switch missing := fault.Of(err) == fault.NotFound; {
	case missing && !isDirectory(paths):
		return fmt.Errorf("there is no archive in %s", strings.Join(paths, ", "))
	case err != nil && !missing:
		return err
	case err == nil && finished(a):
		return errFinished(a.Paths)
	}
	opt.Waiting = "waiting for the first sample in " + strings.Join(paths, ", ") + " (q quits)"
	changed := make(chan struct{}, 1)
	opt.Changed = changed
	src, err := a.follows(follow.Options{Complete: catalog.Complete, Wait: true, Classes: []metric.Class{metric.Fast, metric.Process}}, paths...)
	if err != nil {
		return err
	}
	more := make(chan struct{}, 1)
	go tellChanges(ctx, src, changed, more)
	var recording *moment.Recording
	opt.Open = func(ctx context.Context) (browse.Opened, error) {
		for {
			o, err := b.openGrowing(args)
			if err == nil {
				recording, _ = o.Engine.(*moment.Recording)
				return o, nil
			}
			if !nothingYet(err) {
				return o, err
			}
			select {
			case <-more:
			case <-ctx.Done():
				return o, ctx.Err()
			}
		}
	}
	opt.Refresh = func() error {
		if err := a.Archive.Refresh(); err != nil {
			return err
		}
		return recording.Refresh()
	}
	return nil
}

// isDirectory reports whether any of the paths is a directory, in which archives can still
// appear.
func isDirectory(paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		st, err := os.Stat(p)
		return err == nil && st.IsDir()
	})
}

// openGrowing opens the recording as far as it has been written. It fails while nothing has been
// recorded.
func (b *browsing) openGrowing(args []string) (browse.Opened, error) {
	a := b.a
	if a.Archive == nil {
		if err := a.session.Load(args); err != nil {
			return browse.Opened{}, err
		}
	} else if err := a.Archive.Refresh(); err != nil {
		return browse.Opened{}, err
	}
	if _, to, _ := query.Covered(a.Archive, query.Window{}); to == 0 {
		return browse.Opened{}, &scope.Error{Kind: scope.Outside, Err: errors.New("nothing was recorded so far")}
	}
	open, err := b.host()
	if err != nil {
		return browse.Opened{}, err
	}
	return open()
}

// nothingYet reports whether err says that there is no archive, or nothing in it.
func nothingYet(err error) bool {
	empty := (*scope.Error)(nil)
	return fault.Of(err) == fault.NotFound || errors.As(err, &empty) && empty.Kind == scope.Outside
}

// tellChanges sends on each channel whenever something has been recorded, until ctx ends. A
// receiver that is still busy with the last change gets one message for all that follow.
func tellChanges(ctx context.Context, src follower, told ...chan struct{}) {
	defer src.Close()
	for {
		it, err := src.Next(ctx)
		if err != nil {
			return
		}
		if !it.Present {
			continue
		}
		for _, c := range told {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
}
