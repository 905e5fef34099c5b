package why

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/replay/internal/human"
)

const (
	// retriesLeast is how often a segment must have been sent again for the other side to count
	// as one that does not answer: one or two are ordinary.
	retriesLeast = 3
	// mostStuck is very many connections that wait for an answer.
	mostStuck = 200
	// stuckPart is the part of the connections to a peer that must wait for it not to answer.
	stuckPart = 0.3
	// inboundLeast is how many connections of one peer that it opened itself must wait: of those
	// that visit a server, some always go away without a word.
	inboundLeast = 3
	// slowLeast is how many milliseconds longer than usual a round trip must be to be worth a
	// line, slowSevere is very many, and slowTimes how many times as long as usual it must be.
	slowLeast, slowSevere, slowTimes = 150, 5000, 3
	// resentLeast is the part sent again that is worth a line, resentSevere is very much, and
	// resentBytes what must have been sent in a minute to show it.
	resentLeast, resentSevere, resentBytes = 0.03, 0.3, 100 << 10
	// fullSpeed is how many bytes a second a connection may send before its own packets are what
	// its round trips wait for.
	fullSpeed = 1 << 20
	// severalPeers is how many peers at once are due to the network, not to each of them.
	severalPeers = 3
)

// peers finds other machines that stopped answering, answered slowly, or did not receive what was
// sent to them.
func (q *question) peers() ([]*finding, error) {
	var out, silent []*finding
	for _, p := range q.parties() {
		var all []*finding
		for _, judge := range []func(*party) *finding{q.silence, q.slowness, q.losses} {
			if f := judge(p); f != nil {
				all = append(all, f)
			}
		}
		if len(all) == 0 {
			continue
		}
		slices.SortStableFunc(all, func(x, y *finding) int { return cmp.Compare(y.weight, x.weight) })
		f := all[0]
		for _, g := range all[1:] {
			if g.weight < f.weight/2 || g.since > f.until || f.since > g.until {
				continue
			}
			f.text += "; " + strings.TrimPrefix(g.text, g.title+" ")
			f.sources = append(f.sources, g.sources...)
		}
		if out = append(out, f); f.kind == "peer" {
			silent = append(silent, f)
		}
	}
	return q.atOnce(out, silent), q.ctx.Err()
}

// atOnce makes one finding of peers that stopped answering at once, if most did: visitors that wait
// count as well.
func (q *question) atOnce(all, silent []*finding) []*finding {
	if len(silent) == 0 {
		return all
	}
	f := slices.MaxFunc(silent, func(x, y *finding) int { return cmp.Compare(x.weight, y.weight) })
	peers, together, connections := 0, 0, 0
	of := make(processes)
	for _, p := range q.parties() {
		seen, most := 0, 0
		for k, at := range p.at {
			if at <= f.since || at > f.until {
				continue
			}
			seen, most = seen+p.seen[k], max(most, len(p.stuck[k]))
			for _, t := range p.stuck[k] {
				of.add(t.in)
			}
		}
		if seen > 0 {
			peers++
		}
		if most > 0 {
			together, connections = together+1, connections+most
		}
	}
	if together < severalPeers || 2*together < peers {
		return all
	}
	f.text = fmt.Sprintf("%d of %d peers stopped answering at once%s: %s waited; most likely the network between", together, peers, q.when(f.since, f.until), of.connections(connections))
	f.who, f.title, f.about, f.amount = "peers", "peers", of.names(), float64(connections)
	f.brief = fmt.Sprintf("%d peers stopped answering", together)
	return slices.DeleteFunc(all, func(g *finding) bool {
		return g != f && slices.Contains(silent, g) && g.since <= f.until && f.since <= g.until
	})
}

// silence finds that a peer stopped answering.
func (q *question) silence(p *party) *finding {
	lo, hi := q.worstPieces(p.at, func(k int) bool { return len(p.stuck[k]) > 0 })
	if hi == lo {
		return nil
	}
	since, until := int64(math.MaxInt64), p.at[hi-1]
	most, part, longest, mute := 0, 0.0, 0.0, true
	of := make(processes)
	var first *talk
	for k := lo; k < hi; k++ {
		n := len(p.stuck[k])
		most, part = max(most, n), max(part, float64(n)/float64(max(p.seen[k], 1)))
		for _, t := range p.stuck[k] {
			since, longest, mute = min(since, t.since()), max(longest, t.silent()), mute && t.mute()
			if of.add(t.in); first == nil {
				first = t
			}
		}
	}
	inbound := first.in.Label("direction") == "in"
	if part < stuckPart || inbound && most < inboundLeast || q.woke(since) {
		return nil
	}
	f := q.aboutPeer("peer", p, first, of, since, until)
	f.amount = float64(most)
	verb := "stopped answering"
	if mute {
		verb = "did not answer"
	}
	f.text = fmt.Sprintf("%s %s%s: %s waited", f.title, verb, q.when(since, until), of.connections(most))
	if longest >= 2000 {
		f.text += ", up to " + human.Duration(time.Duration(longest*1e6).Round(time.Second))
	}
	f.brief = f.title + " " + verb
	long := float64(until-since) / 1e9
	f.weight = grade(0.26, 0.4*logShare(float64(most), 0.5, mostStuck)) * part * long / (long + settles) * p.rare(lo, hi, func(k int) bool { return 2*len(p.stuck[k]) > most })
	if inbound {
		f.weight *= 0.7
	}
	f.sources = sourcesOf(first.in.Name, first.in.Key, "network.persocket.timer.retrans", "network.persocket.lastack", "network.persocket.unacked")
	return f
}

