package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/pushstate"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/push"
	"tachograph/config"
	"tachograph/store"
)

// pushAgain pushes what earlier pushes set aside.
func (p *pushing) pushAgain(ctx context.Context, opt push.Options) error {
	a := p.a
	before, err := pushstate.Read(opt.State)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%[2]s knows of no earlier push to %[1]s: give --state if the earlier push kept its state elsewhere", opt.Target, opt.State)
	}
	if err != nil {
		return err
	}
	engine := push.New(opt)
	err = engine.Run(ctx)
	s := engine.State()
	if err != nil && s.Batches == before.Batches {
		return err
	}
	switch {
	case len(before.Set) == 0:
		a.stdout.Printf("nothing of a push to %s is set aside\n", opt.Target)
	default:
		a.stdout.Printf("%s has taken %s more of what was set aside\n", opt.Target, cli.Count(s.Values-before.Values, "value"))
	}
	if err == nil && len(s.Set) > 0 {
		a.tell("still set aside: " + cli.Count(len(s.Set), "batch") + " (--status says why)")
		return errNo
	}
	return err
}

// tellStatus prints how far pushes have come, and what they set aside.
func (p *pushing) tellStatus(args []string) error {
	if len(args) > 0 || p.follow || p.again {
		return errors.New("--status says what is kept of pushes: it goes with --to or --state, and nothing else")
	}
	var list []pushstate.Told
	switch {
	case p.state != "":
		s, err := pushstate.Read(p.state)
		if err != nil {
			return err
		}
		list = append(list, pushstate.Told{Path: p.state, State: s})
	default:
		for _, dir := range config.PushDirs() {
			states, errs := pushstate.In(dir)
			list = append(list, states...)
			for _, err := range errs {
				p.a.tell(visible.Text(err.Error()))
			}
		}
	}
	if p.to != "" {
		_, to, _, err := p.sink()
		if err != nil {
			return err
		}
		kept := list[:0]
		for _, s := range list {
			if s.Target == to.String() {
				kept = append(kept, s)
			}
		}
		list = kept
	}
	if len(list) == 0 {
		return errors.New("no push has left anything here: say --state where its file is elsewhere")
	}
	for _, s := range list {
		tellPush(&p.a.page, s)
	}
	return nil
}

// tellPush prints the stored state of a push, whose text others may have written.
func tellPush(p *page, s pushstate.Told) {
	line := func(format string, args ...any) { p.stdout.Println(visible.Text(fmt.Sprintf(format, args...))) }
	r := s.Report(newestOf(s.State), time.Now())
	line("%s", r.Words())
	line("  %s%s", s.Path, upToWords(p.clock, s.State))
	if s.LastError != "" {
		line("  last error, at %s: %s", p.Show(s.LastErrorAt.UnixNano()), s.LastError)
	}
	if n := s.Refused - min(s.Refused, uint64(len(s.Set))); n > 0 {
		line("  set aside before those below, and only counted: %s", cli.Count(n, "batch"))
	}
	for i := range s.Set {
		set := &s.Set[i]
		line("  set aside at %s: %s from %s to %s: %s", p.Show(set.At.UnixNano()), cli.Count(set.Values, "value"), p.Show(set.Since), p.Show(set.Until), set.Why)
	}
}

// newestOf returns the time of the newest data that a push can send; zero if its archives cannot
// be read from here.
func newestOf(s *pushstate.State) (newest time.Time) {
	r, err := store.Open(s.Archives...)
	if err != nil {
		return newest
	}
	defer r.Close()
	for _, info := range r.Archives() {
		if to := time.Unix(0, info.To); info.Host.ID == s.Host && to.After(newest) {
			newest = to
		}
	}
	return newest
}
