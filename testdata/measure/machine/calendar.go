package machine

import "time"

// calendar says when a machine runs: it sleeps for nine hours of 24 and is switched off for an
// hour on some days. A day may be shorter, and everything in proportion.
type calendar struct {
	day int64
}

// A week has one boot, in the middle of its third day: archives end then as well as at night.
const week, bootDay = 7, 2

// awake is how long the machine runs on a day.
func (c *calendar) awake() int64 { return c.day / 24 * 15 }

// begins returns how long the machine has run when a boot begins; boot 0 is that of the first day.
func (c *calendar) begins(boot int) int64 {
	if boot == 0 {
		return 0
	}
	return int64((boot-1)*week+bootDay)*c.awake() + c.awake()/2
}

// wall returns how long after the beginning the machine has run for ran.
func (c *calendar) wall(ran int64) int64 {
	day, part := ran/c.awake(), ran%c.awake()
	wall := day*c.day + part
	if day%week == bootDay && part >= c.awake()/2 {
		wall += c.day / 24 // it was off
	}
	return wall
}

// Day returns for how much of a day of a given length the machine is awake.
func (m *Machine) Day(length time.Duration) int64 {
	if m.calendar == nil {
		return int64(length)
	}
	return m.calendar.awake()
}
