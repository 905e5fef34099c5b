package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/metric"
)

// key is one key of the configuration: its path in the file, how its value is read and how it
// is written.
type key struct {
	path string
	set  func(*Config, any) error
	get  func(*Config) string // as TOML
}

var keys = append([]key{
	stringKey("archive.dir", func(c *Config) *string { return &c.Archive.Dir }),
	stringKey("archive.group", func(c *Config) *string { return &c.Archive.Group }),
	{"archive.rotate", func(c *Config, v any) (err error) {
		return withString(v, func(s string) error { c.Archive.Rotate, err = ParseSchedule(s); return err })
	}, func(c *Config) string { return strconv.Quote(c.Archive.Rotate.String()) }},
	sizeKey("archive.max_size", 1<<20, func(c *Config) *int64 { return &c.Archive.MaxSize }),
	durationKey("archive.keep_for", time.Hour, true, func(c *Config) *time.Duration { return &c.Archive.KeepFor }),
	sizeKey("archive.keep_size", 1<<20, func(c *Config) *int64 { return &c.Archive.KeepSize }),
	durationKey("archive.keep_reduced_for", time.Hour, true, func(c *Config) *time.Duration { return &c.Archive.KeepReducedFor }),
	stepKey("archive.reduce_to", func(c *Config) *time.Duration { return &c.Archive.ReduceTo }),
	durationKey("archive.sync", 10*time.Millisecond, false, func(c *Config) *time.Duration { return &c.Archive.Sync }),
	durationKey("archive.sync_on_battery", 10*time.Millisecond, false, func(c *Config) *time.Duration { return &c.Archive.SyncOnBattery }),
	durationKey("archive.seal", 10*time.Second, false, func(c *Config) *time.Duration { return &c.Archive.Seal }),
	sizeKey("archive.buffer", 1<<20, func(c *Config) *int64 { return &c.Archive.Buffer }),
	{"archive.on_finish", func(c *Config, v any) error { return setCommand(&c.Archive.OnFinish, v) },
		func(c *Config) string { return quoteList(c.Archive.OnFinish) }},
	durationKey("archive.on_finish_limit", time.Second, false, func(c *Config) *time.Duration { return &c.Archive.OnFinishLimit }),
	{"process.args", func(c *Config, v any) error {
		return withString(v, func(s string) error {
			return oneOf((*string)(&c.Process.Args), s, string(ArgsOff), string(ArgsRedacted), string(ArgsFull))
		})
	}, func(c *Config) string { return strconv.Quote(string(c.Process.Args)) }},
	{"process.threads", func(c *Config, v any) error { return setPatterns(&c.Process.Threads, v) },
		func(c *Config) string { return quoteList(c.Process.Threads) }},
	numberKey("process.threads_top", 0, 1000, func(c *Config) *int { return &c.Process.ThreadsTop }),
	choiceKey("process.keep_reports", func(c *Config) *string { return &c.Process.KeepReports }, "off", "on"),
	choiceKey("network.peers", func(c *Config) *string { return &c.Network.Peers }, "pseudonym", "address", "off"),
	numberKey("network.connections", 0, 1000, func(c *Config) *int { return &c.Network.Connections }),
	numberKey("network.namespaces", 0, 1000, func(c *Config) *int { return &c.Network.Namespaces }),
	{"budget.max_cpu", func(c *Config, v any) (err error) {
		return withString(v, func(s string) error {
			if s == "off" {
				c.Budget.MaxCPU = 0
				return nil
			}
			c.Budget.MaxCPU, err = ParsePercent(s)
			return err
		})
	}, func(c *Config) string {
		if c.Budget.MaxCPU == 0 {
			return `"off"`
		}
		return strconv.Quote(strconv.FormatFloat(c.Budget.MaxCPU*100, 'g', -1, 64) + "%")
	}},
	sizeKey("budget.max_memory", 16<<20, func(c *Config) *int64 { return &c.Budget.MaxMemory }),
	numberKey("budget.nice", -20, 19, func(c *Config) *int { return &c.Budget.Nice }),
	choiceKey("log.format", func(c *Config) *string { return &c.Log.Format }, "text", "json"),
	choiceKey("log.level", func(c *Config) *string { return &c.Log.Level }, "debug", "info", "warn", "error"),
}, classKeys()...)

// classKeys returns the keys of the intervals of the classes that are read repeatedly.
func classKeys() []key {
	var ks []key
	for cl := metric.Class(0); cl < metric.NumClasses; cl++ {
		if cl.Interval() == metric.Once {
			continue
		}
		ks = append(ks, durationKey("classes."+cl.String(), 100*time.Millisecond, true,
			func(c *Config) *time.Duration { return &c.Intervals[cl] }))
	}
	return ks
}

