package moment

import (
	"time"

	"tachograph/cmd/replay/internal/stacks"
)

// aboutStacks is how far from an instant stacks still say something about it.
const aboutStacks = 10 * time.Minute

// Stacks returns the stacks that were sampled at an instant, or nearest to it; nil where none
// were.
func (r *Recording) Stacks(at int64) (*stacks.Profile, error) {
	r.progress.set(0, 1)
	a := r.near(at)
	w, ok := stacks.Near(a, r.host.ID, at, aboutStacks)
	var p *stacks.Profile
	if ok {
		p = stacks.Read(a, stacks.Request{Window: w})
	}
	if given := r.given(); given != nil {
		return nil, given
	}
	return p, nil
}
