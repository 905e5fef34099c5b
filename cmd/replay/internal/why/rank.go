package why

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// finding is what a detector found.
type finding struct {
	kind string
	// who is the process, device or volume that it is about: findings of the
	// same who become one.
	who string
	// title is the process with its pid.
	title string
	// topic is what of the machine it is about, explains the topics that it may
	// account for.
	topic    string
	explains []string
	// cause says that it is somebody's doing, or a device's: not merely a state
	// of the machine.
	cause        bool
	since, until int64
	weight       float64
	text         string
	// brief is how it reads behind its cause, in its line.
	brief string
	more  []string
	end   string   // the key of the process whose end it tells
	also  []string // others of which the same is true
	// amount is how much it was, in the unit of the kind, calm what it was in the calm
	// stretch, about whom an event names.
	amount, calm float64
	about        []string
	// sources are what it was made of, claims the numbers that these came to.
	sources []source
	folded  []*finding // whose briefs stand in its line
	claims  []Claim
}

const (
	// leastWeight is what a finding must weigh to be out of the ordinary.
	leastWeight = 0.22
	// lineBriefs is how many consequences stand in a line.
	lineBriefs = 3
	// faint is how much less than the weightiest a line may weigh.
	faint = 0.25
	// leastCause is what a cause must weigh by itself to account for anything.
	leastCause = 0.1
)

// rank puts what explains the rest first, with what followed from it in its
// line, and leaves out what is faint beside it. slack is how much later than
// what it caused something may have been noticed; carries says whether a cause can have
// brought about as much.
func rank(all []*finding, slack int64, carries func(c, s *finding) bool) []*finding {
	byWeight := func(x, y *finding) int {
		return cmp.Or(cmp.Compare(y.weight, x.weight), cmp.Compare(x.since, y.since), cmp.Compare(x.text, y.text))
	}
	slices.SortStableFunc(all, byWeight)
	folded := make(map[*finding]bool)
	briefs := make(map[*finding][]*finding)
	// The weightiest state of the machine chooses its cause first.
	for _, s := range all {
		if s.cause {
			continue
		}
		var best *finding
		for _, c := range all {
			if c.cause && explains(c, s, slack) && (best == nil || c.weight > best.weight) && carries(c, s) {
				best = c
			}
		}
		if best != nil {
			folded[s] = true
			briefs[best] = append(briefs[best], s)
		}
	}
	var out []*finding
	for _, f := range all {
		if folded[f] {
			continue
		}
		told := make(map[string]bool)
		for _, s := range briefs[f] {
			f.weight = max(f.weight, min(s.weight+0.02, 1))
			if s.brief != "" && len(told) < lineBriefs && !told[s.topic] {
				told[s.topic] = true
				f.text = strings.TrimSuffix(f.text, ".") + "; " + s.brief
				f.folded = append(f.folded, s)
			}
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, byWeight)
	least := leastWeight
	if len(out) > 0 {
		least = max(least, out[0].weight*faint)
	}
	out = slices.DeleteFunc(out, func(f *finding) bool { return f.weight < least })
	return out[:min(len(out), mostLines)]
}

// explains reports whether c may have brought about s: it is about that, and
// did not begin after it.
func explains(c, s *finding, slack int64) bool {
	if c.weight < leastCause || !slices.Contains(c.explains, s.topic) {
		return false
	}
	if c.since == 0 || s.since == 0 {
		return true
	}
	return c.since <= s.since+slack && (c.until == 0 || c.until+slack >= s.since)
}

func lines(list []*finding) []Line {
	var out []Line
	for _, f := range list {
		out = append(out, Line{Text: f.text, Kind: f.kind, Weight: math.Round(f.weight*1000) / 1000, Since: f.since, Until: f.until, More: f.more, Claims: f.claims})
	}
	return out
}
