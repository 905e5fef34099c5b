package main

import (
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// pace knows when something should come, and says when nothing does.
type pace struct {
	clock *clock
	every time.Duration // how often the class is read that is read most often; 0: that is not known
	last  int64         // wall clock of the newest tick; 0 if there is none
	told  bool          // it has been said that nothing comes
	timer *time.Timer
	// say says it; again is after what time it is said again, with the time that has
	// passed by then.
	say   func(text string)
	again time.Duration
}

// of learns how often something is read in the archive that was recorded last.
func (p *pace) of(info *store.ArchiveInfo) {
	p.every = 0
	for _, d := range info.Intervals {
		if d > 0 && d <= time.Hour && (p.every == 0 || d < p.every) {
			p.every = d
		}
	}
}

// patience is how long nothing may come before that is said.
func (p *pace) patience() time.Duration { return 3*p.every + 2*time.Second }

func (p *pace) start() {
	p.timer = time.NewTimer(time.Hour)
	p.timer.Stop()
	if p.every == 0 {
		return
	}
	if since := p.clock.Now().Sub(time.Unix(0, p.last)); p.last != 0 && since > p.patience() {
		p.silent()
		return
	}
	p.timer.Reset(p.patience())
}

func (p *pace) stop() { p.timer.Stop() }

// past notes a tick of how things stood.
func (p *pace) past(t *metric.Tick) { p.last = max(p.last, t.At.Wall) }

func (p *pace) tick(t *metric.Tick) {
	p.last = t.At.Wall
	if p.told {
		p.told = false
		if p.again == 0 {
			p.say("recording goes on")
		} else {
			p.say("")
		}
	}
	if p.every != 0 {
		p.timer.Reset(p.patience())
	}
}

// event notes an event that says why nothing may come.
func (p *pace) event(e *metric.Event) {
	if e.Kind == metric.EventStop && !p.told {
		p.told = true
		p.timer.Stop()
		p.say("the recorder stopped at " + p.clock.Show(e.At.Wall) + "; waiting for it")
	}
}

// silent says that nothing comes.
func (p *pace) silent() {
	if p.told && p.again == 0 {
		return
	}
	p.told = true
	p.say(p.silence())
	if p.again > 0 {
		p.timer.Reset(p.again)
	}
}

// silence says for how long nothing has come.
func (p *pace) silence() string {
	if p.last == 0 {
		return "nothing has been recorded yet: is the recorder running?"
	}
	ago := p.clock.Now().Sub(time.Unix(0, p.last)).Round(time.Second)
	return "the last sample is of " + p.clock.Show(p.last) + ", " + durationText(int64(ago)) + " ago: is the recorder running?"
}