// slowness finds that the round trips to a peer took far longer than usual.
func (q *question) slowness(p *party) *finding {
	usual, known := p.ordinary(q, p.rtt)
	if !known {
		usual = 2 * p.best
	}
	limit := max(slowTimes*usual, usual+slowLeast)
	lo, hi := q.worstPieces(p.at, func(k int) bool { return p.rtt[k] >= limit })
	if hi == lo {
		return nil
	}
	level := quantile(p.rtt[lo:hi], 0.5)
	since, until := p.at[lo], p.at[hi-1] // A level: it is known for readings only.
	long := float64(until-since+leastMinute) / 1e9
	of := make(processes)
	first, count := p.talksIn(lo, hi, of, func(t *talk) bool { return t.rtt >= limit })
	if first == nil || hi-lo < 2 && count < 2 || q.woke(since) {
		return nil
	}
	f := q.aboutPeer("slow peer", p, first, of, since, until)
	value := func(ms float64) string { return human.Duration(time.Duration(ms * 1e6).Round(time.Millisecond)) }
	f.text = fmt.Sprintf("%s answered slowly%s: a round trip took %s", f.title, q.when(since, until), value(level))
	if known {
		f.text += q.against(value(usual))
	} else {
		f.text += ", at best " + value(p.best)
	}
	f.text += ", for " + of.String()
	f.brief = f.title + " answered slowly"
	f.weight = grade(0.24, 0.4*logShare(level-usual, slowLeast, slowSevere)) * long / (long + settles) * p.rare(lo, hi, func(k int) bool { return p.rtt[k] >= 0.85*level })
	if !known {
		f.weight *= 0.7 // It may always be so.
	}
	if name, rate := q.inTheWay(since, until); rate > 0 {
		f.text += fmt.Sprintf("; meanwhile %s sent %s/s", name, human.Bytes(rate))
		f.weight *= 0.5
	}
	f.sources = sourcesOf(first.in.Name, first.in.Key, "network.persocket.round_trip.rtt", "network.persocket.minrtt")
	return f
}

// inTheWay returns the program that sent so much more than in the calm stretch that what others
// sent had to wait for it, and how many bytes a second; 0 if none did.
func (q *question) inTheWay(since, until int64) (name string, rate float64) {
	name, rate, _ = q.bearer(ways[1], since, until)
	if rate < fullSpeed {
		return "", 0
	}
	if q.calm.To != 0 {
		if _, before, _ := q.bearer(ways[1], q.calm.From, q.calm.To); rate < 2*before {
			return "", 0
		}
	}
	return name, rate
}

// losses finds that much of what was sent to a peer had to be sent again.
func (q *question) losses(p *party) *finding {
	share := unread(len(p.at))
	for k := range share {
		if p.sent[k] >= resentBytes {
			share[k] = min(p.resent[k]/p.sent[k], 1)
		}
	}
	usual, known := p.ordinary(q, share)
	if !known {
		usual = 0
	}
	limit := max(resentLeast, 3*usual)
	lo, hi := q.worstPieces(p.at, func(k int) bool { return share[k] >= limit })
	if hi == lo {
		return nil
	}
	sent, resent := 0.0, 0.0
	for k := lo; k < hi; k++ {
		if share[k] == share[k] {
			sent, resent = sent+p.sent[k], resent+p.resent[k]
		}
	}
	since, until := begins(p.at, p.resent, lo, hi), p.at[hi-1]
	of := make(processes)
	first, _ := p.talksIn(lo, hi, of, func(t *talk) bool { return t.resent > 0 })
	if first == nil || q.woke(since) {
		return nil
	}
	f := q.aboutPeer("lossy peer", p, first, of, since, until)
	level := resent / sent
	f.text = fmt.Sprintf("%s did not receive %s of what %s sent to it%s, which had to be sent again", f.title, human.Percent(level), of, q.when(since, until))
	if known {
		f.text += q.against(human.Percent(usual))
	}
	f.brief = f.title + " did not receive " + human.Percent(level) + " of what was sent to it"
	long := float64(until-since) / 1e9
	f.weight = 0.6 * grade(0.4, 0.6*logShare(level, resentLeast/2, resentSevere)) * long / (long + settles) * p.rare(lo, hi, func(k int) bool { return share[k] >= 0.85*level })
	f.sources = sourcesOf(first.in.Name, first.in.Key, "network.persocket.bytes_sent", "network.persocket.bytes_retrans")
	return f
}

// aboutPeer begins a finding about a peer: talk is one of its connections, of are the processes
// that have them.
func (q *question) aboutPeer(kind string, p *party, t *talk, of processes, since, until int64) *finding {
	f := &finding{kind: kind, who: p.name, title: p.name, topic: "peer", since: since, until: until, explains: []string{"tcp", "listen"},
		more: append([]string{"values", "network.persocket", "-i", t.in.Name}, span(q.w.From, q.w.To)...)}
	f.about = of.names()
	for k, at := range p.at {
		if at > since && at <= until {
			f.level += p.resent[k] / max(float64(until-since)/1e9, 1)
		}
	}
	return f
}

// woke reports whether the machine had just been asleep or off: then connections are stale.
func (q *question) woke(at int64) bool {
	return slices.ContainsFunc(q.silences, func(s silence) bool { return at >= s.From-leastMinute && at <= s.To+2*leastMinute })
}
