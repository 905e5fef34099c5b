package query

import (
	"cmp"
	"path"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// DeathWords are what the system said about deaths in a window: a line of the kernel, a core dump,
// a report, a count of the kernel may all be about one of them.
type DeathWords struct {
	less map[wordsID]bool
}

// wordsID identifies an event.
type wordsID struct {
	host      string
	at        metric.Stamp
	kind      metric.EventKind
	key, text string
}

func wordsOf(e *store.Event) wordsID {
	return wordsID{e.Archive.Host.ID, e.At, e.Kind, e.Key, e.Text}
}

// WordsIn joins what the system said about each death, as DeathsIn does, without the ends of
// processes, of which there may be millions.
func WordsIn(a Archive, w Window) *DeathWords {
	c := newCoroner(a, w)
	c.joinAll(c.words())
	words := &DeathWords{less: make(map[wordsID]bool)}
	for _, d := range c.list {
		d.sort()
		first := true
		for _, e := range d.Said {
			if e.Kind == metric.EventService {
				continue // That the service failed is another matter.
			}
			if !first {
				words.less[wordsOf(e)] = true
			}
			first = false
		}
	}
	return words
}

// Less reports whether another event says more about the same death.
func (w *DeathWords) Less(e *store.Event) bool { return w.less[wordsOf(e)] }

// sort has the most telling words come first.
func (d *Death) sort() {
	slices.SortStableFunc(d.Said, func(x, y *store.Event) int { return cmp.Compare(Telling(y), Telling(x)) })
}

// joinAll joins what the system said: first what names a process, then what does not.
func (c *coroner) joinAll(said, memory []*store.Event) {
	named := func(e *store.Event) bool { return e.Key != "" || e.Label("pid") != "" }
	for _, want := range []bool{true, false} {
		for _, e := range said {
			if named(e) == want {
				c.join(e)
			}
		}
	}
	for _, e := range memory {
		c.bereave(e)
	}
}

// kills remembers a death as that of a process that was killed for want of memory, and what in: the
// kernel's count, and systemd, say the same without naming the process.
func (c *coroner) kills(d *Death, e *store.Event) {
	if e.Kind != metric.EventKill || e.Label("pid") == "" || slices.ContainsFunc(d.Said, func(x *store.Event) bool { return x.Kind == metric.EventKill }) {
		return
	}
	insert(c.killed, hostOf(e), d)
	in := []string{e.Label(metric.OwnerService)}
	if group := path.Base(e.Label("group")); group != in[0] {
		in = append(in, group)
	}
	for _, unit := range in {
		if unit != "" && unit != "." {
			insert(c.killed, hostOf(e)+unit, d)
		}
	}
}

// counted returns a death that a count of the kernel is about, nil if the kernel named fewer
// processes at that time than it counted.
func (c *coroner) counted(e *store.Event) *Death {
	list := c.killed[hostOf(e)]
	from, _ := slices.BinarySearchFunc(list, e.At.Wall-killedBefore, byTime)
	to, _ := slices.BinarySearchFunc(list, e.At.Wall+killedAfter+1, byTime)
	if to-from < killings(e) {
		return nil
	}
	return nearest(list[from:to], e)
}
