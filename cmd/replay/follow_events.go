package main

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/recent"
)

// liveEvents shows events as they are recorded. It sorts events that are recorded together.
type liveEvents struct {
	*following
	wants  func(metric.EventKind) bool
	brief  bool // leave out what happens all the time
	rows   out.Writer
	held   []*store.Event
	booted map[string]bool
	turned metric.Stamp
}

// followEvents shows the events of the window, if there is one, and then new ones.
func followEvents(a *app, cmd *cobra.Command, args []string, kinds []string, flags *followFlags) error {
	ctx, stop := a.untilEnded()
	defer stop()
	on, err := a.follow(ctx, flags, args...)
	if err != nil {
		return err
	}
	defer on.close()
	l := &liveEvents{following: on, brief: a.brief(kinds), booted: make(map[string]bool)}
	if l.wants, err = query.EventFilter(kinds); err != nil {
		return err
	}
	w, err := on.window(flags)
	if err != nil {
		return err
	}
	if l.rows, err = a.liveRows(eventColumns()...); err != nil {
		return err
	}
	defer l.rows.Close()
	a.announce(cmd, args)
	if err := on.keep(ctx, recent.Keep{Metric: func(*metric.Desc) bool { return false }}); err != nil {
		return err
	}
	for e := range query.SortedEvents(on.upTo(a.Archive), query.Window{Hosts: w.Hosts}, metric.EventBoot) {
		l.booted[e.Archive.BootID] = true // It was recorded before.
	}
	if a.From != "" {
		clear(l.booted)
		for e := range query.SortedEvents(on.upTo(a.Archive), w) {
			if err := l.show(a.Archive, e); err != nil {
				return err
			}
		}
	}
	if err := l.present(); err != nil {
		return err
	}
	on.release()
	defer on.fit(l.rows)()
	return on.goOn(ctx, l)
}

// show prints an event if its kind is wanted and it has not been shown.
func (l *liveEvents) show(in query.Archive, e *store.Event) error {
	switch e.Kind {
	case metric.EventBoot:
		if l.booted[e.Archive.BootID] {
			return nil
		}
		l.booted[e.Archive.BootID] = true
	case metric.EventRotate:
		if l.turned == e.At {
			return nil // Both archives record it.
		}
		l.turned = e.At
	}
	if !l.wants(e.Kind) || l.brief && query.Everyday(e.Kind) {
		return nil
	}
	return l.rows.Row(eventCells(e, textIn(in, e)))
}

// textIn is what replay events prints. Which processes the kernel killed can be said only once their
// ends were recorded.
func textIn(in query.Archive, e *store.Event) string {
	if query.Killing(e) {
		if victims, _ := query.Victims(in, e); len(victims) == 0 {
			return e.Text
		}
	}
	return query.EventText(in, e, human.Bytes)
}

func (l *liveEvents) tick(metric.Class) error { return nil }

func (l *liveEvents) event(info *store.ArchiveInfo, e *metric.Event) error {
	l.held = append(l.held, &store.Event{Event: *e, Archive: info})
	return nil
}

func (l *liveEvents) end() error { return nil }

// present shows the events that were recorded together.
func (l *liveEvents) present() error {
	slices.SortStableFunc(l.held, func(x, y *store.Event) int { return cmp.Compare(x.At.Wall, y.At.Wall) })
	for _, e := range l.held {
		if err := l.show(l.recent, e); err != nil {
			return err
		}
	}
	clear(l.held)
	l.held = l.held[:0]
	return l.rows.(out.Flusher).Flush()
}
