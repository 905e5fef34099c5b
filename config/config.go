package config

import (
	"time"

	"tachograph/sample/metric"
)

// Config is an effective configuration: the defaults, overridden by the keys of the file.
type Config struct {
	// File is the file it was read from; empty for the defaults.
	File string

	Archive Archive
	// Intervals holds the interval of each class; Off for a class that is not
	// read.
	Intervals metric.Intervals
	// Rules move metrics between classes; the last one that matches wins.
	Rules []Rule
	// Triggers are the triggers of the file, and the defaults whose names the file does not
	// have.
	Triggers []Trigger

	Process Process
	Network Network
	Budget  Budget
	Log     Log

	lines map[string]int // key path -> line of File
}

// Off is the interval of a class that is not read at all.
const Off = time.Duration(0)

// Archive says where archives are kept, when a new one begins and how long they are kept.
type Archive struct {
	Dir      string // empty: the platform's default
	Group    string
	Rotate   Schedule
	MaxSize  int64
	KeepFor  time.Duration
	KeepSize int64
	// Archives are reduced to steps of ReduceTo before they are removed, and the reduced
	// archives are kept for KeepReducedFor; Off: they are not reduced.
	KeepReducedFor time.Duration
	ReduceTo       time.Duration
	Sync           time.Duration
	SyncOnBattery  time.Duration
	Seal           time.Duration
	Buffer         int64
	OnFinish       []string
	OnFinishLimit  time.Duration
}

// Rule moves the metrics that match to a class.
type Rule struct {
	Match []string
	Class metric.Class
	line  int
}

// Process says what is kept about processes besides their numbers.
type Process struct {
	Args       Args
	Threads    []string // patterns of process names whose threads are read
	ThreadsTop int      // and of the N busiest ones
	// KeepReports is "on" if reports of crashes and the like are kept whole, else "off".
	KeepReports string
}

// Network says what is kept about connections.
type Network struct {
	Peers       string // "pseudonym", "address" or "off"
	Connections int    // that have values of their own, and as many that are in trouble
	Namespaces  int    // besides the own one
}

// Args says how much of command lines is kept.
type Args string

// The three choices, the most private first.
const (
	ArgsOff      Args = "off"
	ArgsRedacted Args = "redacted"
	ArgsFull     Args = "full"
)

// Budget bounds what the recorder itself may use. Zero means no bound.
type Budget struct {
	MaxCPU    float64 // cores: 0.01 is 1 % of one
	MaxMemory int64
	Nice      int // priority, as nice(1) counts it
}

// Log says how the recorder writes its own log.
type Log struct {
	Format string // "text" or "json"
	Level  string // "debug", "info", "warn", "error"
}

// Default is the configuration without a file.
func Default() *Config {
	c := &Config{
		Archive: Archive{
			MaxSize:       1 << 30,
			KeepFor:       30 * day,
			KeepSize:      10 << 30,
			ReduceTo:      time.Minute,
			Sync:          time.Second,
			SyncOnBattery: 5 * time.Second,
			Seal:          5 * time.Minute,
			Buffer:        16 << 20,
			OnFinishLimit: 10 * time.Minute,
		},
		Process: Process{Args: ArgsOff, KeepReports: "off"},
		Network: Network{Peers: "pseudonym", Connections: 50, Namespaces: 64},
		Budget:  Budget{MaxCPU: 0.01, MaxMemory: 100 << 20, Nice: -15},
		Log:     Log{Format: "text", Level: "info"},

		Triggers: DefaultTriggers(),
	}
	c.Archive.Rotate, _ = ParseSchedule("0 0 * * *")
	for cl := metric.Class(0); cl < metric.NumClasses; cl++ {
		c.Intervals[cl] = cl.Interval()
	}
	return c
}

// InForce returns the intervals at which classes are read, with all settings applied.
func (c *Config) InForce() metric.Intervals {
	in := c.Intervals
	in[metric.Disabled] = Off
	if len(c.Process.Threads) == 0 && c.Process.ThreadsTop == 0 {
		in[metric.Thread] = Off
	}
	return in
}

// Interval returns how often class cl is read; Off if it is not.
func (c *Config) Interval(cl metric.Class) time.Duration { return c.InForce()[cl] }

// Shortest returns the interval of the class that is read most often.
func (c *Config) Shortest() time.Duration {
	shortest := metric.Once
	for _, d := range c.InForce() {
		if d != Off {
			shortest = min(shortest, d)
		}
	}
	return shortest
}

// Class returns the class with which d is read.
func (c *Config) Class(d *metric.Desc) metric.Class {
	if r := c.rule(d); r != nil {
		return r.Class
	}
	return d.Class
}

func (c *Config) rule(d *metric.Desc) *Rule {
	for i := len(c.Rules) - 1; i >= 0; i-- {
		for _, p := range c.Rules[i].Match {
			if Match(p, d.Name) {
				return &c.Rules[i]
			}
		}
	}
	return nil
}
