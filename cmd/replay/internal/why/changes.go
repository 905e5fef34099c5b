package why

import (
	"fmt"

	"tachograph/cmd/replay/internal/human"
	"tachograph/store/query"
)

// largest names the largest difference from the calm stretch, where nothing is out of the
// ordinary.
func (q *question) largest() string {
	changes, err := query.Diff(q.a, query.DiffRequest{Host: q.r.Host, A: q.calm, B: q.w, Usual: q.nearby()})
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

// nearby returns windows around the window in question, as long as it, that show what is usual;
// nil if the field has none.
func (q *question) nearby() (list []query.Window) {
	long := q.w.To - q.w.From
	if long <= 0 {
		return nil
	}
	for n := int64(1); len(list) < mostNearby && n*long < q.field.to-q.field.from; n++ {
		for _, from := range []int64{q.w.From - n*long, q.w.To + (n-1)*long} {
			to := from + long
			if from >= q.field.from && to <= q.field.to && q.steady(from, to) && (to <= q.calm.From || from >= q.calm.To) {
				list = append(list, query.Window{Hosts: q.w.Hosts, From: from, To: to})
			}
		}
	}
	return list
}

// mostNearby is how many windows show what is usual where nothing was out of the ordinary.
const mostNearby = 8

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
