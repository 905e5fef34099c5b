package scope

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // archives come from zones that the machine reading them may not know
)

// A Clock shows times in the zone that Zone returns.
type Clock struct {
	Now func() time.Time

	// Flags.
	UTC bool
	TZ  string

	location *time.Location        // see Zone; nil until it is known
	recorded func() *time.Location // returns the archives' zone; nil if none is open
}

// Zone returns the zone in which times are read and shown: that of --tz or --utc, else that of
// the recorded machine, because people remember of an incident what its clock showed. Machines
// in several zones share UTC.
func (c *Clock) Zone() *time.Location {
	switch {
	case c.location != nil:
	case c.UTC:
		c.location = time.UTC
	case c.TZ != "":
		c.location, _ = ParseZone(c.TZ) // see Check
	case c.recorded == nil:
		return time.Local
	default:
		c.location = c.recorded()
	}
	return c.location
}

// In returns an instant in the zone.
func (c *Clock) In(wall int64) time.Time { return time.Unix(0, wall).In(c.Zone()) }

// Show formats an instant.
func (c *Clock) Show(wall int64) string {
	return c.In(wall).Format("2006-01-02 15:04:05 MST")
}

// TimeOfDay formats an instant without its day.
func (c *Clock) TimeOfDay(wall int64) string { return c.In(wall).Format("15:04:05") }

// Check refuses an invalid zone before anything is read.
func (c *Clock) Check() error {
	if c.TZ == "" {
		return nil
	}
	if c.UTC && !strings.EqualFold(c.TZ, "UTC") {
		return fmt.Errorf("--utc and --tz %s name two zones", c.TZ)
	}
	if _, err := ParseZone(c.TZ); err != nil {
		return fmt.Errorf("--tz %s: %w", c.TZ, err)
	}
	return nil
}

// ParseZone parses the name of a zone, as archives and people write it.
func ParseZone(name string) (*time.Location, error) {
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
