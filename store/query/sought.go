package query

import (
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/chunk"
)

// keysOf returns the keys of the instances that accept takes by any of their names, in and about
// a window; ok is false if they are not known, or too many.
func keysOf(a Archive, indom string, w Window, s *store.Sought, accept func(in *metric.Instance) bool) (keys []string, ok bool) {
	if s == nil {
		return nil, false
	}
	return a.Keys(indom, w.From, w.To, s, accept)
}

// soughtBy returns what the instances have in common whose name, key or name without number
// matches one of the patterns.
func soughtBy(patterns ...*Pattern) *store.Sought {
	s := &store.Sought{}
	for _, p := range patterns {
		s.Traits = append(s.Traits, p.trait())
	}
	return s
}

// trait returns what the texts that p matches have in common.
func (p *Pattern) trait() chunk.Trait {
	expr := "^" + regexp.QuoteMeta(p.name) + "$"
	if p.re != nil {
		expr = p.re.String()
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return chunk.Trait{}
	}
	t := chunk.Trait{Ends: endings(tree)}
	if re, err := regexp.Compile(relaxed(tree).String()); err == nil {
		match := func(frame string) bool {
			if re.MatchString(frame) {
				return true
			}
			number, name, _ := strings.Cut(frame, " ") // as ProcessName does
			return strings.Trim(number, "0123456789/\x00") == "" && re.MatchString(name)
		}
		// Most chunks have the same frames.
		known := make(map[string]bool)
		var mu sync.Mutex
		t.Frame = func(frame string) bool {
			mu.Lock()
			defer mu.Unlock()
			yes, ok := known[frame]
			if !ok {
				if len(known) >= mostFrames {
					clear(known)
				}
				yes = match(frame)
				known[strings.Clone(frame)] = yes
			}
			return yes
		}
	}
	return t
}

// mostFrames bounds how many frames are remembered.
const mostFrames = 1 << 14

// relaxed returns an expression that also matches each text that re matches after runs of digits
// in it have become one zero byte: whatever matches a digit may match the zero instead, or, for
// the digits that follow, nothing.
func relaxed(re *syntax.Regexp) *syntax.Regexp {
	switch re.Op {
	case syntax.OpLiteral:
		out := &syntax.Regexp{Op: syntax.OpConcat, Flags: re.Flags}
		for _, r := range re.Rune {
			if isFigure(r) {
				out.Sub = append(out.Sub, perhaps(&syntax.Regexp{Op: syntax.OpCharClass, Rune: []rune{0, 0, r, r}}))
			} else {
				out.Sub = append(out.Sub, &syntax.Regexp{Op: syntax.OpLiteral, Flags: re.Flags, Rune: []rune{r}})
			}
		}
		return out
	case syntax.OpCharClass:
		if !takesDigit(re.Rune) {
			return re
		}
		class := re.Rune
		if class[0] > 0 {
			class = append([]rune{0, 0}, class...)
		}
		return perhaps(&syntax.Regexp{Op: syntax.OpCharClass, Flags: re.Flags, Rune: class})
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return perhaps(re)
	case syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	}
	out := *re
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = relaxed(sub)
	}
	return &out
}

func perhaps(re *syntax.Regexp) *syntax.Regexp {
	return &syntax.Regexp{Op: syntax.OpQuest, Sub: []*syntax.Regexp{re}}
}

func isFigure(r rune) bool { return '0' <= r && r <= '9' }

func takesDigit(class []rune) bool {
	for i := 0; i < len(class); i += 2 {
		if class[i] <= '9' && class[i+1] >= '0' {
			return true
		}
	}
	return false
}

// endings returns the final digits that numbers in a matching text must have, as far as the
// expression spells these out up to the last digit.
func endings(re *syntax.Regexp) []chunk.Ending {
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	var out []chunk.Ending
	for i, part := range parts {
		if part.Op != syntax.OpLiteral {
			continue
		}
		for from := 0; from < len(part.Rune); {
			to := from
			for to < len(part.Rune) && isFigure(part.Rune[to]) {
				to++
			}
			closed := to < len(part.Rune) || i+1 < len(parts) && parts[i+1].Op == syntax.OpEndText
			if v, err := strconv.ParseUint(string(part.Rune[from:to]), 10, 64); err == nil && to-from <= 18 && closed {
				e := chunk.Ending{Value: v, Mod: uint64(math.Pow10(to - from))}
				if to < len(part.Rune) && part.Flags&syntax.FoldCase == 0 {
					e.Before = string(part.Rune[to])
				}
				out = append(out, e)
			}
			from = to + 1
		}
	}
	return out
}

// sought returns what the processes that m accepts have in common; nil if it accepts all.
func (m *Matcher) sought(loose bool) *store.Sought {
	if m.All() {
		return nil
	}
	s := soughtBy(m.patterns...)
	for pid := range m.pids {
		s.Traits = append(s.Traits, chunk.Trait{Ends: []chunk.Ending{{Value: uint64(pid), First: true}}})
		s.Labels = []string{"pid"} // See ProcessID.
	}
	for _, o := range m.owners {
		s.Labels = append(s.Labels, o.labels()...)
	}
	if loose {
		for _, word := range m.words {
			p := &Pattern{re: regexp.MustCompile("(?i)" + regexp.QuoteMeta(word))}
			s.Traits = append(s.Traits, p.trait())
		}
	}
	return s
}

// livesOf returns the lives in a window of the processes that m chooses, see Choose.
func (m *Matcher) livesOf(a Archive, w Window) []*store.Life {
	for _, loose := range []bool{false, true} {
		var keys []string
		if s := m.sought(loose); s != nil {
			var few bool
			keys, few = keysOf(a, "process", w, s, func(in *metric.Instance) bool {
				return m.Owns(in, loose) || m.Accept(ProcessID(in), ProcessName(in), loose)
			})
			if few && len(keys) == 0 {
				continue
			}
		}
		var out []*store.Life
		for l := range a.Lives("process", w.From, w.To, keys...) {
			accept := func(name string) bool { return m.Accept(ProcessID(l.Instance), name, loose) }
			if w.Wants(l.Archive.Host.ID) && (slices.ContainsFunc(lifeNames(l), accept) || m.owned(l, loose)) {
				c := *l
				out = append(out, &c)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// owned reports whether a process matches by an owner that it had at any time.
func (m *Matcher) owned(l *store.Life, loose bool) bool {
	return m.Owns(l.Instance, loose) || slices.ContainsFunc(l.Names, func(n store.Naming) bool {
		return m.Owns(&metric.Instance{Labels: n.Labels}, loose)
	})
}

// OwnedKeys returns the keys of the processes in a window that match by one of their owners.
func (m *Matcher) OwnedKeys(a Archive, w Window, loose bool) map[string]bool {
	keys := make(map[string]bool)
	if len(m.owners) == 0 {
		return keys
	}
	for l := range a.Lives("process", w.From, w.To) {
		if w.Wants(l.Archive.Host.ID) && m.owned(l, loose) {
			keys[l.Instance.Key] = true
		}
	}
	return keys
}
