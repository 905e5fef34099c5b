package why

import (
	"fmt"
	"math"

	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
)

const (
	// dropsLeast is how many connections a second, dropped by one port, are worth a line, and
	// dropsSevere is very many.
	dropsLeast, dropsSevere = 0.5, 500
	// crowded is the part of its limit that a queue must have reached to be called full.
	crowded = 0.9
)

// listener is a port that is listened on, by piece.
type listener struct {
	in             *metric.Instance
	drops, backlog []float64 // connections dropped, and the most that waited; NaN where not read
	at             []int64   // of the last reading
	limit          float64
}

// listeners finds ports whose connections were dropped because nobody accepted them quickly
// enough, or where as many waited as may.
func (q *question) listeners() ([]*finding, error) {
	cuts := q.minutes()
	by := make(map[string]*listener)
	var list []*listener
	q.looks(cuts, func(l *look) {
		p := by[l.in.Key]
		if p == nil {
			p = &listener{in: l.in, drops: unread(len(cuts)), backlog: unread(len(cuts)), at: make([]int64, len(cuts))}
			by[l.in.Key], list = p, append(list, p)
		}
		switch p.at[l.piece] = max(p.at[l.piece], l.at); l.metric {
		case "network.listener.drops":
			p.drops[l.piece] = l.gain
		case "network.listener.backlog":
			p.backlog[l.piece] = l.most
		case "network.listener.backlog_limit":
			p.limit = max(p.limit, l.last)
		}
	}, "network.listener.drops", "network.listener.backlog", "network.listener.backlog_limit")
	var out []*finding
	for _, p := range list {
		if f := q.overflowed(p); f != nil {
			out = append(out, f)
		}
	}
	return out, q.ctx.Err()
}

// unread returns values of which none was read.
func unread(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = math.NaN()
	}
	return x
}

// overflowed makes a finding of a port; nil if it accepted all connections.
func (q *question) overflowed(p *listener) *finding {
	full := func(k int) bool { return p.limit > 0 && p.backlog[k] >= crowded*p.limit }
	bad := func(k int) bool { return p.drops[k] > 0 || full(k) }
	lo, hi := q.worstPieces(p.at, bad)
	if hi == lo {
		return nil
	}
	since, until := begins(p.at, p.drops, lo, hi), p.at[hi-1]
	dropped, most := 0.0, 0.0
	for k := lo; k < hi; k++ {
		dropped, most = dropped+orZero(p.drops[k]), max(most, orZero(p.backlog[k]))
	}
	since, seen, until := q.withDrops(since, until)
	rate := dropped / max(float64(seen-since)/1e9, 1)
	if rate < dropsLeast && !(most >= crowded*p.limit && p.limit > 0) {
		return nil
	}
	f := &finding{kind: "listener", who: p.in.Label("name"), title: holder(p.in), topic: "listen", since: since, until: until, amount: rate,
		more: append([]string{"values", "network.listener", "-i", p.in.Name}, span(q.w.From, q.w.To)...)}
	f.sources = sourcesOf(p.in.Name, p.in.Key, "network.listener.drops", "network.listener.backlog", "network.listener.backlog_limit")
	port := "port " + p.in.Label("port")
	if f.title == "" {
		f.who, f.title = port, "the process"
	}
	f.title += " on " + port
	usual, often := p.usually(lo, hi, bad)
	clause := ""
	if p.limit > 0 {
		clause = fmt.Sprintf("had %s of %s connections waiting", human.Count(min(most, p.limit)), human.Count(p.limit))
	}
	if f.weight = grade(0.18, 0.12*lasted(until-since)); rate >= dropsLeast {
		says := "dropped " + human.Count(roundTo(rate)) + " a second"
		if f.brief = f.title + " dropped " + human.Count(roundTo(rate)) + " connections a second"; clause == "" {
			says = "dropped " + human.Count(roundTo(rate)) + " connections a second"
		} else {
			says = " and " + says
		}
		clause += says
		f.weight = 0.75 * grade(0.4, 0.6*logShare(rate, dropsLeast, dropsSevere)) * lasted(until-since) * novel(usual, rate)
	} else {
		f.brief = f.title + " " + clause
	}
	f.weight *= 1 - float64(0.9*often)
	f.text = f.title + " " + clause + q.when(since, until)
	if rate >= dropsLeast {
		f.text += q.against(human.Count(roundTo(usual)))
	}
	return f
}

