package main

import (
	"fmt"

	"tachograph/cmd/internal/when"
	"tachograph/store/query"
)

// comparison reads the windows from arguments or flags.
func (q *diffQuestion) comparison() (*comparison, error) {
	if q.f.against != "" {
		return q.against()
	}
	if q.f.acrossUpdate {
		return q.across()
	}
	first, second, err := q.windows()
	return &comparison{a: first, b: second}, err
}

func (q *diffQuestion) windows() (first, second query.Window, err error) {
	switch {
	case len(q.args) == 2 && q.f.before == "" && q.f.at == "":
		if first, err = q.parse(q.args[0]); err == nil {
			second, err = q.parse(q.args[1])
		}
	case len(q.args) == 0 && q.f.before != "":
		first, second, err = q.around()
	default:
		return first, second, fmt.Errorf("diff compares two windows: replay diff 03:00..03:10 03:10..03:20, or --before 10m --at 03:12, or one with --against yesterday")
	}
	if err != nil {
		return first, second, err
	}
	for _, part := range []query.Window{first, second} {
		part.Hosts = q.w.Hosts
		if _, _, list := query.Covered(q.s.Archive, part); len(list) == 0 {
			return first, second, q.s.Empty(part)
		}
	}
	return first, second, nil
}

func (q *diffQuestion) around() (first, second query.Window, err error) {
	before, err := when.Duration(q.f.before)
	if err != nil || before <= 0 {
		return first, second, fmt.Errorf("--before %s is not a length of time (write 10m)", q.f.before)
	}
	after := before
	if q.f.after != "" {
		if after, err = when.Duration(q.f.after); err != nil || after <= 0 {
			return first, second, fmt.Errorf("--after %s is not a length of time (write 10m)", q.f.after)
		}
	}
	_, end, _ := query.Covered(q.s.Archive, query.Window{Hosts: q.w.Hosts})
	at := end - int64(after)
	if q.f.at != "" {
		if at, err = q.s.moment(q.f.at, q.w); err != nil {
			return first, second, err
		}
		// If less than a tenth of the second window was recorded, the time up to the instant
		// takes its place.
		if end-at < int64(after)/10 {
			at = min(at, end) - int64(after)
		}
	}
	return query.Window{From: at - int64(before), To: at}, query.Window{From: at, To: min(at+int64(after), end)}, nil
}
