package main

import (
	"slices"
	"strings"
	"time"
)

// askedMoments are questions about an archive that is being written, at the last of its ticks
// ({now}), or in the five minutes before it ({late}).
var askedMoments = []question{
	{"`at` now", "at {now}", 30, 20, 0, nil},
	{"`ps`", "ps", 30, 20, 0, nil},
	{"rate of a counter, the last five minutes", "rates kernel.all.cpu.user --from {late} --format csv", 30, 20, 0, nil},
	{"`top` of the last five minutes", "top --from {late}", 60, 30, 0, nil},
	{"overview of the last five minutes", "--from {late}", 60, 30, 0, nil},
}

// momentOf is the time between moments. It is far from any multiple of the length of a part of
// the journal, so that moments meet parts at all ages.
const momentOf = 53 * time.Second

// atMoments asks at many moments of an hour, with everything recorded each second: how much of a
// journal must be decoded depends on the moment.
func (m *measure) atMoments() error {
	args := []string{"-live", "-process", "1s", "-day", "2h", "-moments", momentOf.String()}
	if m.short {
		args = []string{"-live", "-process", "1s", "-day", "5m", "-moments", momentOf.String()}
	}
	of := make(map[string]*made)
	for _, b := range m.builds {
		d, err := m.make(b, "moments", args...)
		if err != nil {
			return err
		}
		of[b.name] = d
	}
	t := newTable(m.unit("question"), "before, median", "most", "now, least", "median", "most", "CPU, median", "most", "must", "aim", "")
	for i := range askedMoments {
		q := &askedMoments[i]
		if m.only != "" && !strings.Contains(q.label, m.only) {
			continue
		}
		m.say("%s", q.label)
		before, now, cpu, err := m.moments(q, of)
		if err != nil {
			return err
		}
		most := slices.Max(now)
		was, worst := "-", "-"
		if len(before) > 0 {
			was, worst = number(median(before)), number(slices.Max(before))
		}
		t.row(q.label, was, worst, number(slices.Min(now)), number(median(now)), number(most), number(median(cpu)), number(slices.Max(cpu)),
			number(q.must), number(q.aim), verdict(most, q.must, q.aim))
	}
	m.table("moments", t.String())
	return nil
}

// moments asks q at each moment, and returns what that took.
func (m *measure) moments(q *question, of map[string]*made) (before, now, cpu []float64, err error) {
	var jobs []*job
	var ours []bool
	for _, b := range m.builds {
		for _, moment := range of[b.name].Moments {
			at := func(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }
			words := []string{"--archive", moment.Dir}
			for _, w := range strings.Fields(q.args) {
				words = append(words, strings.NewReplacer("{now}", at(moment.At), "{late}", at(moment.At-300)).Replace(w))
			}
			jobs = append(jobs, &job{program: b.replay(), args: words, dir: moment.Dir, cost: cost{busy: m.busy}})
			ours = append(ours, b == m.now())
		}
	}
	if err := inTurn(jobs, m.runs, m.cold); err != nil {
		return nil, nil, nil, err
	}
	// Of each moment the least counts, because the spread should be that between moments.
	for i, j := range jobs {
		took := j.cost.leastCPU()
		if !m.busy {
			took = j.cost.least()
		}
		if !ours[i] {
			before = append(before, took)
			continue
		}
		now, cpu = append(now, took), append(cpu, j.cost.leastCPU())
	}
	return before, now, cpu, nil
}
