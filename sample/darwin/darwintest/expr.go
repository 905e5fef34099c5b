package darwintest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// value is the value of an expression at an instant: text, or a number both as an integer and as
// a float.
type value struct {
	text   string
	isText bool
	n      int64
	f      float64
}

// expr is a constant or a function of time.
type expr struct {
	kind   string
	at0    value // the constant, a counter's start, a step's first value
	rate   float64
	lo, hi float64
	steps  []step
	wrap32 bool
	resets []float64
	stills [][2]float64
}

type step struct {
	from float64
	v    value
}

// number reads a plain number as the host does: decimal or hexadecimal, with an optional suffix
// for a binary multiple.
func number(s string) (value, bool) {
	switch s {
	case "":
		return value{}, false
	case "yes", "true":
		return value{n: 1, f: 1}, true
	case "no", "false":
		return value{}, true
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return value{n: n, f: float64(n)}, true
	}
	if n, err := strconv.ParseUint(s, 0, 64); err == nil {
		return value{n: int64(n), f: float64(n)}, true
	}
	if i := strings.IndexByte("KMGT", s[len(s)-1]); i >= 0 {
		if n, err := strconv.ParseInt(s[:len(s)-1], 0, 64); err == nil {
			n <<= 10 * (i + 1)
			return value{n: n, f: float64(n)}, true
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return value{n: int64(f), f: f}, err == nil
}

func (s *statement) valueAt(i int) (value, error) {
	if i >= len(s.words) {
		return value{}, s.fail("a value is missing")
	}
	if w := s.words[i]; !w.quoted {
		if v, ok := number(w.text); ok {
			return v, nil
		}
	}
	return value{text: s.words[i].text, isText: true}, nil
}

// expr reads the expression that begins at word i and returns the index after it.
func (s *statement) expr(i int) (*expr, int, error) {
	if i >= len(s.words) {
		return nil, i, s.fail("a value is missing")
	}
	e := &expr{}
	var err error
	numbers := func(into ...*float64) {
		for _, p := range into {
			i++
			var v value
			if v, err = s.valueAt(i); err == nil && v.isText {
				err = s.fail("%q is not a number", v.text)
			}
			if err != nil {
				return
			}
			*p = v.f
		}
		i++
	}
	word := s.words[i]
	switch {
	case word.quoted:
		e.at0, i = value{text: word.text, isText: true}, i+1
	case word.text == "counter":
		e.kind = "counter"
		if e.at0, err = s.valueAt(i + 1); err == nil {
			i++
			numbers(&e.rate)
		}
	case word.text == "step":
		e.kind = "step"
		e.at0, err = s.valueAt(i + 1)
		for i += 2; err == nil && i+1 < len(s.words) && !s.words[i].quoted; i += 2 {
			from, ok := number(s.words[i].text)
			if !ok {
				break
			}
			var v value
			v, err = s.valueAt(i + 1)
			e.steps = append(e.steps, step{from.f, v})
		}
	case word.text == "saw":
		e.kind = "saw"
		numbers(&e.lo, &e.hi, &e.rate)
	case word.text == "seq" || word.text == "seqhold" || word.text == "rand":
		return nil, i, s.fail("%s has no value that a reading does not change", word.text)
	default:
		e.at0, err = s.valueAt(i)
		i++
	}
	for err == nil && i < len(s.words) && !s.words[i].quoted {
		if s.words[i].text == "wrap32" {
			e.wrap32 = true
			i++
		} else if s.words[i].text == "reset" {
			var at float64
			numbers(&at)
			e.resets = append(e.resets, at)
		} else if s.words[i].text == "still" {
			var from, until float64
			numbers(&from, &until)
			e.stills = append(e.stills, [2]float64{from, until})
		} else {
			break
		}
	}
	return e, i, err
}

// at is the value at time t.
func (e *expr) at(now float64) value {
	v, t := e.at0, now
	for _, s := range e.stills {
		if now > s[0] {
			t -= min(now, s[1]) - s[0]
		}
	}
	switch e.kind {
	case "counter":
		base, reset := 0.0, false
		for _, r := range e.resets {
			if t >= r {
				base, reset = r, true
			}
		}
		grown := e.rate * (t - base)
		if reset {
			v = value{}
		}
		v.n += int64(math.Floor(grown))
		v.f = float64(v.n)
	case "step":
		for _, s := range e.steps {
			if t >= s.from {
				v = s.v
			}
		}
	case "saw":
		share := 0.0
		if e.rate > 0 {
			share = math.Mod(t, e.rate) / e.rate
		}
		v.f = e.lo + (e.hi-e.lo)*share
		v.n = int64(math.Floor(v.f))
	}
	if e.wrap32 {
		v.n = int64(uint32(v.n))
		v.f = float64(v.n)
	}
	return v
}

// String is the value as the host prints a string property.
func (v value) String() string {
	if v.isText {
		return v.text
	}
	return fmt.Sprint(v.n)
}
