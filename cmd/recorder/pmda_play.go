package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"time"

	"github.com/spf13/pflag"

	"tachograph/cmd/internal/pcp/playback"
	"tachograph/cmd/internal/when"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// playFlags say how a recording is played back.
type playFlags struct {
	archive        []string
	host, from, to string
	speed          float64
	loop           bool
}

func (f *playFlags) add(fl *pflag.FlagSet) {
	fl.StringArrayVar(&f.archive, "archive", nil, "answer from the archive, or the directory of archives, at `PATH` (repeatable)")
	fl.StringVar(&f.host, "host", "", "which `HOST` is played, where the archives are of several")
	fl.StringVar(&f.from, "from", "", "`TIME` of the recording at which it begins (default: its beginning)")
	fl.StringVar(&f.to, "to", "", "`TIME` at which it ends (default: its end)")
	fl.Float64Var(&f.speed, "speed", 1, "how many seconds of the recording pass in one; 0: the clock stays at --from, or at the end")
	fl.BoolVar(&f.loop, "loop", false, "begin again at the end")
}

// fastest is more than any disk can deliver.
const fastest = 1e6

func (f *playFlags) check() error {
	switch {
	case math.IsNaN(f.speed) || f.speed < 0 || f.speed > fastest:
		return fmt.Errorf("--speed %v: it is from 0 to %.0f, and 1 is as fast as it was", f.speed, fastest)
	case f.loop && f.speed == 0:
		return errors.New("--loop: with --speed 0 the clock does not move, and never comes to an end")
	}
	return nil
}

// open opens the recording.
func (f *playFlags) open(now time.Time, log *slog.Logger) (*playback.Player, error) {
	r, err := playback.Open(f.archive...)
	if p := (*fs.PathError)(nil); errors.As(err, &p) && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--archive: there is nothing at %s", p.Path)
	}
	if err != nil {
		return nil, err
	}
	p, err := f.player(r, now, log)
	if err != nil {
		r.Close()
	}
	return p, err
}

func (f *playFlags) player(r *store.Reader, now time.Time, log *slog.Logger) (*playback.Player, error) {
	host, err := playback.Host(r, f.host)
	if err != nil {
		return nil, err
	}
	from, to, archives := query.Covered(r, query.Window{Hosts: []string{host.ID}})
	ref := when.Reference{Now: now, Zone: zoneOf(archives), Last: func(kind string) time.Time { return lastOf(r, host.ID, kind) }}
	if to != 0 {
		ref.Start, ref.End = time.Unix(0, from), time.Unix(0, to)
	}
	opt := playback.Options{Host: host.ID, Speed: f.speed, Loop: f.loop, Log: log}
	for _, t := range []struct {
		flag, text string
		at         *int64
	}{{"from", f.from, &opt.From}, {"to", f.to, &opt.To}} {
		if t.text == "" {
			continue
		}
		at, err := ref.Parse(t.text)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", t.flag, err)
		}
		*t.at = at.UnixNano()
	}
	if f.from == "" && f.speed == 0 {
		opt.From = to
		if opt.To != 0 {
			opt.From = min(opt.From, opt.To)
		}
	}
	show := func(wall int64) string { return time.Unix(0, wall).In(ref.Zone).Format("2006-01-02 15:04:05 MST") }
	switch {
	case opt.To != 0 && (opt.From > opt.To || opt.From == opt.To && f.speed != 0):
		return nil, fmt.Errorf("--from %s is not before --to %s", show(opt.From), show(opt.To))
	case to != 0 && opt.From > to && !archives[len(archives)-1].Live:
		return nil, fmt.Errorf("--from %s lies behind the recording, which is from %s to %s", show(opt.From), show(from), show(to))
	}
	p, err := playback.New(opt, r, f.archive...)
	if err == nil {
		log.Info("playing back", "host", host.Name, "from", show(max(opt.From, from)), "to", show(to), "speed", f.speed)
	}
	return p, err
}

// zoneOf returns the time zone of the newest archive, if this machine knows it.
func zoneOf(archives []*store.ArchiveInfo) *time.Location {
	for i := len(archives) - 1; i >= 0; i-- {
		name := archives[i].TimeZone
		if name == "" {
			continue
		}
		if t, err := time.Parse("-07:00", name); err == nil {
			_, offset := t.Zone()
			return time.FixedZone(name, offset)
		}
		if z, err := time.LoadLocation(name); err == nil {
			return z
		}
		return time.UTC
	}
	return time.Local
}

// lastOf returns when an event of a kind last happened.
func lastOf(r *store.Reader, host, kind string) (last time.Time) {
	for e := range r.Events(0, 0, metric.EventKind(kind)) {
		if at := time.Unix(0, e.At.Wall); e.Archive.Host.ID == host && at.After(last) {
			last = at
		}
	}
	return last
}
