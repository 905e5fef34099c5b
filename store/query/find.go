package query

import (
	"fmt"
	"iter"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Held is a time during which a condition held for an instance.
type Held struct {
	Archive  *store.ArchiveInfo
	Instance *metric.Instance
	// From and To are the first and the last instant at which the condition was seen to hold.
	From, To int64
	// Samples counts those instants.
	Samples int
	// Peak is the most extreme value of the left-hand side, the one farthest
	// from the limit, if the condition is one comparison with a number.
	Peak    float64
	HasPeak bool
	// Open says that it still held when the window or the recording ended.
	Open bool
}

// Condition is a compiled condition and, if it is a comparison of a value with
// a number, that value.
type Condition struct {
	*Expr
	value *Expr
	up    bool // a larger value is more extreme
}

// CompileCondition checks that text is a condition.
func CompileCondition(a Vocabulary, defs *Definitions, text string) (*Condition, error) {
	e, err := Compile(a, defs, text)
	if err != nil {
		return nil, err
	}
	if !e.Condition() {
		return nil, &ExprError{Text: text, Column: len(text) + 1,
			Msg: fmt.Sprintf("a condition compares with a value: %s > 0.5, say", text)}
	}
	c := &Condition{Expr: e}
	if r := e.root; r.kind == compareNode && r.args[1].t.constant {
		c.value = &Expr{Text: text, root: r.args[0]}
		c.up = r.text != "<" && r.text != "<="
	}
	return c, nil
}

// PeakUnits returns the units of the compared value, and whether it is a rate.
func (c *Condition) PeakUnits() (metric.Units, bool) {
	if c.value == nil {
		return metric.NoUnits, false
	}
	return c.value.Units(), c.value.IsRate()
}

// longestSilence is how many ticks without a value end a time in which a condition held.
const longestSilence = missedTicks

// Find yields the times when a condition held for at least so many nanoseconds.
func Find(a Archive, c *Condition, r Request, least int64) iter.Seq2[*Held, error] {
	return func(yield func(*Held, error) bool) {
		open := make(map[string]*Held)
		var order []string
		last := make(map[string]int64)
		end := func(key string, still bool) bool {
			h := open[key]
			delete(open, key)
			if h == nil || h.To-h.From < least {
				return true
			}
			h.Open = still
			return yield(h, nil)
		}
		var in *store.ArchiveInfo
		var silence int64
		for s, err := range Evaluate(a, c.Expr, r) {
			if err != nil {
				yield(nil, err)
				return
			}
			if in != s.Archive {
				in, silence = s.Archive, int64(longestSilence)*tickOf(a, c.Expr, r, s.Archive)
			}
			key := s.Archive.Host.ID
			if s.Instance != nil {
				key += "/" + s.Instance.Key
				if metric.PerBoot(c.Indom()) {
					key += "/" + s.Archive.BootID
				}
			}
			if _, known := last[key]; !known {
				order = append(order, key)
			}
			for i, wall := range s.Wall {
				v := s.Value(i)
				silent := open[key] != nil && wall-last[key] > silence
				if silent && !end(key, false) {
					return
				}
				if v.Miss != metric.Present {
					continue
				}
				last[key] = wall
				switch {
				case v.Number() == 1:
					h := open[key]
					if h == nil {
						h = &Held{Archive: s.Archive, Instance: s.Instance, From: wall}
						open[key] = h
					}
					h.To = wall
					h.Samples++
				default:
					if !end(key, false) {
						return
					}
				}
			}
		}
		for _, key := range order {
			if !end(key, true) {
				return
			}
		}
	}
}

// tickOf returns about how far apart the values of e are in an archive.
func tickOf(a Archive, e *Expr, r Request, info *store.ArchiveInfo) int64 {
	ev := &evaluator{a: a, e: e, r: r, archives: []*store.ArchiveInfo{info}}
	ev.choosePrimary(info.From)
	return ev.tick
}

// Measure fills in the peak of a time that Find found.
func Measure(a Archive, c *Condition, r Request, h *Held) error {
	if c.value == nil {
		return nil
	}
	r.Hosts = []string{h.Archive.Host.ID}
	r.From, r.To = h.From, h.To
	if h.Instance != nil {
		r.Keys = []string{h.Instance.Key}
	}
	for s, err := range Evaluate(a, c.value, r) {
		if err != nil {
			return err
		}
		for i := range s.Wall {
			x := s.Value(i).Number()
			if x != x {
				continue
			}
			if !h.HasPeak || c.up && x > h.Peak || !c.up && x < h.Peak {
				h.Peak, h.HasPeak = x, true
			}
		}
	}
	return nil
}
