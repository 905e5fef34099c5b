package query

import (
	"cmp"
	"maps"
	"slices"
)

// A Past is what was read before, of each series: so that windows that follow each
// other, each of what has been recorded since the one before, are answered as one
// window that holds them all. The zero Past is that of nothing.
type Past struct {
	gains *gainer
	held  map[seriesID]heldValue
	broke breaks // that were come across
	began bool   // something has been read to its end
	kept  int    // series, when it was last looked which have ended
}

// mostEnded is how many series there may be more, since it was last looked, before it
// is looked which of them have ended.
const mostEnded = 1 << 12

// longEnded is how long a process or thread was not read that has ended.
const longEnded = int64(lookback)

// goOn is g with what was left behind.
func (p *Past) goOn(g *gainer) *gainer {
	if p.gains == nil {
		p.gains, p.held = g, make(map[seriesID]heldValue)
		return g
	}
	g.last = p.gains.last
	p.gains = g
	return g
}

// mostBreaks is how many are kept of a boot, or of a device.
const mostBreaks = 1 << 12

// breaks are those of b and of what was read before: an archive that reaches back a
// little does not tell what parts two readings that are far apart.
func (p *Past) breaks(b breaks) breaks {
	if p.broke == nil {
		p.broke = make(breaks)
	}
	for of, list := range b {
		have := p.broke[of]
		for _, one := range list {
			i, known := slices.BinarySearchFunc(have, one, func(x, y breakpoint) int { return cmp.Or(cmp.Compare(x.cont, y.cont), cmp.Compare(x.kind, y.kind)) })
			if !known {
				have = slices.Insert(have, i, one)
			}
		}
		p.broke[of] = have[max(len(have)-mostBreaks, 0):]
	}
	if len(p.broke) > mostBreaks {
		clear(p.broke)
	}
	return p.broke
}

func (p *Past) known() bool { return p != nil && p.began }

// went says that all of a window has been read.
func (p *Past) went() {
	if p == nil || p.gains == nil {
		return
	}
	p.began = true
	if len(p.gains.last)+len(p.held) < p.kept+mostEnded {
		return
	}
	var newest int64
	for _, l := range p.gains.last {
		newest = max(newest, l.Wall)
	}
	for _, v := range p.held {
		newest = max(newest, v.wall)
	}
	maps.DeleteFunc(p.gains.last, func(id seriesID, l *lastReading) bool { return id.boot != "" && l.Wall < newest-longEnded })
	maps.DeleteFunc(p.held, func(id seriesID, v heldValue) bool { return id.boot != "" && v.wall < newest-longEnded })
	p.kept = len(p.gains.last) + len(p.held)
}
