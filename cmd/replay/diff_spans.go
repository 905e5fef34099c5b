package main

import (
	"fmt"

	"tachograph/cmd/internal/when"
	"tachograph/store/query"
)

// comparison reads the windows from arguments or flags.
func (s *session) comparison(w query.Window, f *diffFlags, args []string) (*comparison, error) {
	if f.against != "" {
		return s.diffAgainst(w, f, args)
	}
	first, second, err := s.diffWindows(w, f, args)
	return &comparison{a: first, b: second}, err
}

func (s *session) diffWindows(w query.Window, f *diffFlags, args []string) (first, second query.Window, err error) {
	switch {
	case len(args) == 2 && f.before == "" && f.at == "":
		if first, err = s.parseSpan(args[0]); err == nil {
			second, err = s.parseSpan(args[1])
		}
	case len(args) == 0 && f.before != "":
		first, second, err = s.aroundInstant(w, f)
	default:
		return first, second, fmt.Errorf("diff compares two windows: replay diff 03:00..03:10 03:10..03:20, or --before 10m --at 03:12, or one with --against yesterday")
	}
	if err != nil {
		return first, second, err
	}
	for _, part := range []query.Window{first, second} {
		part.Hosts = w.Hosts
		if _, _, list := query.Covered(s.Archive, part); len(list) == 0 {
			return first, second, s.Empty(part)
		}
	}
	return first, second, nil
}

func (s *session) aroundInstant(w query.Window, f *diffFlags) (first, second query.Window, err error) {
	before, err := when.Duration(f.before)
	if err != nil || before <= 0 {
		return first, second, fmt.Errorf("--before %s is not a length of time (write 10m)", f.before)
	}
	after := before
	if f.after != "" {
		if after, err = when.Duration(f.after); err != nil || after <= 0 {
			return first, second, fmt.Errorf("--after %s is not a length of time (write 10m)", f.after)
		}
	}
	_, end, _ := query.Covered(s.Archive, query.Window{Hosts: w.Hosts})
	at := end - int64(after)
	if f.at != "" {
		if at, err = s.moment(f.at, w); err != nil {
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
