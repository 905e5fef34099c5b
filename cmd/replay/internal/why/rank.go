package why

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tachograph/store/query"
)

// finding is what a detector found.
type finding struct {
	kind string
	// who is the process, device or volume that the finding is about: findings with the same who
	// become one.
	who string
	// title is the process with its pid; whose it is, or whose all the processes are.
	title string
	whose query.Whose
	crowd bool // it is about many processes
	// topic is the part of the machine that the finding is about, explains the topics that it may
	// be the cause of.
	topic    string
	explains []string
	// cause says that a process or a device did it: it is not merely a state of the machine.
	cause        bool
	since, until int64
	weight       float64
	text         string
	// brief is how the finding reads in the line of its cause.
	brief string
	more  []string
	ends  []string // the keys of the processes that the finding says have ended
	also  []string // others for which the same is true
	// amount is how much it was, in the unit of the kind, and calm how much in the calm stretch;
	// about are the processes that an event names.
	amount, calm float64
	level        float64 // of what the processes used, for the kinds of processes
	about        []string
	culprit      string // the name of the processes that an interface carried most for
	// sources are the metrics it was found by, claims the values that these had.
	sources []source
	folded  []*finding // findings whose briefs are in its line
	said    *happened  // what the system itself said, if it was found by that
	claims  []Claim
}

const (
	// leastWeight is what a finding must weigh to be out of the ordinary.
	leastWeight = 0.22
	// lineBriefs is how many consequences a line names.
	lineBriefs = 3
	// faint is the part of the weightiest line's weight that a line must have.
	faint = 0.25
	// leastCause is what a cause must weigh by itself to explain anything.
	leastCause = 0.1
)

// rank puts the findings that explain others first, with their consequences in their line, and
// leaves out those that are faint compared with them. slack is how much later than its
// consequence a cause may have been noticed; carries says whether a cause can account for so
// much.
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

// explains reports whether c may have caused s: it can be the cause of that topic, and did not
// begin after it.
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
