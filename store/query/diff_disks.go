package query

import (
	"cmp"
	"slices"
	"strings"

	"tachograph/sample/metric"
)

// awaitMetric is how long a request to a disk took. It is computed from counters: for two windows
// that is exact, for one reading it says little.
const awaitMetric = "disk.dev.await"

var awaitDesc = &metric.Desc{Name: awaitMetric, Type: metric.F64, Sem: metric.Instant, Units: metric.Milliseconds, Indom: "disk",
	Help: "Mean time a request to the disk took"}

const (
	requestsMetric = "disk.dev.total"
	flightMetric   = "disk.dev.inflight"
)

// timeMetrics are sets of metrics that add up to the time of all requests; the first set that is
// there is used.
var timeMetrics = [][]string{{"disk.dev.total_read_time", "disk.dev.total_write_time"}, {"disk.dev.read_rawactive", "disk.dev.write_rawactive"}, {"disk.dev.total_rawactive"}}

// leastRequests is how many requests a second a disk must have had for their time to mean
// something.
const leastRequests = 1

// awaits adds series for how long requests to each disk took.
func (p *systemPair) awaits() {
	for k, requests := range p.all {
		if k.metric != requestsMetric {
			continue
		}
		list := p.timesOf(k.key)
		if list == nil || requests.a.weight == 0 || requests.b.weight == 0 || requests.a.mean() < leastRequests || requests.b.mean() < leastRequests {
			continue
		}
		s := &systemSeries{desc: awaitDesc, name: requests.name, units: metric.Milliseconds}
		s.a = perRequest(requests.a, list, func(s *systemSeries) *course { return &s.a })
		s.b = perRequest(requests.b, list, func(s *systemSeries) *course { return &s.b })
		if s.a.weight > 0 && s.b.weight > 0 {
			p.all[seriesKey{awaitMetric, k.key}] = s
		}
	}
}

// timesOf returns the series that add up to the time of a disk's requests.
func (p *systemPair) timesOf(key string) []*systemSeries {
	for _, names := range timeMetrics {
		var list []*systemSeries
		for _, name := range names {
			if s := p.all[seriesKey{name, key}]; s != nil && s.a.weight > 0 && s.b.weight > 0 {
				list = append(list, s)
			}
		}
		if len(list) == len(names) {
			return list
		}
	}
	return nil
}

// perRequest returns the time per request, in milliseconds.
func perRequest(requests course, times []*systemSeries, of func(*systemSeries) *course) course {
	var out course
	for i, n := range requests.slots {
		total := 0.0
		for _, t := range times {
			if c := of(t); i < len(c.slots) {
				total += c.slots[i]
			}
		}
		if n > 0 {
			out.slots = append(out.slots, total/n*1e3)
		}
	}
	total := 0.0
	for _, t := range times {
		total += of(t).mean()
	}
	out.sum, out.weight = total/requests.mean()*1e3, 1
	return out
}

// usualAwaits computes how long requests took in a usual window, from the means of that window.
func usualAwaits(list []usualMean) []usualMean {
	of := make(map[seriesKey]float64)
	for _, u := range list {
		of[u.seriesKey] = u.mean
	}
	var out []usualMean
	for _, u := range list {
		if u.metric != requestsMetric || u.mean < leastRequests {
			continue
		}
		for _, names := range timeMetrics {
			total, known := 0.0, true
			for _, name := range names {
				x, ok := of[seriesKey{name, u.key}]
				total, known = total+x, known && ok
			}
			if known {
				out = append(out, usualMean{seriesKey{awaitMetric, u.key}, total / u.mean * 1e3})
				break
			}
		}
	}
	return out
}

// componentsOf returns the metrics that a metric is computed from; itself, if it is read.
func componentsOf(name string) []string {
	if name != awaitMetric {
		return []string{name}
	}
	return append(slices.Concat(timeMetrics...), requestsMetric)
}

// Hung is the aspect of a disk that has requests under way and completes none.
const Hung = "hung"

// leastHung is in how many parts of a window a disk must have completed nothing.
const leastHung = 2

// hung returns the disks that had requests under way in the second window and completed none for
// a part of it, which did not happen in the first.
func (p *systemPair) hung() []*Change {
	var out []*Change
	for k, flight := range p.all {
		requests := p.all[seriesKey{requestsMetric, k.key}]
		if k.metric != flightMetric || requests == nil || idleSlots(flight.a.slots, requests.a.slots) > 0 {
			continue
		}
		if n := idleSlots(flight.b.slots, requests.b.slots); n >= leastHung {
			seconds := float64(n) * p.d.seconds(p.d.r.B) / float64(len(requests.b.slots))
			out = append(out, &Change{Kind: SystemChange, Subject: flightMetric, Instance: flight.name, Metric: flight.desc, Aspect: Hung, Units: flight.units,
				Before: flight.a.meanOrNone(), After: slices.Max(flight.b.slots), Seconds: seconds, Effect: 5 * leastEffect, Impact: 0.9, Score: 0.95})
		}
	}
	slices.SortFunc(out, func(x, y *Change) int { return cmp.Compare(x.Instance, y.Instance) })
	return out
}

// idleSlots counts the parts of a window in which requests were under way all the time and none
// was completed.
func idleSlots(flight, requests sample) (n int) {
	for i, x := range flight {
		if i < len(requests) && x >= 1 && requests[i] == 0 {
			n++
		}
	}
	return n
}

// ledByHung reports whether a change may be a consequence of a disk that hangs: less was read,
// written and done, and more waited.
func ledByHung(c *Change) bool {
	family, _ := familyOf(c.Subject)
	switch c.Kind {
	case SystemChange:
		paging := strings.HasPrefix(c.Subject, "mem.vmstat.pg") || strings.HasPrefix(c.Subject, "mem.page")
		return c.Aspect != Hung && (family == "disk" || family == "latency") || strings.HasPrefix(c.Subject, "kernel.all.load") || paging && c.After < c.Before
	case ProcessChange:
		return (c.Aspect == "read" || c.Aspect == "write") && c.After < c.Before
	}
	return false
}

// ledBySlow reports whether a change may be a consequence of a disk that takes longer: more time
// is spent on requests, and on waiting for them.
func ledBySlow(c *Change) bool {
	family, _ := familyOf(c.Subject)
	waits := c.Metric != nil && c.Metric.Units.Time == 1 || strings.HasSuffix(c.Subject, "blocked") || strings.HasSuffix(c.Subject, "inflight")
	return c.Kind == SystemChange && family == "disk" && waits && c.After > c.Before
}
