package query

import "tachograph/sample/metric"

// tunables compares what seldom changes: settings, inventories and names.
func (d *differ) tunables() ([]*Change, error) {
	var names []string
	for _, m := range d.a.Metrics() {
		if m.Unsupported != "" || m.Formula != "" || metric.PerBoot(m.Indom) || m.Sem != metric.Discrete {
			continue
		}
		if f, _ := familyOf(m.Name); f == "recorder" || f == "clock" {
			continue
		}
		if m.Class == metric.Constrained || m.Class == metric.Static || m.Type == metric.String {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	// The values in the middle of the first window; for those first read later, the values at the
	// later time.
	hostA, hostB := d.r.A.Hosts, d.r.B.Hosts
	old := d.settings(hostA, names, d.r.A.From+(d.r.A.To-d.r.A.From)/2)
	end := d.r.A.To
	if !d.elsewhere() {
		end = max(min(end, d.r.B.From-1), d.r.A.From)
	}
	later := d.settings(hostA, names, end)
	for k, s := range later {
		if old[k] == nil || old[k].value.Miss != metric.Present {
			old[k] = s
		}
	}
	now := d.settings(hostB, names, d.r.B.To)
	var out []*Change
	for k, n := range now {
		o, ok := old[k]
		if !ok || o.value.Miss != metric.Present || n.value.Miss != metric.Present ||
			o.value.Bits == n.value.Bits && o.value.Str == n.value.Str {
			continue
		}
		c := &Change{Kind: TunableChange, Subject: k.metric, Instance: n.name, Metric: n.desc, Units: n.desc.Units,
			Before: o.value.Number(), After: n.value.Number(), OldText: o.value.String(), NewText: n.value.String(),
			At: n.since, Effect: 20, Impact: 0.5, Score: 0.9}
		if n.changes > 3 {
			// It changes all the time.
			c.Score, c.Effect = 0.2, leastEffect
		}
		out = append(out, c)
	}
	return out, nil
}

type setting struct {
	desc    *metric.Desc
	name    string
	value   metric.Value
	since   int64 // when the value was first read
	changes int
}

// settings returns the values that hold at an instant.
func (d *differ) settings(hosts, names []string, at int64) map[seriesKey]*setting {
	out := make(map[seriesKey]*setting)
	w := Window{Hosts: hosts, From: min(d.r.A.From, d.r.B.From, at), To: at}
	sel := w.Selection(names...)
	sel.Prior = true
	for run := range d.a.Select(sel) {
		k := d.key(run.Metric, run.Instance)
		s := out[k]
		if s == nil {
			s = &setting{value: metric.Value{Miss: metric.NotRead}}
			out[k] = s
		}
		s.desc = run.Metric
		if run.Instance != nil {
			s.name = run.Instance.Name
		}
		for i, wall := range run.Wall {
			v := run.At(i)
			if v.Miss != metric.Present {
				continue
			}
			if s.value.Miss != metric.Present || v.Bits != s.value.Bits || v.Str != s.value.Str {
				if s.value.Miss == metric.Present {
					s.changes++
				}
				s.value, s.since = v, wall
			}
		}
	}
	return out
}
