package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tachograph/sample/metric"
)

// Trigger says what to do when a condition on the values that are read has held for a while.
type Trigger struct {
	Name string
	// When is an expression of replay's language, or "off".
	When string
	// For is how long the condition must hold.
	For    time.Duration
	Stacks StacksWish
	Burst  BurstWish
	// Run is a command; nil for none.
	Run []string
	// After it has acted, the trigger does nothing for CoolDown; it acts at most PerDay times a
	// day.
	CoolDown time.Duration
	PerDay   int
	path     string // "trigger.0"; "" for a default
	line     int
}

// Off reports whether t is switched off.
func (t *Trigger) Off() bool { return t.When == "off" }

// StacksWish says how to sample stacks; with a zero For, they are not sampled.
type StacksWish struct {
	For  time.Duration
	Rate int
	// Of is "process", the one that the condition held for, or "all". "" means the former if
	// the condition is about processes.
	Of string
}

// BurstWish says which classes to read more often for a while; a zero For means none.
type BurstWish struct {
	Classes []metric.Class
	Every   time.Duration
	For     time.Duration
	// Before is how much of the past a burst keeps. To have it, the recorder always reads the
	// classes each Every, into memory.
	Before time.Duration
}

// Limits of triggers.
const (
	maxTriggers   = 64
	maxWhen       = 2000
	maxHold       = day
	leastCoolDown = 10 * time.Second
	maxPerDay     = 1000
	maxStacks     = time.Minute
	maxRate       = 1000
	maxBurst      = 5 * time.Minute
	leastEvery    = 100 * time.Millisecond
	maxBefore     = time.Minute
)

// DefaultTriggers are used unless the file has one of the same name.
func DefaultTriggers() []Trigger {
	return []Trigger{
		{Name: "runaway process", When: "rate(proc.psinfo.utime) + rate(proc.psinfo.stime) > 90%", For: 5 * time.Minute,
			Stacks: StacksWish{For: 5 * time.Second, Rate: 50, Of: "process"}, CoolDown: time.Hour, PerDay: 6},
		{Name: "memory pressure", When: "kernel.all.pressure.memory.full.avg[10 second] > 10%", For: 10 * time.Second,
			Stacks: StacksWish{For: 2 * time.Second, Rate: 5, Of: "all"}, CoolDown: time.Hour, PerDay: 6},
		{Name: "memory pressure of macOS", When: "kern.memorystatus_vm_pressure_level >= 2", For: 10 * time.Second,
			Stacks: StacksWish{For: 2 * time.Second, Rate: 5, Of: "all"}, CoolDown: time.Hour, PerDay: 6},
		{Name: "hang", When: "recorder.stall > 5s",
			Stacks: StacksWish{For: 2 * time.Second, Rate: 5, Of: "all"}, CoolDown: time.Hour, PerDay: 6},
	}
}

func (c *Config) parseTriggers(v any, errs *list) {
	tables, ok := v.([]map[string]any)
	if !ok {
		errs.add(c.mistake("trigger", "is not a list of tables (write [[trigger]])"))
		return
	}
	if len(tables) > maxTriggers {
		errs.add(c.mistake("trigger", fmt.Sprintf("is too often there: %d times at most", maxTriggers)))
		return
	}
	var named []string
	for i, table := range tables {
		path := fmt.Sprintf("trigger.%d", i)
		t := Trigger{CoolDown: 10 * time.Minute, PerDay: 10, path: path, line: c.lines[path]}
		for name, v := range table {
			set := triggerKeys[name]
			if set == nil {
				errs.add(c.triggerKey(path, name, "is no key of a trigger ("+strings.Join(triggerWords, ", ")+")"))
				continue
			}
			if err := set(&t, v); err != nil {
				errs.add(c.triggerKey(path, name, err.Error()))
			}
		}
		for _, name := range []string{"name", "when"} {
			if _, ok := table[name]; !ok {
				errs.add(c.mistake(path, "has no "+name))
			}
		}
		if t.Name != "" && slices.Contains(named, t.Name) {
			errs.add(c.mistake(path, "has the name of another trigger"))
		}
		named = append(named, t.Name)
		c.putTrigger(t)
	}
}

// triggerKey is a mistake in a key, which may be a table further down in the file.
func (c *Config) triggerKey(path, name, msg string) *Error {
	e := c.mistake(path+"."+name, msg)
	if e.Line == 0 {
		e.Line = c.lines[path]
	}
	return e
}

