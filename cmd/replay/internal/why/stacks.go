package why

import (
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/store/query"
)

// stacks adds the stack that was seen most often, where any were sampled: at the instant in
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
	hot, ok := p.Heaviest()
	if !ok {
		return
	}
	answer.Lines = append(answer.Lines[:min(len(answer.Lines), mostLines-1)], Line{
		Kind: "stack", Text: "stacks: " + hot.Sentence(), Since: p.From, Until: p.To,
		More: append([]string{"stacks", hot.Name()}, span(p.From, p.To)...),
	})
}

// reach is how far from an instant stacks still say something about it.
const reach = 5 * 60e9
