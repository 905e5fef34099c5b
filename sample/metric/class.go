package metric

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Class is an access pattern: how often the metrics in it are worth reading.
type Class uint8

// The numbers are stored in archives: append, never renumber.
const (
	// Static metrics are read once, and again at the start of each archive.
	Static Class = iota
	// Constrained metrics are writable tunables.
	Constrained
	// Polled metrics change, but not in a way that needs a reading every second.
	Polled
	// Fast metrics are the totals that a post-mortem needs second by second.
	Fast
	// Process metrics have one value per process.
	Process
	// Thread metrics have one value per thread of selected processes.
	Thread
	// Costly metrics are per-process numbers that each need an extra call or walk: open files,
	// sockets, footprints.
	Costly
	// Disabled metrics are described but not read.
	Disabled
	// Network metrics have one value per connection or per port that is listened on.
	Network
	NumClasses
)

var classNames = [NumClasses]string{
	"static", "constrained", "polled", "fast", "process", "thread", "costly", "disabled", "network",
}

// Once is the interval of a class that is read only at the start of an archive.
const Once = time.Duration(math.MaxInt64)

var classIntervals = Intervals{
	Static:      Once,
	Constrained: time.Minute,
	Polled:      10 * time.Second,
	Fast:        time.Second,
	Process:     5 * time.Second,
	Thread:      5 * time.Second,
	Costly:      time.Minute,
	Disabled:    Once,
	Network:     time.Minute,
}

func (c Class) String() string {
	if c < NumClasses {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// ParseClass is the inverse of String.
func ParseClass(s string) (Class, error) {
	for i, n := range classNames {
		if n == s {
			return Class(i), nil
		}
	}
	return 0, fmt.Errorf("metric: unknown class %q", s)
}

// Interval is the class's interval unless the configuration sets another.
func (c Class) Interval() time.Duration {
	if c < NumClasses {
		return classIntervals[c]
	}
	return Once
}

// Intervals says how often each class is read. Zero means never.
type Intervals [NumClasses]time.Duration

// MarshalJSON writes the intervals of the classes that are read, by name, in nanoseconds.
func (iv Intervals) MarshalJSON() ([]byte, error) {
	named := make(map[string]int64)
	for c, every := range iv {
		if every != 0 {
			named[Class(c).String()] = int64(every)
		}
	}
	return json.Marshal(named)
}

// UnmarshalJSON reads what MarshalJSON wrote, skipping classes that this program does not know.
func (iv *Intervals) UnmarshalJSON(b []byte) error {
	var named map[string]int64
	if err := json.Unmarshal(b, &named); err != nil {
		return err
	}
	*iv = Intervals{}
	for name, every := range named {
		if c, err := ParseClass(name); err == nil {
			iv[c] = time.Duration(every)
		}
	}
	return nil
}
