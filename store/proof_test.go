package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/storetest"
)

// The proofs that nothing is lost record a storetest.Machine, of which every
// value can be told afterwards, break something, and compare what is left with
// what must be.

// item is one record of a machine: a tick or an event.
type item struct {
	second int
	tick   *metric.Tick
	event  *metric.Event
}

// items lists the first n records of the machine with this seed.
func items(seed uint64, n int) []item {
	m := storetest.NewMachine(seed)
	var list []item
	for s := 0; len(list) < n; s++ {
		for _, t := range m.Ticks(s) {
			list = append(list, item{second: s, tick: t})
		}
		if e, ok := m.Event(s); ok {
			list = append(list, item{second: s, event: &e})
		}
	}
	return list[:n]
}

// at is the instant of an item.
func (it item) at() metric.Stamp {
	if it.event != nil {
		return it.event.At
	}
	return it.tick.At
}

// recorder is what items are given to.
type recorder interface {
	Append(*metric.Tick) error
	Event(metric.Event) error
}

// append gives the item to a writer.
func (it item) append(w recorder) error {
	if it.event != nil {
		return w.Event(*it.event)
	}
	return w.Append(it.tick)
}

// proofOptions are the options of a writer of the machine with this seed. Seals
// are frequent, so that everything is broken in every state.
func proofOptions(dir string, seed uint64, now func() metric.Stamp) Options {
	m := storetest.NewMachine(seed)
	return Options{
		Dir:       dir,
		Host:      Host{ID: "0000-test", Name: "testhost", OS: "Linux", Release: "6.0", Arch: "amd64", Platform: "linux"},
		BootID:    "boot-1",
		TimeZone:  "UTC",
		Recorder:  "test",
		Config:    "# none\n",
		Catalogue: m.Catalogue(),
		Intervals: m.Intervals(),
		Seal:      20 * time.Second / commitSeals,
		Sync:      time.Second,
		Now:       now,
		Log:       slog.New(slog.DiscardHandler),
	}
}

// cell is the place of a value: who, what, when.
type cell struct {
	metric, key string
	wall        int64
}

// value is what stands in a cell, exactly.
func value(v metric.Value) string {
	if v.Miss != metric.Present {
		return "absent: " + v.Miss.String()
	}
	if v.Type == metric.String {
		return strconv.Quote(v.Str)
	}
	return strconv.FormatUint(v.Bits, 16)
}

// cells lists the values of a tick.
func cells(t *metric.Tick, fn func(c cell, v string)) {
	for _, b := range t.Blocks {
		for j := range b.Cols {
			d := b.Group.Metrics[j]
			for i, in := range b.Rows {
				c := cell{metric: d.Name, wall: b.At.Wall}
				if in != nil {
					c.key = in.Key
				}
				fn(c, value(b.Cols[j].At(d.Type, i)))
			}
		}
	}
}

// content is what a reader finds.
type content struct {
	values map[cell]string
	events map[int64]string // of the machine, by wall clock
}

func eventText(e *metric.Event) string {
	return fmt.Sprintf("%s|%s|%s|%s|%v|%d", e.Kind, e.Text, e.Indom, e.Key, e.Labels, e.At.Cont)
}

// readContent reads everything. It fails on values that come twice.
func readContent(r *Reader) (*content, error) {
	c := &content{values: map[cell]string{}, events: map[int64]string{}}
	for run, err := range r.Select(Selection{}) {
		if err != nil {
			return nil, err
		}
		at := cell{metric: run.Metric.Name}
		if run.Instance != nil {
			at.key = run.Instance.Key
		}
		for i := range run.Wall {
			at.wall = run.Wall[i]
			if _, twice := c.values[at]; twice {
				return nil, fmt.Errorf("%v stands twice", at)
			}
			c.values[at] = value(run.At(i))
		}
	}
	for e, err := range r.Events(math.MinInt64, math.MaxInt64, metric.EventProcessStart) {
		if err != nil {
			return nil, err
		}
		if _, twice := c.events[e.At.Wall]; twice {
			return nil, fmt.Errorf("event at %d stands twice", e.At.Wall)
		}
		c.events[e.At.Wall] = eventText(&e.Event)
	}
	return c, nil
}

