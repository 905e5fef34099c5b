package darwin

import (
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// unsupported marks all metrics of g that are not marked yet as missing on this machine.
func unsupported(g *metric.Group, why string) {
	for _, d := range g.Metrics {
		if d.Unsupported == "" {
			d.Unsupported = why
		}
	}
}

// frameOf returns the frame that was made from g, or nil.
func frameOf(frames []*sample.Frame, g *metric.Group) *sample.Frame {
	for _, f := range frames {
		if f.Full() == g {
			return f
		}
	}
	return nil
}

// missAll gives each frame its single row, with all values absent for a reason.
func missAll(frames []*sample.Frame, at metric.Stamp, why metric.Reason) {
	for _, f := range frames {
		f.Reset(at)
		f.MissRow(f.Row(nil), why)
	}
}

// sameRound is how close together the readings of one source for different classes must be to
// share an answer of the kernel.
const sameRound = 100 * time.Millisecond

// reading is when a source last asked the kernel.
type reading struct {
	at   metric.Stamp
	done bool
}

// due reports whether to ask the kernel again, and if so records the instant.
func (r *reading) due(now metric.Stamp) bool {
	if r.done && now.Cont-r.at.Cont < int64(sameRound) {
		return false
	}
	r.at, r.done = now, true
	return true
}
