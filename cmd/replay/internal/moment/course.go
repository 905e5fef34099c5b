package moment

import (
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// Course returns the share of a core that a process used over a stretch, in so many columns: NaN
// where it did not live or was not read.
func (r *Recording) Course(key string, from, to int64, columns int) (*Track, error) {
	columns = min(max(columns, 1), 1<<12)
	to = max(to, from+1)
	t := &Track{Lane: Lane{Name: "process " + key, Units: metric.NoUnits, Share: true}, Mean: blank(columns), High: blank(columns), Scale: 1}
	l := r.lives[key]
	if l == nil {
		var err error
		if l, err = r.beginLife(key); err != nil {
			return nil, err
		}
	}
	t.Title = l.Name
	one := *l.life
	if one.To < from || one.From > to {
		return t, nil
	}
	one.From, one.To = max(one.From, from), min(one.To, to)
	step := max((to-from)/int64(columns), r.every(metric.Process, one.To))
	h, err := query.HistoryOf(r.ofBoot(one.Archive.BootID), r.window(max(one.From-1, r.from), one.To), &one, step)
	if err != nil {
		return nil, err
	}
	counts := make([]float64, columns)
	for i := range h.Rows {
		row := &h.Rows[i]
		v := row.CPU()
		if v != v || row.At < from || row.At > to {
			continue
		}
		// A row covers the time that ends at its instant.
		for k := column(from, to, columns, max(row.At-step+1, from)); k <= column(from, to, columns, row.At); k++ {
			if counts[k] == 0 {
				t.Mean[k], t.High[k] = 0, v
			}
			counts[k]++
			t.Mean[k] += v
			t.High[k] = max(t.High[k], v)
		}
		t.Scale = max(t.Scale, v)
	}
	for k, n := range counts {
		if n > 0 {
			t.Mean[k] /= n
		}
	}
	return t, nil
}
