package out

import (
	"sort"
	"time"
)

// stampLayout is RFC 3339 with nanoseconds.
const stampLayout = "2006-01-02T15:04:05.000000000Z07:00"

// stampCache writes times in stampLayout. Successive times are usually in the same hour.
type stampCache struct {
	from, to int64  // seconds since 1970 in the same hour and zone
	hour     int64  // when that hour begins
	stamp    []byte // template for the minutes and all below them
	minutes  int    // index of the minutes in stamp
}

// turn fills the cache with the hour of sec, if it can.
func (c *stampCache) turn(sec int64, zone *time.Location) bool {
	t := time.Unix(sec, 0).In(zone)
	_, offset := t.Zone()
	if offset%60 != 0 || t.Year() < 0 || t.Year() > 9999 {
		return false
	}
	c.hour = sec - int64(t.Minute()*60+t.Second())
	c.from, c.to = c.hour, c.hour+3600
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		c.from = max(c.from, start.Unix())
	}
	if !end.IsZero() {
		c.to = min(c.to, end.Unix())
	}
	c.stamp = t.AppendFormat(c.stamp[:0], "2006-01-02T15:")
	c.minutes = len(c.stamp)
	c.stamp = t.AppendFormat(append(c.stamp, "00:00.000000000"...), "Z07:00")
	return true
}

// pairs has the numbers from 00 to 99.
var pairs = func() (p [200]byte) {
	for i := range 100 {
		p[2*i], p[2*i+1] = byte('0'+i/10), byte('0'+i%10)
	}
	return p
}()

func (c *stampCache) append(b []byte, wall int64, zone *time.Location) []byte {
	sec := wall / 1e9
	ns := wall % 1e9
	if ns < 0 {
		sec, ns = sec-1, ns+1e9
	}
	if (sec < c.from || sec >= c.to) && !c.turn(sec, zone) {
		return time.Unix(0, wall).In(zone).AppendFormat(b, stampLayout)
	}
	from := len(b) + c.minutes
	b = append(b, c.stamp...)
	d := b[from : from+15]
	within, n := uint32(sec-c.hour), uint32(ns)
	minute, second := within/60, within%60
	d[0], d[1] = pairs[2*minute], pairs[2*minute+1]
	d[3], d[4] = pairs[2*second], pairs[2*second+1]
	d[6] = byte('0' + n/1e8)
	for i, two := range [4]uint32{n / 1e6 % 100, n / 1e4 % 100, n / 100 % 100, n % 100} {
		d[7+2*i], d[8+2*i] = pairs[2*two], pairs[2*two+1]
	}
	return b
}

// ticks remembers the texts of times. All series of a group have times from the same ticks.
type ticks struct {
	cache stampCache
	wall  []int64 // in rising order
	texts [][stampRoom]byte
	width int // of each text
}

const (
	// stampRoom is the length of the longest text that is remembered, that of a time in a zone with an offset.
	stampRoom = len("2006-01-02T15:04:05.000000000+00:00")
	// mostTicks are remembered: an hour of seconds.
	mostTicks = 4096
)

// find returns where the time wall is remembered, or would be.
func (t *ticks) find(wall int64) int {
	return sort.Search(len(t.wall), func(i int) bool { return t.wall[i] >= wall })
}

// begin prepares for the times of a series, and returns where the first of them may be remembered.
func (t *ticks) begin(first int64) int {
	at := t.find(first)
	if at < len(t.wall) && t.wall[at] != first {
		t.wall, t.texts = t.wall[:0], t.texts[:0] // another group's
	}
	return at
}

// append appends the text of a time. at is where it may be remembered. append returns where the
// next one may be.
func (t *ticks) append(b []byte, wall int64, at int, zone *time.Location) ([]byte, int) {
	if at >= len(t.wall) || t.wall[at] != wall {
		if at = t.find(wall); at == len(t.wall) {
			at = t.learn(wall, zone)
		} else if t.wall[at] != wall {
			at = -1
		}
		if at < 0 {
			return t.cache.append(b, wall, zone), 0
		}
	}
	n := len(b)
	if cap(b)-n < stampRoom {
		return append(b, t.texts[at][:t.width]...), at + 1
	}
	*(*[stampRoom]byte)(b[n : n+stampRoom]) = t.texts[at]
	return b[:n+t.width], at + 1
}

// learn remembers a time after all those that are remembered, if its text is as long as theirs.
// It returns where, or -1.
func (t *ticks) learn(wall int64, zone *time.Location) int {
	if len(t.wall) == mostTicks {
		t.wall, t.texts = t.wall[:0], t.texts[:0]
	}
	var room [stampRoom]byte
	text := t.cache.append(room[:0], wall, zone)
	if len(t.wall) == 0 {
		t.width = len(text)
	}
	if len(text) != t.width || t.width > stampRoom {
		return -1
	}
	t.wall = append(t.wall, wall)
	t.texts = append(t.texts, room)
	return len(t.wall) - 1
}
