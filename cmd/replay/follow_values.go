package main

import (
	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
	"tachograph/store/recent"
)

// followSeries shows the values of the window, if there is one, and then new ones.
func followSeries(a *app, cmd *cobra.Command, f *seriesFlags, args []string, column string, mode query.Mode) error {
	ctx, stop := a.untilEnded()
	defer stop()
	on, err := a.follow(ctx, &f.follow)
	if err != nil {
		return err
	}
	defer on.close()
	l := &liveSeries{following: on, args: args, column: column, cells: make([]out.Cell, 5)}
	if err := l.prepare(f, mode); err != nil {
		return err
	}
	if err := on.keep(ctx, recent.Keep{Ticks: keptTicks, For: l.keepFor(), NoEvents: true, Metric: l.wants}); err != nil {
		return err
	}
	a.announce(cmd, args)
	if err := l.start(); err != nil {
		return err
	}
	defer l.rows.Close()
	var shown interface {
		shows
		before() error
	} = l
	if l.request.Step > 0 {
		if shown, err = newLiveSteps(l); err != nil {
			return err
		}
	}
	if err := shown.before(); err != nil {
		return err
	}
	on.doubt(l.doubts)
	if l.request.Step == 0 {
		l.release()
	}
	defer on.fit(l.rows)()
	return on.goOn(ctx, shown)
}
