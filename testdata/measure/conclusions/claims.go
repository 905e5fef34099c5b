package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
)

// recount recomputes what a line claims from the archive, and returns the wrong claims. A claim
// is right if its number follows from the metric's values between its instants in one of the
// possible ways: as a mean, an extreme, the first or last, the gain, or the rate.
func recount(r *store.Reader, l *line) (count int, wrong []string) {
	for i := range l.Claims {
		c := &l.Claims[i]
		var said float64
		if json.Unmarshal(c.Value, &said) != nil {
			continue // It is not a number.
		}
		count++
		list := readings(r, c)
		if len(list) == 0 {
			wrong = append(wrong, fmt.Sprintf("nothing was recorded of %s[%s] from %s to %s: %q", c.Metric, c.Instance, c.From, c.To, l.Text))
			continue
		}
		if !comesTo(list, said) {
			wrong = append(wrong, fmt.Sprintf("%s[%s] did not come to %v from %s to %s but to %.4g: %q", c.Metric, c.Instance, said, c.From, c.To, list, l.Text))
		}
	}
	return count, wrong
}

// readings returns the numbers that follow from the values of a claim's metric.
func readings(r *store.Reader, c *claim) (list []float64) {
	from, to := parse(c.From), parse(c.To)
	sel := store.Selection{Metrics: []string{c.Metric}, From: from, To: to, Prior: true}
	if c.Instance != "" || c.Key != "" {
		sel.Instance = func(_ string, in *metric.Instance) bool {
			return in.Key == c.Key && c.Key != "" || in.Key == c.Instance || in.Name == c.Instance || in.Title() == c.Instance ||
				strings.HasPrefix(in.Key, c.Instance+"/")
		}
	}
	sums := make([]float64, 7)
	of := make(map[*metric.Instance]*store.Run)
	var order []*store.Run
	for run := range r.Select(sel) { // Several are of one series: first of all the value before the span.
		one := of[run.Instance]
		if one == nil {
			one = &store.Run{Metric: run.Metric, Instance: run.Instance}
			of[run.Instance], order = one, append(order, one)
		}
		for i := range run.Wall {
			one.Push(run.At(i))
		}
	}
	runs := 0
	for _, run := range order {
		n := len(run.Bits)
		first, last := run.At(0).Number(), run.At(n-1).Number()
		var sum, most, least = 0.0, math.Inf(-1), math.Inf(1)
		known := 0.0
		for i := range n {
			if x := run.At(i).Number(); x == x {
				sum, most, least, known = sum+x, max(most, x), min(least, x), known+1
			}
		}
		if known == 0 {
			continue
		}
		runs++
		gain := last - first
		if run.Metric.Sem == metric.Counter && run.Instance != nil && run.Instance.Began() >= from {
			gain = last // all of a life that began within the span
		}
		long := math.Max(float64(to-from)/1e9, 1)
		for k, x := range []float64{sum / known, most, least, first, last, gain, gain / long} {
			if x == x {
				sums[k] += x
			}
		}
	}
	if runs == 0 {
		return nil
	}
	return sums
}

// comesTo reports whether a number is one of a list, in any units: shares, bytes and times in
// the archive have thousandths and multiples.
func comesTo(list []float64, said float64) bool {
	for _, x := range list {
		for _, unit := range []float64{1, 1e-3, 1e-6, 1e-9, 1024, 512, 0.01, 100} {
			if y := x * unit; math.Abs(y-said) <= 0.1*math.Max(math.Abs(y), math.Abs(said))+1e-9 {
				return true
			}
		}
	}
	return false
}
