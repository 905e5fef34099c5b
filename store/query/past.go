package query

import (
	"cmp"
	"maps"
	"slices"
)

// A Past carries each series' last value from one window to the next, so that consecutive windows
// give the rates that one long window would. The zero Past has no values.
type Past struct {
	gains *gainer
	held  map[seriesID]heldValue
	broke breaks // the breaks so far
	began bool   // something has been read to its end
	kept  int    // number of series when ended ones were last removed
}

// mostEnded is how many more series there may be than after the last check before those that have
// ended are removed.
const mostEnded = 1 << 12

// longEnded is how long a process or thread was not read when it counts as ended.
const longEnded = int64(lookback)

// goOn returns g with the readings of the windows before.
func (p *Past) goOn(g *gainer) *gainer {
	if p.gains == nil {
		p.gains, p.held = g, make(map[seriesID]heldValue)
		return g
	}
	g.last = p.gains.last
	p.gains = g
	return g
}

// mostBreaks is how many breaks are kept for a boot, or for a device.
const mostBreaks = 1 << 12

// breaks returns the breaks of b and of the windows before: an archive that reaches back only a
// little does not show the breaks between two readings that are far apart.
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

// went notes that all of a window has been read.
func (p *Past) went() {
	if p == nil || p.gains == nil {
		return
	}
	p.began = true
	if p.gains.last.len()+len(p.held) < p.kept+mostEnded {
		return
	}
	var newest int64
	for _, of := range p.gains.last {
		for _, l := range of {
			newest = max(newest, l.Wall)
		}
	}
	for _, v := range p.held {
		newest = max(newest, v.wall)
	}
	p.gains.last.drop(func(id seriesID, l *lastReading) bool { return id.boot != "" && l.Wall < newest-longEnded })
	maps.DeleteFunc(p.held, func(id seriesID, v heldValue) bool { return id.boot != "" && v.wall < newest-longEnded })
	p.kept = len(p.gains.last) + len(p.held)
}
