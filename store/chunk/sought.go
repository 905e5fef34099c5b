package chunk

import (
	"slices"
	"strings"
)

// A Sought has parts of keys and names that show which instances a question may mean, so that
// the others need not be decoded. An instance may be meant if its key or one of its names has
// any of the traits.
type Sought struct {
	Traits []Trait
	// Labels are names of labels that may identify an instance where keys and names do not: no
	// instance that may have such a label is ruled out.
	Labels []string
}

// A Trait describes a text that a search looks for.
type Trait struct {
	// Frame reports whether a text may be meant that equals frame with digits in place of each
	// zero byte; nil if any text may. Several chunks may call it at the same time.
	Frame func(frame string) bool
	// Ends are the endings of its figures. For each Ending, at least one figure must have it.
	Ends []Ending
}

// An Ending matches figures that leave Value when divided by Mod or, if Mod is 0, figures that
// equal Value. With First it matches only the first figure in a text, with Before only figures
// that are followed by Before.
type Ending struct {
	Value, Mod uint64
	First      bool
	Before     string // text that follows the figure, as far as it is known
}

// A tester applies a Sought to the index of a chunk.
type tester struct {
	r     *register
	s     *Sought
	all   bool     // nothing can be ruled out
	frame [][]int8 // by trait: for each frame whether it may be meant; 0 is not known yet
}

func (r *register) tester(s *Sought) *tester {
	t := &tester{r: r, s: s, frame: make([][]int8, len(s.Traits))}
	for i := range t.frame {
		t.frame[i] = make([]int8, len(r.fr.list))
	}
	for _, name := range s.Labels {
		if slices.Contains(r.fr.list, name) && !slices.Contains(r.echoes, name) {
			t.all = true
		}
	}
	return t
}

// segment reports whether any instance of a segment may be sought.
func (t *tester) segment(s *segmentIndex) bool {
	if t.all || s.frame < 0 {
		return true
	}
	named := s.spans[:0]
	if s.copied && len(s.spans) > 0 {
		named = s.spans[:1]
	}
	for i := range t.s.Traits {
		if t.text(i, s.frame, s.spans) {
			return true
		}
		for _, k := range s.kinds {
			if t.text(i, int(k.kind), named) {
				return true
			}
		}
		for _, f := range s.others {
			if t.text(i, int(f), named) {
				return true
			}
		}
	}
	return false
}

// instance reports whether an instance of a segment may be sought, of which only the head is
// known.
func (t *tester) instance(s *segmentIndex, seg *segmentReader, k int) bool {
	if t.all {
		return true
	}
	var own [maxFigures]span
	n := 0
	for _, f := range seg.figures[seg.from[k]:seg.from[k+1]] {
		own[n] = span{f.value, f.value}
		n++
	}
	named := own[:0]
	if s.copied {
		named = own[:min(n, 1)]
	}
	for i := range t.s.Traits {
		if t.text(i, int(seg.frames[k]), own[:n]) || t.text(i, int(seg.kinds[k]), named) {
			return true
		}
		if seg.names[k] >= 0 {
			continue
		}
		for _, f := range s.others {
			if t.text(i, int(f), named) {
				return true
			}
		}
	}
	return false
}

// text reports whether a text of a frame may have a trait. The text's first figures lie in the
// spans.
func (t *tester) text(trait, frame int, spans []span) bool {
	yes := &t.frame[trait][frame]
	tr := &t.s.Traits[trait]
	list := t.r.fr.list[frame]
	if *yes == 0 {
		*yes = 1
		if tr.Frame != nil && !tr.Frame(strings.TrimPrefix(list, plainMark)) {
			*yes = -1
		}
	}
	if *yes < 0 {
		return false
	}
	// Where digits go on beyond what is coded as one number, the ending of the number is not
	// the ending of the digits.
	if strings.HasPrefix(list, plainMark) || strings.Contains(list, numberMark+numberMark) || strings.ContainsAny(list, "0123456789") {
		return true
	}
	for _, e := range tr.Ends {
		if !e.within(list, spans) {
			return false
		}
	}
	return true
}

// within reports whether a figure of a frame may have the ending. The first figures lie in the
// spans; nothing is known about the others.
func (e *Ending) within(frame string, spans []span) bool {
	for i := 0; ; i++ {
		_, rest, ok := strings.Cut(frame, numberMark)
		if !ok || e.First && i > 0 {
			return false
		}
		if strings.HasPrefix(rest, e.Before) && (i >= len(spans) || e.in(spans[i])) {
			return true
		}
		frame = rest
	}
}

// in reports whether a number in the span has the ending.
func (e *Ending) in(s span) bool {
	if e.Mod == 0 {
		return s.lo <= e.Value && e.Value <= s.hi
	}
	if s.hi-s.lo >= e.Mod {
		return true
	}
	lo, hi := s.lo%e.Mod, s.hi%e.Mod
	if lo <= hi {
		return lo <= e.Value && e.Value <= hi
	}
	return e.Value >= lo || e.Value <= hi
}
