package why

import (
	"cmp"
	"math"
	"slices"
)

// usual returns what is usual for x outside of a stretch: the second highest use of all other
// times as long, as what happened once before is not yet usual. It is not known where there is
// hardly any other time.
func (l *ledger) usual(x []float64, of stretch) (usual float64, known bool) {
	list, rest := l.spans(x, of)
	switch {
	case of.from == 0:
		return 0, false // It did so from the beginning on.
	case len(list) > 0:
		return list[min(1, len(list)-1)] * l.fitful(x, of), true
	case rest < float64(leastRest)/1e9:
		return 0, false
	}
	// Less time is known than the stretch is long: nearly the highest use in it is ordinary.
	type piece struct{ x, seconds float64 }
	var pieces []piece
	for k := range x {
		if !of.near(k) && l.known[k] {
			pieces = append(pieces, piece{x[k], l.seconds(k)})
		}
	}
	slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.x, b.x) })
	passed := 0.0
	for _, p := range pieces {
		if passed += p.seconds; passed >= 0.9*rest {
			return p.x, true
		}
	}
	return 0, true
}

// fitful returns how many times the highest earlier use is still ordinary: more for a use that
// comes and goes.
func (l *ledger) fitful(x []float64, of stretch) float64 {
	some, all := 0.0, 0.0
	for k := range x {
		if !of.near(k) && l.known[k] {
			all += l.seconds(k)
			if x[k] > 0 {
				some += l.seconds(k)
			}
		}
	}
	if some < 0.8*all {
		return 1.5
	}
	return 1
}

// near reports whether a piece belongs to a stretch or is next to it: such a piece may be half in
// the stretch.
func (s stretch) near(k int) bool { return k >= s.from-1 && k <= s.to }

// spans returns the means of x, the highest first, over the times outside of a stretch that are
// about as long as it; rest is how many seconds there are outside of it in all.
func (l *ledger) spans(x []float64, of stretch) (list []float64, rest float64) {
	long := float64(l.cuts[of.to-1]-l.start(of.from)) / 1e9
	sum, spent := 0.0, 0.0
	end := func(least float64) {
		if spent > 0 && spent >= least {
			// A piece may be longer: all of its use may have been in a part of it.
			list = append(list, sum/max(spent, 1e-9)*min(max(spent/max(long, 1), 1), mostDense))
		}
		sum, spent = 0, 0
	}
	for k := range x {
		if of.near(k) || !l.known[k] {
			end(0.6 * long)
			continue
		}
		sum, spent, rest = sum+float64(x[k]*l.seconds(k)), spent+l.seconds(k), rest+l.seconds(k)
		if spent >= long {
			end(0)
		}
	}
	end(0.6 * long)
	slices.SortFunc(list, func(a, b float64) int { return cmp.Compare(b, a) })
	return list, rest
}

const (
	// mostDense is how many times the mean of a piece a part of it may have been.
	mostDense = 3
	// seldomThere is the part of the time below which a name comes and goes.
	seldomThere = 0.5
	// peersCount is how much less new a use is if other names that come and go have used as much.
	peersCount = 0.65
)

// there returns the part of the time outside of a stretch in which processes of a name were
// there.
func (l *ledger) there(name string, of stretch) float64 {
	held, used := l.course(name, thingMemory), l.course(name, thingCPU)
	in, all := 0.0, 0.0
	for k := range l.cuts {
		if of.near(k) || !l.known[k] {
			continue
		}
		all += l.seconds(k)
		if held[k] > 0 || used[k] > 0 {
			in += l.seconds(k)
		}
	}
	return in / math.Max(all, 1e-9)
}

// peers returns what other names that come and go used outside of a stretch, the second highest
// of all: on a machine where new programs are run all the time, that is usual for a new one.
func (l *ledger) peers(name string, thing int, of stretch) float64 {
	if l.course(name, thingMemory) == nil || l.there(name, of) >= seldomThere {
		return 0
	}
	l.load(thing)
	first, second := 0.0, 0.0
	for other, a := range l.like(name) {
		if other == name || l.there(other, of) >= seldomThere {
			continue
		}
		list, _ := l.spans(a.of[thing], of)
		for _, x := range list[:min(len(list), 2)] {
			switch {
			case x > first:
				first, second = x, first
			case x > second:
				second = x
			}
		}
	}
	return second
}

// norm says what the processes of a name usually use of each thing. What is usual for a thing is
// computed when it is needed.
type norm struct {
	q    *question
	name string
	done [allThings]bool
	of   [allThings]usually
}

// usually is what is usual for a thing: for the processes of a name, and for names like it.
type usually struct {
	amount, peers float64
	known         bool // amount is known
}

// novel returns how new it is that a name used so much of a thing, from 0, which is usual, to 1.
func (n *norm) novel(thing int, now float64) float64 {
	u := n.usual(thing)
	return novel(u.amount, now) * (1 - float64(peersCount*min(orZero(u.peers)/math.Max(now, 1e-9), 1)))
}

// usual returns what is usual for a thing.
func (n *norm) usual(thing int) usually {
	if n.done[thing] {
		return n.of[thing]
	}
	n.done[thing] = true
	l := n.q.ledger
	s := l.stint(l.course(n.name, thing), n.q.shown.From, n.q.shown.To)
	if s.to == 0 {
		return usually{}
	}
	u := usually{amount: s.usual, known: s.known}
	if !s.known {
		u.amount = s.level * unknownUsual
	}
	if u.amount < 0.6*s.level {
		u.peers = l.peers(n.name, thing, s.stretch)
	}
	n.of[thing] = u
	return u
}

// normal returns what is usual for a name.
func (q *question) normal(name string) *norm {
	if q.ledger.like(name)[name] == nil {
		if n := q.beside[name]; n != nil {
			return n
		}
	}
	return &norm{q: q, name: name}
}

// grave returns how much a share of what the machine has of something weighs: a tenth is worth a
// line, all of it cannot be worse.
func grave(share float64) float64 {
	share = min(max(orZero(share), 0), 1)
	return grade(0, 0.56*share/(share+0.09), 0.2*share)
}
