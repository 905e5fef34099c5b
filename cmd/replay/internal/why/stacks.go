package why

import (
	"math"

	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample/metric"
	"tachograph/sample/stack"
	"tachograph/store/query"
)

// stacks adds the stack that was seen most often, and who waited longest and for whom, where any were sampled: at the instant in
// question, or in the window. It explains and is no finding: stacks are sampled for other
// reasons.
func (q *question) stacks(answer *Answer) {
	w := query.Window{Hosts: []string{q.host.ID}, From: q.w.From, To: q.w.To}
	if q.r.At != 0 {
		var ok bool
		if w, ok = stacks.Near(q.a, q.host.ID, q.r.At, reach); !ok {
			return
		}
	}
	p := stacks.Read(q.a, stacks.Request{Window: w})
	var lines []Line
	if hot, ok := p.Heaviest(); ok {
		lines = append(lines, Line{
			Kind: "stack", Text: "stacks: " + hot.Sentence(), Since: p.From, Until: p.To,
			More: append([]string{"stacks", hot.Name()}, span(p.From, p.To)...),
		})
	}
	if blame, ok := p.Blame(); ok {
		more := append(blame.Command(), span(p.From, p.To)...)
		lines = append(lines, Line{Kind: "waits", Text: "waits: " + blame.Sentence(), Since: p.From, Until: p.To, More: more, Claims: claimsOf(&blame, p, more)})
	}
	answer.Lines = append(answer.Lines[:min(len(answer.Lines), mostLines-len(lines))], lines...)
}

// claimsOf returns the claims of who waited for whom: the time that each thread waited, for the
// thread that is named next or in the call that is.
func claimsOf(b *stacks.Blame, p *stacks.Profile, more []string) (list []Claim) {
	for _, l := range b.Links {
		if l.Waited > 0 {
			list = append(list, Claim{Metric: stack.Waited, Instance: l.Thread.Label(), Key: l.Thread.TID, From: p.From, To: p.To, Of: "waited",
				Units: metric.Nanoseconds.String(), Value: float64(l.Waited), Usual: math.NaN(), More: more})
		}
	}
	return list
}

// reach is how far from an instant stacks still say something about it.
const reach = 5 * 60e9
