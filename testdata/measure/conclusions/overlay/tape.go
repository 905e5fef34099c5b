// Package overlay lays recordings over each other: what processes did on one machine is added to
// the recording of another. Counters add up, levels are raised by what the second recording
// changed, processes and events are put side by side, and where both together would have used
// more than the machine has, both get less.
package overlay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
)

// A Tape is an archive that was read completely.
type Tape struct {
	Host   metric.Host
	Boot   string
	Booted int64 // wall clock
	Begin  metric.Stamp
	ticks  [metric.NumClasses][]*tick
	index  [metric.NumClasses]map[int64]int
	descs  map[layerKey][]*metric.Desc
	place  map[*metric.Desc]int
	events []metric.Event
	every  metric.Intervals
	firsts map[string]float64 // of each series, by metric and instance
}

// layerKey identifies what is read together.
type layerKey struct {
	class metric.Class
	indom string
}

type tick struct {
	at    metric.Stamp
	cells map[layerKey][]cell
}

// cell is a value.
type cell struct {
	desc  *metric.Desc
	in    *metric.Instance
	value metric.Value
}

// Read reads an archive, or all archives of a directory, which must be of one boot.
func Read(path string) (*Tape, error) {
	r, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info := r.Archives()[0]
	t := &Tape{Host: info.Host, Boot: info.BootID, every: info.Intervals, descs: make(map[layerKey][]*metric.Desc), place: make(map[*metric.Desc]int), firsts: make(map[string]float64)}
	for c := range t.index {
		t.index[c] = make(map[int64]int)
	}
	for run := range r.Select(store.Selection{}) {
		if d := run.Metric; d.Class != metric.Thread && d.Formula == "" && !strings.HasPrefix(d.Name, "recorder.") {
			t.take(run)
		}
	}
	if len(t.ticks[metric.Fast]) == 0 {
		return nil, fmt.Errorf("%s: nothing was read every second", path)
	}
	for c := range t.ticks {
		t.sort(metric.Class(c))
	}
	for e := range r.Events(0, 0) {
		t.events = append(t.events, e.Event)
	}
	t.Begin = t.ticks[metric.Fast][0].at
	t.Booted = t.Begin.Wall - t.Begin.Cont
	return t, nil
}

func (t *Tape) take(run *store.Run) {
	d := run.Metric
	k := layerKey{d.Class, d.Indom}
	if _, ok := t.place[d]; !ok {
		t.place[d] = len(t.descs[k])
		t.descs[k] = append(t.descs[k], d)
	}
	for i, cont := range run.Cont {
		n, ok := t.index[d.Class][cont]
		if !ok {
			n = len(t.ticks[d.Class])
			t.index[d.Class][cont] = n
			t.ticks[d.Class] = append(t.ticks[d.Class], &tick{at: metric.Stamp{Wall: run.Wall[i], Awake: cont, Cont: cont}, cells: make(map[layerKey][]cell)})
		}
		v := run.At(i)
		at := t.ticks[d.Class][n]
		at.cells[k] = append(at.cells[k], cell{d, run.Instance, v})
		if name := series(d, run.Instance); v.Miss == metric.Present && d.Type != metric.String && d.Indom != "process" {
			if _, ok := t.firsts[name]; !ok {
				t.firsts[name] = v.Number()
			}
		}
	}
}

func series(d *metric.Desc, in *metric.Instance) string {
	if in == nil {
		return d.Name
	}
	return d.Name + "\x00" + in.Key
}

// Number returns a value of the machine at about the beginning, 0 if there is none.
func (t *Tape) Number(name, key string) float64 {
	if key != "" {
		name += "\x00" + key
	}
	return t.firsts[name]
}

// Keys returns the instances of a metric.
func (t *Tape) Keys(name string) (list []string) {
	for n := range t.firsts {
		if m, key, ok := strings.Cut(n, "\x00"); ok && m == name {
			list = append(list, key)
		}
	}
	return list
}

// Seconds returns how long the tape is.
func (t *Tape) Seconds() int {
	list := t.ticks[metric.Fast]
	return int((list[len(list)-1].at.Cont-t.Begin.Cont)/1e9) - 1
}

// sort sorts the ticks of a class by time.
func (t *Tape) sort(c metric.Class) {
	slices.SortFunc(t.ticks[c], func(a, b *tick) int { return cmp.Compare(a.at.Cont, b.at.Cont) })
}