var errString = errors.New("is not a string: put its value in quotes")

func withString(v any, set func(string) error) error {
	s, ok := v.(string)
	if !ok {
		return errString
	}
	return set(s)
}

func stringKey(path string, at func(*Config) *string) key {
	return key{path,
		func(c *Config, v any) error {
			return withString(v, func(s string) error { *at(c) = s; return nil })
		},
		func(c *Config) string { return strconv.Quote(*at(c)) },
	}
}

func numberKey(path string, least, most int64, at func(*Config) *int) key {
	return key{path,
		func(c *Config, v any) error {
			n, ok := v.(int64)
			if !ok || n < least || n > most {
				return fmt.Errorf("is not a number from %d to %d", least, most)
			}
			*at(c) = int(n)
			return nil
		},
		func(c *Config) string { return strconv.Itoa(*at(c)) },
	}
}

func choiceKey(path string, at func(*Config) *string, choices ...string) key {
	return key{path,
		func(c *Config, v any) error {
			return withString(v, func(s string) error { return oneOf(at(c), s, choices...) })
		},
		func(c *Config) string { return strconv.Quote(*at(c)) },
	}
}

func oneOf(at *string, s string, choices ...string) error {
	for _, ch := range choices {
		if s == ch {
			*at = s
			return nil
		}
	}
	return fmt.Errorf("is none of %s", strings.Join(choices, ", "))
}

// stepKey is the key of a duration that divides a day.
func stepKey(path string, at func(*Config) *time.Duration) key {
	k := durationKey(path, time.Second, false, at)
	set := k.set
	k.set = func(c *Config, v any) error {
		was := *at(c)
		if err := set(c, v); err != nil {
			return err
		}
		if d := *at(c); d%time.Second != 0 || day%d != 0 {
			*at(c) = was
			return errors.New("does not divide a day: 10s, 1m, 5m, 15m and 1h do")
		}
		return nil
	}
	return k
}

func durationKey(path string, least time.Duration, mayBeOff bool, at func(*Config) *time.Duration) key {
	return key{path,
		func(c *Config, v any) error {
			return withString(v, func(s string) error {
				if mayBeOff && s == "off" {
					*at(c) = Off
					return nil
				}
				d, err := ParseDuration(s)
				switch {
				case err != nil:
					return err
				case d < least:
					return fmt.Errorf("is too short: %s at least", FormatDuration(least))
				}
				*at(c) = d
				return nil
			})
		},
		func(c *Config) string {
			if d := *at(c); d != Off {
				return strconv.Quote(FormatDuration(d))
			}
			return `"off"`
		},
	}
}

func sizeKey(path string, least int64, at func(*Config) *int64) key {
	return key{path,
		func(c *Config, v any) error {
			return withString(v, func(s string) error {
				if s == "off" {
					*at(c) = 0
					return nil
				}
				n, err := ParseSize(s)
				switch {
				case err != nil:
					return err
				case n < least:
					return fmt.Errorf(`is too small: %s at least, or "off"`, FormatSize(least))
				}
				*at(c) = n
				return nil
			})
		},
		func(c *Config) string {
			if n := *at(c); n != 0 {
				return strconv.Quote(FormatSize(n))
			}
			return `"off"`
		},
	}
}

func stringList(v any) ([]string, error) {
	items, ok := v.([]any)
	if !ok {
		return nil, errors.New(`is not a list of strings (write ["one", "two"])`)
	}
	var out []string
	for _, it := range items {
		s, ok := it.(string)
		if !ok {
			return nil, errors.New(`is not a list of strings (write ["one", "two"])`)
		}
		out = append(out, s)
	}
	return out, nil
}

// setCommand requires an absolute path: a service has no PATH that could be trusted.
func setCommand(at *[]string, v any) error {
	words, err := stringList(v)
	if err != nil {
		return err
	}
	if len(words) > 0 && !strings.HasPrefix(words[0], "/") {
		return errors.New("does not begin with an absolute path")
	}
	*at = words
	return nil
}

func setPatterns(at *[]string, v any) error {
	ps, err := stringList(v)
	if err != nil {
		return err
	}
	for _, p := range ps {
		if p == "" {
			return errors.New("has an empty pattern")
		}
	}
	*at = ps
	return nil
}

func quoteList(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = strconv.Quote(w)
	}
	return "[" + strings.Join(q, ", ") + "]"
}
