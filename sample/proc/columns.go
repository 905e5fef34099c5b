package proc

import (
	"tachograph/sample"
	"tachograph/sample/metric"
)

// column is one metric of a process: its name, and how it is got from what
// has been read. A metric whose value may be missing by itself sets missing.
type column[P any] struct {
	name    string
	number  func(p *P) uint64
	text    func(p *P) string
	missing func(p *P) metric.Reason
}

// part is a set of columns that one call or one file supplies.
type part[P any] struct {
	// load reads it; a reason other than Present goes for all its columns.
	load    func(p *P) metric.Reason
	columns []column[P]
	first   int // number of its first column in the group
}

// number lays the parts' columns end to end and returns their names in order.
func number[P any](parts []part[P]) []string {
	var names []string
	for i := range parts {
		parts[i].first = len(names)
		for _, c := range parts[i].columns {
			names = append(names, c.name)
		}
	}
	return names
}

// wanted reports whether any of frames wants something of the part.
func (pt *part[P]) wanted(frames []*sample.Frame) bool {
	for _, f := range frames {
		for i := range pt.columns {
			if f.Wants(pt.first + i) {
				return true
			}
		}
	}
	return false
}

// fill loads the part of p and puts it into the row that was added last to
// each frame.
func (pt *part[P]) fill(p *P, frames []*sample.Frame) {
	why := pt.load(p)
	for _, f := range frames {
		row := len(f.Block().Rows) - 1
		for i := range pt.columns {
			c := &pt.columns[i]
			col := pt.first + i
			if !f.Wants(col) {
				continue
			}
			miss := why
			if miss == metric.Present && c.missing != nil {
				miss = c.missing(p)
			}
			switch {
			case miss != metric.Present:
				f.SetMissing(row, col, miss)
			case c.text != nil:
				f.SetString(row, col, c.text(p))
			default:
				f.SetUint(row, col, c.number(p))
			}
		}
	}
}

// fillLasting puts into a row what the part holds that never changes, or has
// not changed until the process ended: who it was, not what it used.
func (pt *part[P]) fillLasting(p *P, f *sample.Frame, row int) {
	for i := range pt.columns {
		c := &pt.columns[i]
		col := pt.first + i
		if !lasting(f.Full().Metrics[col]) || c.missing != nil && c.missing(p) != metric.Present {
			continue
		}
		if c.text != nil {
			f.SetString(row, col, c.text(p))
		} else {
			f.SetUint(row, col, c.number(p))
		}
	}
}

func lasting(d *metric.Desc) bool {
	switch d.Name {
	case "proc.psinfo.sname":
		return false
	case "proc.psinfo.exe":
		return true // an instant value to PCP, but it changes with exec only
	}
	return d.Sem == metric.Discrete
}

// stateNames avoids making a string of one letter a thousand times a sweep.
var stateNames = func() (names [256]string) {
	for i := range names {
		names[i] = string(rune(i))
	}
	return names
}()
