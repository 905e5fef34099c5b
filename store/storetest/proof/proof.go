package proof

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/layout"
	"tachograph/store/storetest"
)

// Item is one record of a machine: a tick or an event.
type Item struct {
	Second int
	Tick   *metric.Tick
	Event  *metric.Event
}

// Items lists the first n records of the machine with this seed.
func Items(seed uint64, n int) []Item {
	m := storetest.NewMachine(seed)
	var list []Item
	for s := 0; len(list) < n; s++ {
		for _, t := range m.Ticks(s) {
			list = append(list, Item{Second: s, Tick: t})
		}
		if e, ok := m.Event(s); ok {
			list = append(list, Item{Second: s, Event: &e})
		}
	}
	return list[:n]
}

// At returns the instant of an item.
func (it Item) At() metric.Stamp {
	if it.Event != nil {
		return it.Event.At
	}
	return it.Tick.At
}

// recorder takes items.
type recorder interface {
	Append(*metric.Tick) error
	Event(...metric.Event) error
}

// Append gives the item to a writer.
func (it Item) Append(w recorder) error {
	if it.Event != nil {
		return w.Event(*it.Event)
	}
	return w.Append(it.Tick)
}

// Cell identifies a value by metric, instance and time.
type Cell struct {
	Metric, key string
	wall        int64
}

// value returns the exact content of a cell.
func value(v metric.Value) string {
	if v.Miss != metric.Present {
		return "absent: " + v.Miss.String()
	}
	if v.Type == metric.String {
		return strconv.Quote(v.Str)
	}
	return strconv.FormatUint(v.Bits, 16)
}

// Cells lists the values of a tick.
func Cells(t *metric.Tick, fn func(c Cell, v string)) {
	for _, b := range t.Blocks {
		for j := range b.Cols {
			d := b.Group.Metrics[j]
			for i, in := range b.Rows {
				c := Cell{Metric: d.Name, wall: b.At.Wall}
				if in != nil {
					c.key = in.Key
				}
				fn(c, value(b.Cols[j].At(d.Type, i)))
			}
		}
	}
}

// Content is what a reader finds.
type Content struct {
	Values map[Cell]string
	Events map[int64]string // the machine's events, by wall clock
}

func EventText(e *metric.Event) string {
	return fmt.Sprintf("%s|%s|%s|%s|%v|%d", e.Kind, e.Text, e.Indom, e.Key, e.Labels, e.At.Cont)
}

// readContent reads everything. It fails on values that come twice.
func readContent(r *store.Reader) (*Content, error) {
	c := &Content{Values: map[Cell]string{}, Events: map[int64]string{}}
	for run := range r.Select(store.Selection{}) {
		at := Cell{Metric: run.Metric.Name}
		if run.Instance != nil {
			at.key = run.Instance.Key
		}
		for i := range run.Wall {
			at.wall = run.Wall[i]
			if _, twice := c.Values[at]; twice {
				return nil, fmt.Errorf("%v stands twice", at)
			}
			c.Values[at] = value(run.At(i))
		}
	}
	for e := range r.Events(math.MinInt64, math.MaxInt64, metric.EventProcessStart) {
		if _, twice := c.Events[e.At.Wall]; twice {
			return nil, fmt.Errorf("event at %d stands twice", e.At.Wall)
		}
		c.Events[e.At.Wall] = EventText(&e.Event)
	}
	return c, nil
}

// DamageOf lists what a reader reports.
func DamageOf(r *store.Reader) []string {
	var list []string
	for _, a := range r.Archives() {
		list = append(list, a.Damage...)
	}
	for _, l := range r.Losses() {
		list = append(list, l.What)
	}
	return list
}

// has reports whether c holds all of an item or none of it; it can also be a part. A value that
// differs is an error.
func (c *Content) has(it Item) (all, none bool, err error) {
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
	if it.Event != nil {
		got, ok := c.Events[it.Event.At.Wall]
		see(it.Event.At.Wall, got, ok, EventText(it.Event))
		return all, none, err
	}
	Cells(it.Tick, func(at Cell, want string) {
		got, ok := c.Values[at]
		see(at, got, ok, want)
	})
	return all, none, err
}

// CheckPrefix demands that c holds a beginning of list, at least the first acknowledged items,
// each of them whole, and nothing else. It returns the number of items.
func (c *Content) CheckPrefix(list []Item, acknowledged int) (int, error) {
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
			if it.Event != nil {
				events++
			} else {
				Cells(it.Tick, func(Cell, string) { values++ })
			}
		}
	}
	if values != len(c.Values) || events != len(c.Events) {
		return 0, fmt.Errorf("%d values and %d events were found, %d and %d recorded", len(c.Values), len(c.Events), values, events)
	}
	return n, nil
}

// Survivors returns which items c holds, each of them whole, and demands that it holds nothing
// else. next is the number after the last of them. There may be holes: a crash can keep the
// beginning of one journal file and lose the end of the one before, as long as neither was made
// safe.
func (c *Content) Survivors(list []Item) (left []bool, next int, err error) {
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
		if it.Event != nil {
			events++
		} else {
			Cells(it.Tick, func(Cell, string) { values++ })
		}
	}
	if values != len(c.Values) || events != len(c.Events) {
		return nil, 0, fmt.Errorf("%d values and %d events were found, %d and %d recorded", len(c.Values), len(c.Events), values, events)
	}
	return left, next, nil
}

// ReadDir reads a directory of archives, which may hold none.
func ReadDir(dir string) (*Content, []string, error) {
	if _, err := layout.FilesAt(dir); errors.Is(err, fs.ErrNotExist) {
		return &Content{}, nil, nil
	}
	r, err := store.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	c, err := readContent(r)
	return c, DamageOf(r), err
}

// Long reports whether the proofs run in their long form, which takes minutes.
func Long() bool { return os.Getenv("TACHO_LONG") != "" }

// Pick returns how often to try something: normal times, n times in the long form, and a third
// of normal under -short.
func Pick(t *testing.T, normal, n int) int {
	t.Helper()
	switch {
	case Long():
		return n
	case testing.Short():
		return 1 + normal/3
	}
	return normal
}

// SealedItems returns the items of a machine's first seconds.
func SealedItems(seed uint64, seconds int) []Item {
	m := storetest.NewMachine(seed)
	var list []Item
	for s := range seconds {
		for _, t := range m.Ticks(s) {
			list = append(list, Item{Second: s, Tick: t})
		}
		if e, ok := m.Event(s); ok {
			list = append(list, Item{Second: s, Event: &e})
		}
	}
	return list
}
