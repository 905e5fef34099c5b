package why

import (
	"fmt"

	"tachograph/cmd/replay/internal/human"
	"tachograph/store/query"
)

// largest names the largest difference from the calm stretch, where nothing is out of the
// ordinary.
func (q *question) largest() string {
	changes, err := query.Diff(q.a, query.DiffRequest{Host: q.r.Host, A: q.calm, B: q.w})
	if err != nil {
		return ""
	}
	for _, c := range changes {
		if text := difference(c); text != "" {
			return "; the largest difference from the calm stretch is " + text
		}
	}
	return ""
}

// difference describes a change in words; it is empty for kinds that detectors judge.
func difference(c *query.Change) string {
	value := func(x float64) string {
		if c.Aspect == "cpu" {
			return human.Percent(x) + " of a core"
		}
		return human.Value(x, c.Units, c.Rate)
	}
	switch c.Kind {
	case query.SystemChange:
		name := c.Subject
		if c.Instance != "" {
			name += "[" + c.Instance + "]"
		}
		return fmt.Sprintf("%s: %s instead of %s", name, value(c.After), value(c.Before))
	case query.ProcessChange:
		return fmt.Sprintf("what %s uses of %s: %s instead of %s", c.Subject, c.Aspect, value(c.After), value(c.Before))
	case query.ProcessNew:
		return "that " + c.Subject + " is new"
	}
	return ""
}
