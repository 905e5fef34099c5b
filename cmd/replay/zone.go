package main

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // archives come from zones that the machine reading them may not know

	"tachograph/cmd/replay/internal/when"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// zone is the one that times are read and shown in: that of --tz or --utc, else
// that of the machine that was recorded, because what people remember of an
// incident is what its clock showed. Machines in several zones share UTC.
func (a *app) zone() *time.Location {
	switch {
	case a.location != nil:
	case a.utc:
		a.location = time.UTC
	case a.tz != "":
		a.location, _ = parseZone(a.tz) // see checkZone
	case a.archive == nil:
		return time.Local
	default:
		a.location = a.recordedZone()
	}
	return a.location
}

// recordedZone is the zone of the newest archives of the hosts in question.
func (a *app) recordedZone() *time.Location {
	newest := make(map[string]string)
	for _, info := range a.archive.Archives() {
		if a.used.Wants(info.Host.ID) && info.TimeZone != "" {
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

// checkZone refuses what is no zone before anything is read.
func (a *app) checkZone() error {
	if a.tz == "" {
		return nil
	}
	if a.utc && !strings.EqualFold(a.tz, "UTC") {
		return fmt.Errorf("--utc and --tz %s name two zones", a.tz)
	}
	if _, err := parseZone(a.tz); err != nil {
		return fmt.Errorf("--tz %s: %w", a.tz, err)
	}
	return nil
}

// parseZone reads the name of a zone, as archives and people write it.
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

// reference is what times on the command line are relative to.
func (a *app) reference() when.Reference {
	ref := when.Reference{Now: a.now(), Zone: a.zone(), Last: a.lastEvent}
	if from, to, _ := query.Covered(a.archive, query.Window{Hosts: a.used.Hosts}); to != 0 {
		ref.Start, ref.End = time.Unix(0, from), time.Unix(0, to)
	}
	return ref
}

// lastEvent is when something of a kind happened last.
func (a *app) lastEvent(kind string) time.Time {
	var last int64
	for e, err := range a.archive.Events(0, 0, metric.EventKind(kind)) {
		if err == nil && a.used.Wants(e.Archive.Host.ID) {
			last = max(last, e.At.Wall)
		}
	}
	if last == 0 {
		return time.Time{}
	}
	return time.Unix(0, last)
}
