package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/recorder/witness"
	"tachograph/sample/demand"
	"tachograph/sample/metric"
	"tachograph/sample/platform"
	"tachograph/sample/probe"
)

// witnesses compares the sources of this machine that must agree, and prints the result. It
// looks again at a pair that disagrees, as the recorder does.
func (a *app) witnesses(file string, wait time.Duration) error {
	if wait <= 0 {
		return fmt.Errorf("--wait %s: nothing moves in no time", wait)
	}
	cfg, err := loadConfig(file)
	if err != nil {
		return refused(err)
	}
	sources, done, err := a.open(cfg)
	if err != nil {
		return err
	}
	defer done()
	set := witness.Compile(witness.For(platform.Catalog), platform.Metrics(a.catalog(), sources))
	r := demand.New(sources, demand.Options{Now: a.now, Within: probe.Patience, Anew: true})
	var want []*metric.Desc
	for _, g := range r.Groups() {
		for _, d := range g.Metrics {
			if set.Wants(d) {
				want = append(want, d)
			}
		}
	}
	verdicts := set.Sure(a.now, func(c *witness.Check) {
		for _, b := range r.Read(context.Background(), want).Blocks {
			c.See(b)
		}
		timer := time.NewTimer(wait)
		<-timer.C
	})
	return a.printVerdicts(verdicts)
}

func (a *app) printVerdicts(verdicts []witness.Verdict) error {
	a.toRead()
	t := table{head: []string{"PAIR", "VERDICT", "LEAST", "MOST"}, drop: []int{2, 3}, cut: []int{0}, notes: make(map[int]string)}
	contradicted := false
	for i := range verdicts {
		v := &verdicts[i]
		row := []string{visible.Text(v.Name()), v.State.String(), "-", "-"}
		if v.Compared() {
			row[2], row[3] = metric.Quantity(v.Least, v.Units), metric.Quantity(v.Most, v.Units)
		}
		switch {
		case v.State == witness.Disagrees:
			contradicted = true
			t.notes[i] = fmt.Sprintf("%s: %s (%s)", strings.Join(v.Pair.Distrusts, ", "), v.Pair.Because, v.Figures())
		case v.Why != "":
			t.notes[i] = visible.Text(v.Why)
		}
		t.rows = append(t.rows, row)
	}
	if err := t.write(a.out, a.width); err != nil {
		return err
	}
	if contradicted {
		return errNo
	}
	return nil
}