// putTrigger replaces the trigger of the same name with t, or appends t.
func (c *Config) putTrigger(t Trigger) {
	for i := range c.Triggers {
		if c.Triggers[i].Name == t.Name {
			c.Triggers[i] = t
			return
		}
	}
	c.Triggers = append(c.Triggers, t)
}

var triggerWords = []string{"name", "when", "for", "stacks", "burst", "run", "cool_down", "per_day"}

// triggerKeys are the functions that set the keys of a trigger.
var triggerKeys = map[string]func(*Trigger, any) error{
	"name": func(t *Trigger, v any) error {
		return withString(v, func(s string) error {
			if s == "" || len(s) > 60 || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
				return errors.New("is not a name of up to 60 letters")
			}
			t.Name = s
			return nil
		})
	},
	"when": func(t *Trigger, v any) error {
		return withString(v, func(s string) error {
			s = strings.Join(strings.Fields(s), " ")
			if s == "" || len(s) > maxWhen {
				return fmt.Errorf(`is not a condition of up to %d letters, nor "off"`, maxWhen)
			}
			t.When = s
			return nil
		})
	},
	"for":       func(t *Trigger, v any) error { return setSpan(&t.For, v, 0, maxHold) },
	"cool_down": func(t *Trigger, v any) error { return setSpan(&t.CoolDown, v, leastCoolDown, 30*day) },
	"per_day":   func(t *Trigger, v any) error { return setNumber(&t.PerDay, v, maxPerDay) },
	"run":       func(t *Trigger, v any) error { return setCommand(&t.Run, v) },
	"stacks": func(t *Trigger, v any) error {
		w := StacksWish{Rate: 50}
		err := setTable(v, "for", map[string]func(any) error{
			"for":  func(v any) error { return setSpan(&w.For, v, time.Second, maxStacks) },
			"rate": func(v any) error { return setNumber(&w.Rate, v, maxRate) },
			"of": func(v any) error {
				return withString(v, func(s string) error { return oneOf(&w.Of, s, "process", "all") })
			},
		})
		t.Stacks = w
		return err
	},
	"burst": func(t *Trigger, v any) error {
		w := BurstWish{Every: leastEvery}
		err := setTable(v, "for", map[string]func(any) error{
			"for":     func(v any) error { return setSpan(&w.For, v, time.Second, maxBurst) },
			"every":   func(v any) error { return setSpan(&w.Every, v, leastEvery, time.Minute) },
			"before":  func(v any) error { return setSpan(&w.Before, v, time.Second, maxBefore) },
			"classes": func(v any) error { return setClasses(&w.Classes, v) },
		})
		if err == nil && len(w.Classes) == 0 {
			err = errors.New("has no classes")
		}
		for _, cl := range w.Classes {
			// Some metrics may change more often than their class, but that is not checked for
			// each metric here: reading unchanged values again costs time, and yields nothing.
			if least := (&metric.Desc{Class: cl}).MinInterval(); err == nil && w.Every < least {
				err = fmt.Errorf("reads the class %s every %s, but its sources give nothing new more often than every %s", cl, FormatDuration(w.Every), FormatDuration(least))
			}
		}
		t.Burst = w
		return err
	},
}

// setTable reads a table in which the key must is required. Mistakes in it are reported at the
// table, which is usually on one line.
func setTable(v any, must string, keys map[string]func(any) error) error {
	table, ok := v.(map[string]any)
	if !ok {
		return errors.New(`is not a table (write { for = "5s" })`)
	}
	var words []string
	for name := range keys {
		words = append(words, name)
	}
	slices.Sort(words)
	var names []string
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		set := keys[name]
		if set == nil {
			return errors.New("has a key that is none of " + strings.Join(words, ", "))
		}
		if err := set(table[name]); err != nil {
			return fmt.Errorf("has a mistake: %s %w", name, err)
		}
	}
	if _, ok := table[must]; !ok {
		return errors.New("has no " + must)
	}
	return nil
}

func setSpan(at *time.Duration, v any, least, most time.Duration) error {
	return withString(v, func(s string) error {
		d, err := ParseDuration(s)
		switch {
		case err != nil:
			return err
		case d < least:
			return fmt.Errorf("is too short: %s at least", FormatDuration(least))
		case d > most:
			return fmt.Errorf("is too long: %s at most", FormatDuration(most))
		}
		*at = d
		return nil
	})
}

