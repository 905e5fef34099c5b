package proc

import (
	"tachograph/sample"
	"tachograph/sample/metric"
)

// column is one metric of a process: its name, and how to get it from what was read. A metric
// whose value may be missing for a reason of its own sets missing, or value, which returns both
// at once.
type column[R any] struct {
	name    string
	number  func(r *R) uint64
	text    func(r *R) string
	missing func(r *R) metric.Reason
	value   func(r *R) (uint64, metric.Reason)
}

// supply is a set of columns that one call or one file supplies.
type supply[R any] struct {
	// load reads it; a reason other than Present applies to all its columns.
	load    func(r *R) metric.Reason
	columns []column[R]
	// lasting reports whether a column still holds after the process has ended. If it is nil,
	// none does.
	lasting func(r *R, d *metric.Desc) bool
	// restless is set if a column may change although the process does nothing.
	restless bool
	first    int // number of its first column in the group
	wanted   bool
	chosen   [][]int // by frame: the columns that it asks for
}

// number lays the parts' columns end to end and returns their names in order.
func number[R any](parts []*supply[R]) []string {
	var names []string
	for _, pt := range parts {
		pt.first = len(names)
		names = append(names, columnNames(pt.columns)...)
	}
	return names
}

func columnNames[R any](columns []column[R]) (names []string) {
	for i := range columns {
		names = append(names, columns[i].name)
	}
	return names
}

// want finds out which columns of the part the frames ask for.
func (pt *supply[R]) want(frames []*sample.Frame) {
	pt.wanted = false
	for len(pt.chosen) < len(frames) {
		pt.chosen = append(pt.chosen, nil)
	}
	for n, f := range frames {
		pt.chosen[n] = pt.chosen[n][:0]
		for i := range pt.columns {
			if f.Wants(pt.first + i) {
				pt.chosen[n] = append(pt.chosen[n], i)
			}
		}
		pt.wanted = pt.wanted || len(pt.chosen[n]) > 0
	}
}

// fill loads the part for r and sets its columns in the last row of each frame. It returns why
// the part could not be loaded.
func (pt *supply[R]) fill(r *R, frames []*sample.Frame) metric.Reason {
	why := pt.load(r)
	for n, f := range frames {
		row := len(f.Block().Rows) - 1
		for _, i := range pt.chosen[n] {
			if why != metric.Present {
				f.SetMissing(row, pt.first+i, why)
			} else if miss := pt.columns[i].fill(r, f, row, pt.first+i); miss != metric.Present {
				f.SetMissing(row, pt.first+i, miss)
			}
		}
	}
	return why
}

// fill sets a cell, or returns why it has no value.
func (c *column[R]) fill(r *R, f *sample.Frame, row, col int) metric.Reason {
	if c.missing != nil {
		if why := c.missing(r); why != metric.Present {
			return why
		}
	}
	switch {
	case c.value != nil:
		v, why := c.value(r)
		f.SetUint(row, col, v)
		return why
	case c.text != nil:
		f.SetString(row, col, c.text(r))
	default:
		f.SetUint(row, col, c.number(r))
	}
	return metric.Present
}

// fillLasting sets the columns of the part that never change, or have not changed by the end of
// the process: its identity, not what it used.
func (pt *supply[R]) fillLasting(r *R, f *sample.Frame, row int) {
	for i := range pt.columns {
		if col := pt.first + i; pt.lasting != nil && pt.lasting(r, f.Full().Metrics[col]) {
			pt.columns[i].fill(r, f, row, col)
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

// stateNames avoids allocating a one-letter string a thousand times a sweep.
var stateNames = func() (names [256]string) {
	for i := range names {
		names[i] = string(rune(i))
	}
	return names
}()
