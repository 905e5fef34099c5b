package why

import (
	"math"
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// worstMinutes says that a window was chosen by how bad it is.
const worstMinutes = "the worst of the recording"

// worst chooses the window where none was given: the minutes before the last unclean end, else
// the worst of the recording.
func (q *question) worst() error {
	for i := len(q.silences) - 1; i >= 0; i-- {
		if s := q.silences[i]; q.unclean(s) {
			q.w = query.Window{From: max(s.From-2*besides, q.from), To: min(s.To+int64(time.Minute), q.to)}
			q.how = "the last unclean end"
			return nil
		}
	}
	f := newField(q.from, q.to)
	q.field, q.whole = f, f
	if q.to-q.from <= 4*besides {
		q.w = query.Window{From: q.from, To: q.to}
		return nil
	}
	if err := q.read(f, (*signal).judged); err != nil {
		return err
	}
	bad := f.badness(true)
	if slices.ContainsFunc(bad, math.IsNaN) {
		// The other signals add nothing to how bad a slot was, but show whether it was recorded.
		if err := q.read(f, everything); err != nil {
			return err
		}
		bad = f.badness(true)
	}
	q.eventful(f, bad)
	long := max(int(2*besides/f.width), 1)
	best, chosen := -1.0, 0
	for k := 0; k < max(f.n-long, 1); k++ {
		if m := mean(bad[k:min(k+long, f.n)]); m > best {
			best, chosen = m, k
		}
	}
	q.w = query.Window{From: f.begin(chosen), To: min(f.begin(chosen+long), q.to)}
	q.how = worstMinutes
	return nil
}

// eventful adds events to how bad the slots of a recording were: that the kernel killed a
// process, or the system throttled, and that processes failed.
func (q *question) eventful(f *field, bad []float64) {
	looked := 0
	for e := range q.a.Events(q.from, q.to, metric.EventMemory, metric.EventThrottle, metric.EventProcessExit) {
		if looked++; looked > 10*mostExits {
			return
		}
		k := f.slot(e.At.Wall)
		if e.Archive.Host.ID != q.r.Host || k < 0 || k >= f.n || over(e) {
			continue
		}
		harm := 0.5
		switch {
		case query.Killing(e):
			harm = 2
		case e.Kind != metric.EventProcessExit:
		case query.Crashed(e.Label("how")):
			harm = 0.2
		case query.Failed(e.Label("how")):
			harm = 0.02
		default:
			continue
		}
		// Divided by the slot's length, an event counts the same however finely the field is cut.
		bad[k] = orZero(bad[k]) + harm*60e9/float64(max(f.width, int64(time.Second)))/20
	}
}

// unclean reports whether a machine went down without an orderly shutdown.
func (q *question) unclean(s silence) bool {
	switch s.Kind {
	case metric.EventPanic:
		return true
	case metric.EventBoot, metric.EventShutdown:
	default:
		return false
	}
	// A recorder that was asked to stop has recorded so.
	for e := range q.a.Events(s.From-int64(2*time.Minute), s.To, metric.EventStop) {
		if e.Archive.Host.ID == q.r.Host {
			return false
		}
	}
	return true
}
