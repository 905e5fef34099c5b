package main

import (
	"fmt"
	"strconv"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
	"tachograph/sample/stack"
)

// soonEnough is how long half of the suspensions of a process may last at most.
const soonEnough = 100 * time.Microsecond

// judge prints the statistics of a sampling, and says whether the process stood still for too
// long.
func (a *app) judge(stats *stack.Statistics, e *metric.Event) error {
	fmt.Fprintf(a.out, "%s\nby %s\n\n", visible.Text(e.Text), visible.Text(stats.How))
	t := table{head: []string{"COUNT", "OF", "WHAT"}, cut: []int{2}}
	for i := range stack.Figures {
		f := &stack.Figures[i]
		n, ok := f.Of(e)
		if !ok {
			continue
		}
		words := f.Words
		if why := f.Note(e); n > 0 && why != "" {
			words += ": " + visible.Text(why)
		}
		t.rows = append(t.rows, []string{strconv.FormatUint(n, 10), f.Name, words})
	}
	if err := t.write(a.out, a.width); err != nil {
		return err
	}
	if stats.Suspensions == 0 {
		_, err := fmt.Fprintln(a.out, "\nnothing was stopped")
		return err
	}
	lasted := table{head: []string{"SUSPENSIONS", "LASTED"}}
	for i, n := range stats.Spread {
		text := "longer"
		if i < len(stack.SpreadLimits) {
			text = "at most " + stack.SpreadLimits[i].String()
		}
		if n > 0 {
			lasted.rows = append(lasted.rows, []string{strconv.FormatUint(n, 10), text})
		}
	}
	fmt.Fprintln(a.out)
	if err := lasted.write(a.out, a.width); err != nil {
		return err
	}
	median := time.Duration(stats.Median)
	verdict, answer := "soon enough", error(nil)
	if median > soonEnough {
		verdict, answer = "too late", errNo
	}
	fmt.Fprintf(a.out, "\nstopped for %v in all and for %v at most; half of the suspensions ended within %v, which is %s: %v is the limit\n",
		time.Duration(stats.Suspended), time.Duration(stats.Longest), median, verdict, soonEnough)
	return answer
}

// checkSampler samples here and now, and keeps nothing but the statistics.
func (a *app) checkSampler(wish stack.Wish, about, reason string) error {
	sampler, err := a.stacks()
	if err != nil {
		return err
	}
	ctx, stop := interrupted()
	defer stop()
	from := a.now()
	r := stack.Recording{Now: a.now, Append: func(*metric.Tick) error { return nil }}
	stats, err := r.Run(ctx, sampler, wish)
	if err != nil {
		return err
	}
	e := stats.Event(from, a.now(), wish, about, reason)
	return a.judge(&stats, &e)
}
