package proc

import (
	"cmp"
	"slices"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/owner"
)

// appWatch emits events about apps that start, end and are started again. An app runs as long as
// its coalition has processes. Services get none: launchd starts and ends them all the time, as
// they are wanted.
type appWatch struct {
	running map[uint64]*runningApp // by coalition
	ended   map[string]int64       // when an app ended, on the continuous clock
	comings owner.Comings
	sweeps  uint64
}

type runningApp struct {
	instance *metric.Instance
	since    int64
	told     bool // it was there at the start, or an event said that it started
	seen     uint64
}

// startedAgain is how soon an app must be back to have been restarted.
const startedAgain = int64(5 * time.Minute)

// look compares the coalitions that have processes with those of the last sweep.
func (w *appWatch) look(c *sample.Context, at metric.Stamp, listed []*coalition) {
	if w.running == nil {
		w.running, w.ended = make(map[uint64]*runningApp), make(map[string]int64)
	}
	w.sweeps++
	if e, ok := w.comings.Rest(at.Cont, "coalition"); ok {
		e.At = at
		emit(c, e)
	}
	for _, co := range listed {
		if co.living == 0 || co.instance.Label(metric.OwnerApp) == "" {
			continue
		}
		a := w.running[co.id]
		if a == nil {
			a = &runningApp{since: at.Cont, told: w.sweeps == 1}
			w.running[co.id] = a
		}
		a.instance, a.seen = &co.instance, w.sweeps
		if !a.told && at.Cont-a.since >= owner.Settled {
			a.told = true
			w.started(c, at, a)
		}
	}
	var over []*runningApp
	for id, a := range w.running {
		if a.seen != w.sweeps {
			delete(w.running, id)
			over = append(over, a)
		}
	}
	slices.SortFunc(over, func(x, y *runningApp) int { return cmp.Compare(x.instance.ID, y.instance.ID) })
	for _, a := range over {
		if a.told && w.comings.Went() {
			w.emit(c, at, a.instance, metric.OwnerWent, " ended")
		}
		w.ended[a.instance.Label(metric.OwnerApp)] = at.Cont
	}
	for app, when := range w.ended {
		if at.Cont-when > startedAgain {
			delete(w.ended, app)
		}
	}
}

func (w *appWatch) started(c *sample.Context, at metric.Stamp, a *runningApp) {
	if !w.comings.Came() {
		return
	}
	if when, ok := w.ended[a.instance.Label(metric.OwnerApp)]; ok && a.since-when <= startedAgain {
		w.emit(c, at, a.instance, metric.OwnerRestarted, " was restarted")
		return
	}
	w.emit(c, at, a.instance, metric.OwnerCame, " started")
}

func (w *appWatch) emit(c *sample.Context, at metric.Stamp, in *metric.Instance, what, text string) {
	emit(c, metric.Event{At: at, Kind: metric.EventOwner, Indom: "coalition", Key: in.Key, Text: in.Label(metric.OwnerApp) + text,
		Labels: append([]metric.Label{{Name: metric.OwnerWhat, Value: what}}, in.Owners()...)})
}
