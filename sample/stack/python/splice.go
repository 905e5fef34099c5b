package python

import "tachograph/sample/stack"

// Splice puts the places of a program into a thread's own stack, where the evaluation loop is,
// and appends the result to to. Both stacks begin with the innermost frame; m is the
// interpreter's image, which is loaded as at. native is whole if it reaches to where the thread
// began.
//
// A loop runs functions that call each other; one that C has called begins another loop. So each
// frame of the loop is replaced by the places up to the next one that was entered from C, and
// the frames of C between two loops stay between their places.
//
// The two stacks may not have equally many loops. If the thread's own stack is known only in
// part, the innermost loops belong together, and the places that are left are its callers. If
// it is whole, one stack is of a later moment than the other and the thread has called or
// returned meanwhile: then the outermost loops belong together, as they change least, the
// program's places without a loop are left out, and loops without a place stay as they are.
//
// If the loop has no symbol, its frames cannot be distinguished from the interpreter's others: then the
// frames up to the first in the interpreter are what the program called, and all further ones
// are left out in favour of the program's.
func (m *Image) Splice(to, native []stack.Frame, at *stack.Image, whole bool, places []Place) []stack.Frame {
	if len(places) == 0 {
		return append(to, native...)
	}
	inside := func(i int) bool {
		f := &native[i]
		return !f.Kernel && f.Image != nil && (f.Image == at || *f.Image == *at)
	}
	if len(m.loops) == 0 {
		for i := range native {
			if to = append(to, native[i]); inside(i) {
				break
			}
		}
		return appendPlaces(to, places)
	}
	isLoop := func(i int) bool {
		offset := native[i].Offset()
		if i > 0 && !native[i-1].Kernel {
			offset-- // where the call returns to, which may be in the next function
		}
		return inside(i) && m.has(offset)
	}
	loops := 0
	for i := range native {
		if isLoop(i) {
			loops++
		}
	}
	entries := 0
	for i := range places {
		if places[i].Entry {
			entries++
		}
	}
	if loops > 0 && (entries < loops || whole && m.reaches(native, inside)) {
		for ; entries > loops; entries-- { // of a later moment
			_, places = cut(places)
		}
	}
	keep := loops - entries // loops of an earlier moment
	for i := range native {
		if !isLoop(i) {
			to = append(to, native[i])
			continue
		}
		if keep > 0 {
			keep--
			to = append(to, native[i])
			continue
		}
		var run []Place
		run, places = cut(places)
		to = appendPlaces(to, run)
	}
	return appendPlaces(to, places)
}

// reaches reports whether the outermost frame of a stack is one that threads begin with, and no
// frame of the interpreter's own whose caller is missing.
func (m *Image) reaches(native []stack.Frame, inside func(int) bool) bool {
	last := len(native) - 1
	return !inside(last) || m.start.has(native[last].Offset())
}

// cut cuts off the places of the innermost loop.
func cut(places []Place) (run, rest []Place) {
	for i := range places {
		if places[i].Entry {
			return places[:i+1], places[i+1:]
		}
	}
	return places, nil
}

func appendPlaces(to []stack.Frame, places []Place) []stack.Frame {
	for i := range places {
		p := &places[i]
		to = append(to, stack.Frame{Name: p.Name, File: p.File, Line: p.Line, Start: p.Start})
	}
	return to
}
