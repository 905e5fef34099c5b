package pcpexport

import (
	"encoding/json"
	"fmt"
	"slices"

	"tachograph/cmd/internal/pcp/pcparchive"
	"tachograph/sample/metric"
)

// PCP has one error for all values of a metric, but cannot say that single values are absent. A
// metric of ours has the reasons: whenever they change, for each metric those that hold from
// then on.

// absences are metrics whose values are absent for the same reasons.
type absences struct {
	Metrics []string `json:"metrics"`
	Why     []why    `json:"why,omitempty"`
	// Only are instances that exist but have no value at all in this record.
	Only []uint32 `json:"only,omitempty"`
}

// why is a reason and the instances whose values are absent for it.
type why struct {
	Reason    string   `json:"reason"`
	Failure   bool     `json:"failure,omitempty"`
	Instances []uint32 `json:"instances"`
}

// absent adds the reasons for absent values of a plan's metrics, if they have changed.
func (p *plan) absent(list []absences, b *metric.Block, ids []uint32) []absences {
	if only := bare(b, ids); len(only) > 0 {
		list = append(list, absences{Metrics: []string{p.metrics[0].Name}, Only: only})
	}
	if p.misses == nil {
		p.misses = make([][]metric.Reason, len(p.metrics))
		p.missing = make([][]uint32, len(p.metrics))
	}
	first := len(list)
	var as [][]metric.Reason // the reasons of each element of list from first on
	for i, m := range p.metrics {
		miss := b.Cols[i].Miss
		if !slices.ContainsFunc(miss, func(r metric.Reason) bool { return r != metric.Present }) ||
			slices.Equal(miss, p.misses[i]) && slices.Equal(ids, p.missing[i]) {
			continue
		}
		p.misses[i], p.missing[i] = append(p.misses[i][:0], miss...), append(p.missing[i][:0], ids...)
		same := slices.IndexFunc(as, func(o []metric.Reason) bool { return slices.Equal(o, miss) })
		if same < 0 {
			same = len(as)
			as = append(as, miss)
			list = append(list, absences{Why: reasons(miss, ids)})
		}
		a := &list[first+same]
		a.Metrics = append(a.Metrics, m.Name)
	}
	return list
}

// bare returns the instances of a block without any value.
func bare(b *metric.Block, ids []uint32) (list []uint32) {
	for i := range b.Cols {
		if b.Cols[i].Miss == nil {
			return nil
		}
	}
	if b.Group.Indom == metric.NoIndom {
		return nil
	}
	for k, id := range ids {
		if !slices.ContainsFunc(b.Cols, func(c metric.Column) bool { return c.Miss[k] == metric.Present }) {
			list = append(list, id)
		}
	}
	return list
}

func reasons(miss []metric.Reason, ids []uint32) []why {
	var list []why
	at := make(map[metric.Reason]int)
	for i, r := range miss {
		if r == metric.Present {
			continue
		}
		k, known := at[r]
		if !known {
			k = len(list)
			at[r] = k
			list = append(list, why{Reason: text(r.String()), Failure: r.Failure()})
		}
		list[k].Instances = append(list[k].Instances, ids[i])
	}
	return list
}

// absences returns the set with the reasons.
func (e *exporter) absences(list []absences) pcparchive.Set {
	b, _ := json.Marshal(list) // strings and numbers can always be encoded
	return single(e.absent, metric.Column{Bits: []uint64{0}, Words: []string{string(b)}})
}

// Absences parses an export's reasons for absent values. begin is called before the new reasons
// of a metric, fn with the reason for each metric and instance, and only with instances that
// have no value at all in the group of a metric.
func Absences(s string, begin func(metric string), fn func(metric string, instance uint32, why metric.Reason), only func(metric string, instances []uint32)) error {
	var list []absences
	if err := json.Unmarshal([]byte(s), &list); err != nil {
		return fmt.Errorf("what is said of absent values is no JSON: %w", err)
	}
	for _, a := range list {
		for _, m := range a.Metrics {
			if len(a.Why) == 0 {
				only(m, a.Only)
				continue
			}
			begin(m)
			for _, w := range a.Why {
				r := metric.ReasonFor(untext(w.Reason))
				if w.Failure {
					r = metric.FailureFor(untext(w.Reason))
				}
				if r == metric.Present {
					r = metric.Other
				}
				for _, id := range w.Instances {
					fn(m, id, r)
				}
			}
		}
	}
	return nil
}

var tickAbsent = metric.Desc{Name: TickAbsent, PMID: reserved(6), Type: metric.String, Sem: metric.Discrete,
	Help:     "Why values are absent, as JSON",
	LongHelp: "It is there where that changes, and says of each metric that it names what holds from then on."}

// TickAbsent is the metric with the reasons for absent values.
const TickAbsent = "tachograph.tick.absent"
