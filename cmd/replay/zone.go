package main

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // archives come from zones that the machine reading them may not know

	"tachograph/cmd/internal/when"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// A clock shows times in the zone that zone returns.
type clock struct {
	Now func() time.Time

	// Flags.
	UTC bool
	TZ  string

	location *time.Location        // see zone; nil until it is known
	recorded func() *time.Location // returns the archives' zone; nil if none is open
}

// zone returns the zone in which times are read and shown: that of --tz or --utc, else that of
// the recorded machine, because people remember of an incident what its clock showed. Machines
// in several zones share UTC.
func (c *clock) Zone() *time.Location {
	switch {
	case c.location != nil:
	case c.UTC:
		c.location = time.UTC
	case c.TZ != "":
		c.location, _ = parseZone(c.TZ) // see checkZone
	case c.recorded == nil:
		return time.Local
	default:
		c.location = c.recorded()
	}
	return c.location
}

// in returns an instant in the zone.
func (c *clock) In(wall int64) time.Time { return time.Unix(0, wall).In(c.Zone()) }

func (c *clock) Show(wall int64) string {
	return c.In(wall).Format("2006-01-02 15:04:05 MST")
}

// recordedZone returns the zone of the newest archives of the hosts in question.
func (s *session) recordedZone() *time.Location {
	newest := make(map[string]string)
	for _, info := range s.Archive.Archives() {
		if s.Used.Wants(info.Host.ID) && info.TimeZone != "" {
			newest[info.Host.ID] = info.TimeZone
		}
	}
	var zone *time.Location
	for _, name := range newest {
		z, err := parseZone(name)
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

// checkZone refuses an invalid zone before anything is read.
func (c *clock) Check() error {
	if c.TZ == "" {
		return nil
	}
	if c.UTC && !strings.EqualFold(c.TZ, "UTC") {
		return fmt.Errorf("--utc and --tz %s name two zones", c.TZ)
	}
	if _, err := parseZone(c.TZ); err != nil {
		return fmt.Errorf("--tz %s: %w", c.TZ, err)
	}
	return nil
}

// parseZone parses the name of a zone, as archives and people write it.
func parseZone(name string) (*time.Location, error) {
	switch {
	case strings.EqualFold(name, "local"):
		return time.Local, nil
	case strings.EqualFold(name, "UTC"):
		return time.UTC, nil
	case strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-"):
		if t, err := time.Parse("-07:00", name); err == nil {
			_, offset := t.Zone()
			return time.FixedZone(name, offset), nil
		}
	default:
		if z, err := time.LoadLocation(name); err == nil {
			return z, nil
		}
	}
	return nil, fmt.Errorf("there is no such zone (write Europe/Berlin, UTC, local or +02:00)")
}

// reference returns what times on the command line are relative to.
func (s *session) Reference() when.Reference {
	ref := when.Reference{Now: s.Now(), Zone: s.Zone(), Last: s.lastEvent}
	if from, to, _ := query.Covered(s.Archive, query.Window{Hosts: s.Used.Hosts}); to != 0 {
		ref.Start, ref.End = time.Unix(0, from), time.Unix(0, to)
	}
	return ref
}

// lastEvent returns when the last event of a kind happened.
func (s *session) lastEvent(kind string) time.Time {
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