func setNumber(at *int, v any, most int) error {
	n, ok := v.(int64)
	if !ok || n < 1 || n > int64(most) {
		return fmt.Errorf("is not a number from 1 to %d", most)
	}
	*at = int(n)
	return nil
}

func setClasses(at *[]metric.Class, v any) error {
	names, err := stringList(v)
	if err != nil {
		return err
	}
	*at = nil
	for _, name := range names {
		cl, err := metric.ParseClass(name)
		if err != nil || cl.Interval() == metric.Once {
			return errors.New("has a word that is no class which is read again and again (fast, process, thread, polled, costly, constrained, network)")
		}
		if !slices.Contains(*at, cl) {
			*at = append(*at, cl)
		}
	}
	return nil
}

// toml writes t without its command, see Config.TOML.
func (t *Trigger) toml(b *strings.Builder) {
	fmt.Fprintf(b, "[[trigger]]\nname = %s\nwhen = %s\nfor = %s\n", strconv.Quote(t.Name), strconv.Quote(t.When), strconv.Quote(FormatDuration(t.For)))
	if t.Stacks.For > 0 {
		b.WriteString("stacks = " + t.Stacks.toml() + "\n")
	}
	if t.Burst.For > 0 {
		b.WriteString("burst = " + t.Burst.toml() + "\n")
	}
	if len(t.Run) > 0 {
		b.WriteString("# run is set, not recorded\n")
	}
	fmt.Fprintf(b, "cool_down = %s\nper_day = %d\n", strconv.Quote(FormatDuration(t.CoolDown)), t.PerDay)
}

func (w StacksWish) toml() string {
	of := ""
	if w.Of != "" {
		of = ", of = " + strconv.Quote(w.Of)
	}
	return fmt.Sprintf("{ for = %s, rate = %d%s }", strconv.Quote(FormatDuration(w.For)), w.Rate, of)
}

func (w BurstWish) toml() string {
	var names []string
	for _, cl := range w.Classes {
		names = append(names, cl.String())
	}
	before := ""
	if w.Before > 0 {
		before = ", before = " + strconv.Quote(FormatDuration(w.Before))
	}
	return fmt.Sprintf("{ classes = %s, every = %s, for = %s%s }", quoteList(names), strconv.Quote(FormatDuration(w.Every)), strconv.Quote(FormatDuration(w.For)), before)
}

// Same reports whether t and o are the same.
func (t *Trigger) Same(o *Trigger) bool {
	return t.Name == o.Name && t.When == o.When && t.For == o.For && t.Stacks == o.Stacks && slices.Equal(t.Run, o.Run) &&
		t.Burst.Every == o.Burst.Every && t.Burst.For == o.Burst.For && t.Burst.Before == o.Burst.Before && slices.Equal(t.Burst.Classes, o.Burst.Classes) &&
		t.CoolDown == o.CoolDown && t.PerDay == o.PerDay
}

// TriggerMistake is a mistake in t, one of c's triggers, that can be found only on a machine.
func (c *Config) TriggerMistake(t *Trigger, msg string) *Error {
	if t.path == "" {
		return &Error{Key: "trigger " + strconv.Quote(t.Name), Msg: msg} // a default
	}
	return &Error{File: c.File, Line: t.line, Key: t.path, Msg: msg}
}

// SameCommands copies the commands of now's triggers to those of c: the configuration in an
// archive lacks them.
func (c *Config) SameCommands(now *Config) {
	for i := range c.Triggers {
		for j := range now.Triggers {
			if c.Triggers[i].Name == now.Triggers[j].Name {
				c.Triggers[i].Run = now.Triggers[j].Run
			}
		}
	}
}

// triggerChange names the triggers that have changed: the archive has the whole text of both
// configurations.
func triggerChange(old, now *Config) (was, is string) {
	return differing(old, now, ""), differing(now, old, " (changed)")
}

// differing returns the triggers of c that o lacks, or has in another form.
func differing(c, o *Config, changed string) string {
	var names []string
	for i := range c.Triggers {
		t := &c.Triggers[i]
		if slices.ContainsFunc(o.Triggers, func(x Trigger) bool { return t.Same(&x) }) {
			continue
		}
		name := strconv.Quote(t.Name)
		if slices.ContainsFunc(o.Triggers, func(x Trigger) bool { return t.Name == x.Name }) {
			name += changed
		}
		names = append(names, name)
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}
