// Package plot computes the series that a plot shows, and a picture of them with what happened
// meanwhile.
package plot

import (
	"fmt"
	"math"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// mostPoints is the largest number of points of all series.
const mostPoints = 1 << 20

// Most is the largest number of charts or panels in a plot.
const Most = 12

// A Series is one series of a plot.
type Series struct {
	Host, Name, Instance string
	Units                metric.Units
	Rate                 bool
	Values               []float64 // NaN where there is none
}

// Title is the name of the series, with its host if there are several.
func (s *Series) Title(host bool) string {
	title := s.Name
	if s.Instance != "" {
		title += "[" + s.Instance + "]"
	}
	if host {
		title = s.Host + "  " + title
	}
	return title
}

// Read computes the series of targets in so many points over the part of r's window that the
// archives cover. It sets the window and the step of r accordingly, and passes each series that
// it reads to note.
func Read(a query.Archive, targets []query.Target, r *query.Request, points int, note func(query.Target, *query.Series)) (list []*Series, err error) {
	from, to, _ := query.Covered(a, r.Window)
	from = max(from, r.From)
	if r.To != 0 {
		to = min(to, r.To)
	}
	r.From, r.To, r.Origin = from, to, from
	r.Step = max((to-from)/int64(points)+1, 1)
	byKey := make(map[string]*Series)
	for _, t := range targets {
		for s, err := range query.ReadTarget(a, t, *r) {
			if err != nil {
				return nil, err
			}
			if s.Type == metric.String {
				continue
			}
			note(t, s)
			one := &Series{Host: s.Archive.Host.Name, Name: s.Name, Units: s.Units, Rate: s.Rate}
			if s.Instance != nil {
				one.Instance = s.Instance.Name
			}
			key := one.Title(true)
			if byKey[key] == nil {
				if (len(list)+1)*points > mostPoints {
					return nil, fmt.Errorf("more than %d points: choose with --instance", mostPoints)
				}
				one.Values = make([]float64, points)
				for i := range one.Values {
					one.Values[i] = math.NaN()
				}
				byKey[key] = one
				list = append(list, one)
			}
			for i, wall := range s.Wall {
				if k := (wall - from - 1) / r.Step; k >= 0 && k < int64(points) {
					byKey[key].Values[k] = s.Value(i).Number()
				}
			}
		}
	}
	for _, s := range list {
		s.join()
	}
	return list, nil
}

// join fills the empty points between the samples of a slow series, so that it becomes a line; a
// gap stays a gap.
func (s *Series) join() {
	distance := 0
	last := -1
	for i, v := range s.Values {
		if v != v {
			continue
		}
		if last >= 0 && (distance == 0 || i-last < distance) {
			distance = i - last
		}
		last = i
	}
	last = -1
	for i, v := range s.Values {
		if v != v {
			continue
		}
		if last >= 0 && i-last <= 3*distance {
			for k := last + 1; k < i; k++ {
				s.Values[k] = s.Values[last]
			}
		}
		last = i
	}
}

// sum adds up the values of a series.
func (s *Series) sum() float64 {
	total := 0.0
	for _, v := range s.Values {
		if !math.IsNaN(v) {
			total += v
		}
	}
	return total
}