// damageOf lists what a reader reports.
func damageOf(r *Reader) []string {
	var list []string
	for _, a := range r.Archives() {
		list = append(list, a.Damage...)
	}
	return list
}

// has says how much of it c holds: all, nothing, or something in between. A
// value that differs is an error.
func (c *content) has(it item) (all, none bool, err error) {
	all, none = true, true
	see := func(where any, got string, ok bool, want string) {
		switch {
		case !ok:
			all = false
		case got != want:
			err = fmt.Errorf("%v is %s, was recorded as %s", where, got, want)
		default:
			none = false
		}
	}
	if it.event != nil {
		got, ok := c.events[it.event.At.Wall]
		see(it.event.At.Wall, got, ok, eventText(it.event))
		return all, none, err
	}
	cells(it.tick, func(at cell, want string) {
		got, ok := c.values[at]
		see(at, got, ok, want)
	})
	return all, none, err
}

// checkPrefix demands that c holds a beginning of list, at least of the first
// acknowledged items, each of them whole, and nothing else. It returns how many
// items there are.
func (c *content) checkPrefix(list []item, acknowledged int) (int, error) {
	n, values, events := len(list), 0, 0
	for i, it := range list {
		all, none, err := c.has(it)
		switch {
		case err != nil:
			return 0, fmt.Errorf("item %d: %w", i, err)
		case all && i < n, all && none:
			// A tick without rows looks the same whether it is there or not.
		case all:
			return 0, fmt.Errorf("item %d is there although item %d is not", i, n)
		case !none:
			return 0, fmt.Errorf("item %d is there in part", i)
		case i < acknowledged:
			return 0, fmt.Errorf("item %d of %d acknowledged ones is lost", i, acknowledged)
		default:
			n = min(n, i)
		}
		if i < n {
			if it.event != nil {
				events++
			} else {
				cells(it.tick, func(cell, string) { values++ })
			}
		}
	}
	if values != len(c.values) || events != len(c.events) {
		return 0, fmt.Errorf("%d values and %d events were found, %d and %d recorded", len(c.values), len(c.events), values, events)
	}
	return n, nil
}

// survivors lists which items c holds, each of them whole, and demands that it
// holds nothing else. next is behind the last of them. There may be holes: a
// crash can keep the beginning of one journal file and lose the end of the one
// before, as long as neither was made safe.
func (c *content) survivors(list []item) (left []bool, next int, err error) {
	left = make([]bool, len(list))
	values, events := 0, 0
	for i, it := range list {
		all, none, err := c.has(it)
		if err != nil {
			return nil, 0, fmt.Errorf("item %d: %w", i, err)
		}
		if !all && !none {
			return nil, 0, fmt.Errorf("item %d is there in part", i)
		}
		if left[i] = all; !all {
			continue
		}
		if !none { // a tick without rows looks the same whether it is there or not
			next = i + 1
		}
		if it.event != nil {
			events++
		} else {
			cells(it.tick, func(cell, string) { values++ })
		}
	}
	if values != len(c.values) || events != len(c.events) {
		return nil, 0, fmt.Errorf("%d values and %d events were found, %d and %d recorded", len(c.values), len(c.events), values, events)
	}
	return left, next, nil
}

// readDir reads a directory of archives, which may hold none.
func readDir(dir string) (*content, []string, error) {
	if _, err := archiveFiles(dir); errors.Is(err, fs.ErrNotExist) {
		return &content{}, nil, nil
	}
	r, err := Open(dir)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	c, err := readContent(r)
	return c, damageOf(r), err
}

// long reports whether the proofs run in their long form, which takes minutes.
func long() bool { return os.Getenv("TACHO_LONG") != "" }

// pick is how often to try something: normal times, n times in the long form,
// and a third of normal under -short.
func pick(t *testing.T, normal, n int) int {
	t.Helper()
	switch {
	case long():
		return n
	case testing.Short():
		return 1 + normal/3
	}
	return normal
}