// usually returns how many connections a second the port dropped outside some pieces, and in
// which part of the other pieces it was as bad, both as far as that is more than once.
func (p *listener) usually(lo, hi int, bad func(int) bool) (rate, often float64) {
	var second, first float64
	n, m := 0.0, 0.0
	for k := range p.at {
		if p.at[k] == 0 || k >= lo-1 && k <= hi {
			continue
		}
		if n++; bad(k) {
			m++
		}
		if b := before(p.at, k); b >= 0 && p.drops[k] > 0 {
			x := p.drops[k] / max(float64(p.at[k]-p.at[b])/1e9, 1)
			switch {
			case x > first:
				first, second = x, first
			case x > second:
				second = x
			}
		}
	}
	if n == 0 {
		return 0, 0
	}
	return second, min(2*max(m-1, 0)/n, 1)
}

// before returns the last piece before k in which there was a reading; -1 if there is none.
func before(at []int64, k int) int {
	for k--; k >= 0 && at[k] == 0; k-- {
	}
	return k
}

// begins returns when something began whose amounts were counted in some pieces: where the first
// amount is smaller than the second, it was counted for a part of its piece.
func begins(at []int64, x []float64, lo, hi int) int64 {
	since := at[lo] - leastMinute
	if k := before(at, lo); k >= 0 {
		since = at[k]
	}
	if hi-lo > 1 && x[lo] < x[lo+1] {
		since = at[lo] - int64(x[lo]/x[lo+1]*float64(at[lo]-since))
	}
	return since
}

// worstPieces returns the longest stretch of pieces that were bad and reach into the window. A
// piece without a reading does not end it.
func (q *question) worstPieces(at []int64, bad func(k int) bool) (lo, hi int) {
	for k := 0; k < len(at); k++ {
		if at[k] == 0 || !bad(k) {
			continue
		}
		end := k + 1
		for j := k + 1; j < len(at) && (at[j] == 0 || bad(j)); j++ {
			if at[j] != 0 {
				end = j + 1
			}
		}
		// What a reading shows began up to a minute before.
		if at[k]-leastMinute < q.shown.To && at[end-1] > q.shown.From && end-k > hi-lo {
			lo, hi = k, end
		}
		k = end
	}
	return lo, hi
}

// withDrops narrows a time to that in which the machine counted dropped connections, which it
// does more often than by port: seen is until when, as far as the port was read, and to the end of
// it all.
func (q *question) withDrops(since, until int64) (from, seen, to int64) {
	from, to = until, since
	last := -1
	for _, c := range q.field.of["tcp.refused"] {
		for k := max(q.field.slot(since), 0); k < min(q.field.slot(until+leastMinute), q.field.n); k++ {
			if c.x[k] > 0 && (q.field.begin(k) < until || k-last <= bridged+c.gap) {
				from, to, last = min(from, max(q.field.begin(k), since)), q.field.begin(k+1), k
			}
		}
	}
	if to <= from {
		return since, until, until
	}
	return from, min(to, until), to
}

// queued puts what the machine counts of dropped connections into the findings about the ports
// that dropped them.
func queued(all []*finding) []*finding {
	for i, s := range all {
		if s.kind != "tcp.refused" {
			continue
		}
		var most *finding
		sum := 0.0
		for _, f := range all {
			if f.kind == "listener" && f.since <= s.until && s.since <= f.until && f.amount > 0 {
				if sum += f.amount; most == nil || f.amount > most.amount {
					most = f
				}
			}
		}
		if most != nil && sum >= bears*s.amount {
			most.weight = max(most.weight, min(s.weight+0.02, 1))
			most.sources = append(most.sources, s.sources...)
			out := append([]*finding(nil), all[:i]...)
			return append(out, all[i+1:]...)
		}
	}
	return all
}
