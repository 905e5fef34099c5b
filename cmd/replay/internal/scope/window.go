package scope

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/internal/when"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// Instant parses a time given by the flag called name.
func (s *Scope) Instant(name, text string) (int64, error) {
	t, err := s.Reference().Parse(text)
	if err != nil {
		return 0, fmt.Errorf("--%s: %w", name, err)
	}
	s.Resolved[name] = t.In(s.Zone()).Format(time.RFC3339Nano)
	return t.UnixNano(), nil
}

// Window resolves --host, --from and --to.
func (s *Scope) Window() (query.Window, error) {
	w := query.Window{}
	var err error
	if w.Hosts, err = s.HostIDs(); err != nil {
		return w, err
	}
	s.Choose(w.Hosts...)
	if len(s.Derived) > 0 {
		// A mistake in them is an error even if the question does not use them.
		if _, err := s.Definitions(); err != nil {
			return w, err
		}
	}
	if s.From != "" {
		if w.From, err = s.Instant("from", s.From); err != nil {
			return w, err
		}
	}
	if s.To != "" {
		text := s.To
		if strings.HasPrefix(text, "+") && s.From != "" {
			d, err := when.Offset(text)
			if err != nil {
				return w, fmt.Errorf("--to: %w", err)
			}
			text = time.Unix(0, w.From).Add(d).Format(time.RFC3339Nano)
		}
		if w.To, err = s.Instant("to", text); err != nil {
			return w, err
		}
	}
	return s.Within(w)
}

// Within returns the part of a window for which something was recorded, or an error if there is
// none. The hosts that the window names are those of the question from then on.
func (s *Scope) Within(w query.Window) (query.Window, error) {
	s.Choose(w.Hosts...)
	if w.To != 0 && w.To < w.From {
		return w, fmt.Errorf("--from %s is after --to %s", s.Show(w.From), s.Show(w.To))
	}
	from, _, list := query.Covered(s.Archive, w)
	if len(list) == 0 {
		s.Used = w
		return w, s.Empty(w)
	}
	if w.From == 0 && slices.ContainsFunc(list, func(in *store.ArchiveInfo) bool { return in.From < from }) {
		w.From = from // what a part of other archives holds from before its window does not count
	}
	s.Used = w
	return w, nil
}

// Empty is the error for a window that holds nothing. It says what the archive covers
// instead.
func (s *Scope) Empty(w query.Window) error {
	from, to, _ := query.Covered(s.Archive, query.Window{Hosts: w.Hosts})
	if to == 0 {
		return &Error{Kind: Unreadable, Err: fmt.Errorf("the archive holds nothing yet")}
	}
	asked := "after " + s.Show(w.From)
	switch {
	case w.From == 0:
		asked = "until " + s.Show(w.To)
	case w.To != 0:
		asked = "from " + s.Show(w.From) + " to " + s.Show(w.To)
	}
	return &Error{Kind: Outside, Err: fmt.Errorf("nothing was recorded %s: the archive covers %s to %s", asked, s.Show(from), s.Show(to))}
}

// HostIDs resolves --host patterns to the IDs of hosts.
func (s *Scope) HostIDs() ([]string, error) {
	if len(s.Hosts) == 0 {
		return nil, nil
	}
	var ids, names []string
	for _, text := range s.Hosts {
		p, err := query.ParsePattern(text)
		if err != nil {
			return nil, err
		}
		found := false
		for _, h := range s.Archive.Hosts() {
			names = append(names, h.Name)
			if p.Match(h.Name) || p.Match(h.ID) {
				ids, found = append(ids, h.ID), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no host %q in the archives, which are of %s%s", text, strings.Join(names, ", "), query.Suggest(text, names))
		}
	}
	return ids, nil
}

// ManyHosts reports whether rows must say which host they are about.
func (s *Scope) ManyHosts() bool {
	n := 0
	for _, h := range s.Archive.Hosts() {
		if s.Used.Wants(h.ID) {
			n++
		}
	}
	return n > 1
}

// Choose sets the hosts of the question; without any it is about all.
func (s *Scope) Choose(hosts ...string) {
	s.Used.Hosts, s.location = hosts, nil
}

// recordedZone returns the zone of the newest archives of the hosts in question.
func (s *Scope) recordedZone() *time.Location {
	newest := make(map[string]string)
	for _, info := range s.Archive.Archives() {
		if s.Used.Wants(info.Host.ID) && info.TimeZone != "" {
			newest[info.Host.ID] = info.TimeZone
		}
	}
	var zone *time.Location
	for _, name := range newest {
		z, err := ParseZone(name)
		switch {
		case err != nil:
			return time.Local
		case zone != nil && zone.String() != z.String():
			return time.UTC
		}
		zone = z
	}
	if zone == nil {
		return time.Local
	}
	return zone
}

// Reference returns what times on the command line are relative to.
func (s *Scope) Reference() when.Reference {
	ref := when.Reference{Now: s.Now(), Zone: s.Zone(), Last: s.lastEvent}
	if from, to, _ := query.Covered(s.Archive, query.Window{Hosts: s.Used.Hosts}); to != 0 {
		ref.Start, ref.End = time.Unix(0, from), time.Unix(0, to)
	}
	return ref
}

// lastEvent returns when the last event of a kind happened.
func (s *Scope) lastEvent(kind string) time.Time {
	var last int64
	for e := range s.Archive.Events(0, 0, metric.EventKind(kind)) {
		if s.Used.Wants(e.Archive.Host.ID) {
			last = max(last, e.At.Wall)
		}
	}
	if last == 0 {
		return time.Time{}
	}
	return time.Unix(0, last)
}
