package recent

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/derive"
	"tachograph/store/layout"
)

// Keep selects what is kept.
type Keep struct {
	// Ticks is how many ticks of each class are kept at least; values below 2 mean 2.
	Ticks int
	// For is how long further ticks are kept.
	For time.Duration
	// Metric reports whether a metric is kept; nil: all are. It is called once for each
	// description.
	Metric func(*metric.Desc) bool
	// NoEvents drops all events except those that no rate may be taken across.
	NoEvents bool
}

// An Archive holds what was recorded last. Only one goroutine at a time may use it and what it
// returns, except instances, which never change.
type Archive struct {
	derive.Answers
	keep      Keep
	parts     []*part
	ticks     [metric.NumClasses][]*tick // the oldest first
	spare     [metric.NumClasses]*tick   // to be reused
	rows      rows
	tables    []*table                 // in the order in which they were first seen
	tableOf   map[groupOf]*table       // by the group of the caller of Tick
	tablesOf  map[string][]*table      // by metric
	described map[string]*metric.Desc  // by Describe
	last      [metric.NumClasses]*tick // the newest tick
	known     int                      // how many metrics were ever seen
}

// A part holds the kept ticks and events of one archive.
type part struct {
	archive.Info
	given       *archive.Info // the Info that it was made from
	churn, rest []metric.Event
	tables      map[*table]bool // all tables ever seen in it
	kept        int             // how many ticks are kept
}

// A tick is a tick that is kept.
type tick struct {
	metric.Stamp
	part     *part
	from, to int64 // wall clocks of its blocks
	blocks   []block
}

// A block holds the kept columns of a reading of a group.
type block struct {
	*table
	at   metric.Stamp
	rows []*row
	cols []metric.Column // parallel to the table's columns
}

// A table holds the kept metrics of a group in a class.
type table struct {
	class   metric.Class
	group   *metric.Group
	columns []column
	blocks  int // how many blocks are kept
}

// A column is one metric of a table.
type column struct {
	desc      *metric.Desc // as it was given
	effective *metric.Desc // with the class of the table
	at        int          // index among the metrics of the group
}

type groupOf struct {
	class metric.Class
	group *metric.Group
}

// mostTables is how many tables there may be before those without blocks are dropped.
const mostTables = 1024

// New returns an empty archive.
func New(keep Keep) *Archive {
	keep.Ticks = max(keep.Ticks, 2)
	a := &Archive{keep: keep, rows: newRows(), tableOf: make(map[groupOf]*table), tablesOf: make(map[string][]*table),
		described: make(map[string]*metric.Desc)}
	a.Answers = derive.Answers{From: a}
	return a
}

// Describe adds metrics that are known even if they have no values: computed ones, and those
// that this machine lacks.
func (a *Archive) Describe(list ...*metric.Desc) {
	for _, d := range list {
		a.described[d.Name] = d
	}
}

// Add adds an item from a follower.
func (a *Archive) Add(it *archive.Item) {
	switch {
	case it.Tick != nil:
		a.Tick(it.Archive, it.Tick)
	case it.Event != nil:
		a.Event(it.Archive, it.Event)
	}
}

// Tick adds a tick of the archive that info describes. It copies what it keeps, except strings
// and descriptions.
func (a *Archive) Tick(info *archive.Info, t *metric.Tick) {
	if t.Class >= metric.NumClasses {
		return
	}
	p := a.part(info)
	k := a.spare[t.Class]
	if a.spare[t.Class] = nil; k == nil {
		k = new(tick)
	}
	k.Stamp, k.part, k.from, k.to = t.At, p, t.At.Wall, t.At.Wall
	n := 0
	for _, b := range t.Blocks {
		tab := a.table(t.Class, b.Group)
		if len(tab.columns) == 0 {
			continue
		}
		if n == len(k.blocks) {
			k.blocks = append(k.blocks, block{})
		}
		if n == 0 {
			k.from, k.to = b.At.Wall, b.At.Wall
		}
		k.from, k.to = min(k.from, b.At.Wall), max(k.to, b.At.Wall)
		a.fill(&k.blocks[n], tab, p, b)
		n++
	}
	clear(k.blocks[n:])
	k.blocks = k.blocks[:n]
	p.kept++
	a.ticks[t.Class], a.last[t.Class] = append(a.ticks[t.Class], k), k
	a.forget(t.Class)
}

// fill copies into k what is kept of b.
func (a *Archive) fill(k *block, tab *table, p *part, b *metric.Block) {
	p.tables[tab] = true
	tab.blocks++
	k.table, k.at = tab, b.At
	k.rows = slices.Grow(k.rows[:0], len(b.Rows))[:len(b.Rows)]
	for i, in := range b.Rows {
		k.rows[i] = nil
		if in != nil {
			k.rows[i] = a.rows.of(p, b.Group.Indom, in, b.At)
		}
	}
	if len(k.cols) != len(tab.columns) {
		k.cols = make([]metric.Column, len(tab.columns))
	}
	for i := range tab.columns {
		k.cols[i].Copy(&b.Cols[tab.columns[i].at])
	}
}

// Event adds an event of the archive that info describes.
func (a *Archive) Event(info *archive.Info, e *metric.Event) {
	// When a device comes or goes, readings before and after it are of different devices.
	if a.keep.NoEvents && !e.Breaks() && e.Kind != metric.EventDevice {
		return
	}
	p := a.part(info)
	if layout.IsChurn(e.Kind) {
		p.churn = append(p.churn, *e)
	} else {
		p.rest = append(p.rest, *e)
	}
	p.bound()
	if p.kept == 0 {
		a.span()
	}
}

// mostEvents is how many events of either kind a part keeps.
const mostEvents = 1 << 14

// bound drops the older half of the events if there are too many.
func (p *part) bound() {
	for _, list := range []*[]metric.Event{&p.churn, &p.rest} {
		if len(*list) > mostEvents {
			*list = append([]metric.Event(nil), (*list)[mostEvents/2:]...)
		}
	}
}

// part finds or makes the part of an archive.
func (a *Archive) part(info *archive.Info) *part {
	i := len(a.parts) - 1
	for i >= 0 && a.parts[i].given != info && (a.parts[i].ID != info.ID || a.parts[i].Host.ID != info.Host.ID) {
		i--
	}
	if i >= 0 {
		p := a.parts[i]
		p.given, p.Intervals, p.Path, p.Live = info, info.Intervals, info.Path, info.Live
		return p
	}
	p := &part{Info: *info, given: info, tables: make(map[*table]bool)}
	p.Empty = true
	a.parts = append(a.parts, p)
	return p
}

// table finds or makes the table of a group.
func (a *Archive) table(class metric.Class, g *metric.Group) *table {
	tab := a.tableOf[groupOf{class, g}]
	if tab != nil {
		return tab
	}
	if len(a.tableOf) >= mostTables {
		a.forgetTables()
	}
	// Each file that is read has its own copy of the same group.
	for _, have := range a.tables {
		if have.class == class && have.group.Same(g) {
			tab = have
		}
	}
	if tab == nil {
		tab = &table{class: class, group: g}
		for i, d := range g.Metrics {
			if a.keep.Metric != nil && !a.keep.Metric(d) {
				continue
			}
			c := column{desc: d, effective: d, at: i}
			if d.Class != class {
				moved := *d
				moved.Class = class
				c.effective = &moved
			}
			if a.tablesOf[d.Name] == nil {
				a.known++
			}
			tab.columns = append(tab.columns, c)
			a.tablesOf[d.Name] = append(a.tablesOf[d.Name], tab)
		}
		a.tables = append(a.tables, tab)
	}
	a.tableOf[groupOf{class, g}] = tab
	return tab
}

// forgetTables drops the tables without blocks.
func (a *Archive) forgetTables() {
	past := func(tab *table) bool { return tab.blocks == 0 }
	clear(a.tableOf)
	a.tables = slices.DeleteFunc(a.tables, past)
	for name, list := range a.tablesOf {
		if a.tablesOf[name] = slices.DeleteFunc(list, past); len(a.tablesOf[name]) == 0 {
			delete(a.tablesOf, name)
		}
	}
	for _, p := range a.parts {
		for tab := range p.tables {
			if past(tab) {
				delete(p.tables, tab)
			}
		}
	}
}

// forget drops the ticks of a class that are not kept any longer.
func (a *Archive) forget(class metric.Class) {
	list := a.ticks[class]
	newest := list[len(list)-1]
	n := 0
	for ; len(list)-n > a.keep.Ticks; n++ {
		old := list[n]
		age := newest.Cont - old.Cont
		if old.part.BootID != newest.part.BootID || old.part.Host.ID != newest.part.Host.ID {
			age = newest.Wall - old.Wall
		}
		if age >= 0 && age <= int64(a.keep.For) && a.keep.For > 0 {
			break
		}
		old.part.kept--
		for i := range old.blocks {
			b := &old.blocks[i]
			b.table.blocks--
			a.rows.release(b.rows)
		}
		a.spare[class] = old
	}
	a.ticks[class] = append(list[:0], list[n:]...)
	clear(list[len(list)-n:])
	a.span()
	if n > 0 {
		a.forgetEvents()
	}
}

// forgetEvents drops events from before all readings that are still repeated, and parts with
// nothing left.
func (a *Archive) forgetEvents() {
	first := make(map[*part]int64) // the continuous clock of the part's first tick
	var oldest *part
	for class, list := range a.ticks {
		for _, t := range list {
			if every := t.part.Intervals[class]; every <= 0 || every > longestInterval {
				continue
			}
			if at, ok := first[t.part]; !ok || t.Cont < at {
				first[t.part] = t.Cont
			}
		}
	}
	for _, p := range a.parts {
		if _, ok := first[p]; ok {
			oldest = p
			break
		}
	}
	if oldest == nil {
		return
	}
	for _, p := range a.parts {
		for _, list := range []*[]metric.Event{&p.churn, &p.rest} {
			n := 0
			switch at, ok := first[p]; {
			case p == oldest:
				for n < len(*list) && (*list)[n].At.Cont < at {
					n++
				}
			case !ok && p.From < oldest.From:
				n = len(*list)
			}
			*list = slices.Delete(*list, 0, n)
		}
	}
	n := len(a.parts)
	newest := a.parts[n-1]
	a.parts = slices.DeleteFunc(a.parts, func(p *part) bool {
		return p.kept == 0 && len(p.churn)+len(p.rest) == 0 && p != newest
	})
}

// longestInterval is the longest interval that counts as repeated reading.
const longestInterval = 366 * 24 * time.Hour

// span computes which time the parts cover, and sorts them by it.
func (a *Archive) span() {
	for _, p := range a.parts {
		p.Empty = true
	}
	for _, list := range a.ticks {
		for _, t := range list {
			p := t.part
			if p.Empty {
				p.From, p.To, p.Empty = t.from, t.to, false
			}
			p.From, p.To = min(p.From, t.from), max(p.To, t.to)
		}
	}
	for _, p := range a.parts {
		if !p.Empty {
			continue
		}
		if list := append(slices.Clip(p.rest), p.churn...); len(list) > 0 {
			p.From, p.To = list[0].At.Wall, list[0].At.Wall
		}
	}
	slices.SortStableFunc(a.parts, func(x, y *part) int { return cmp.Compare(x.From, y.From) })
}

// Last returns the newest tick of a class: its clocks, and the wall clocks of the first and the
// last reading in it. ok is false if there is none.
func (a *Archive) Last(class metric.Class) (at metric.Stamp, from, to int64, ok bool) {
	t := a.last[class]
	if t == nil {
		return metric.Stamp{}, 0, 0, false
	}
	return t.Stamp, t.from, t.to, true
}

// A Moment is an instant of a boot. Setting the clock does not move it.
type Moment struct {
	Boot string
	Cont int64
}

// Before reports whether m was before n in the same boot.
func (m Moment) Before(n Moment) bool { return m.Boot == n.Boot && m.Cont < n.Cont }

// LastOf returns when the last reading in the newest tick of a class was made; the zero Moment
// if there is none.
func (a *Archive) LastOf(class metric.Class) (m Moment) {
	t := a.last[class]
	if t == nil {
		return m
	}
	m = Moment{t.part.BootID, t.Cont}
	for i := range t.blocks {
		m.Cont = max(m.Cont, t.blocks[i].at.Cont)
	}
	return m
}

// Newest returns a view of the archive that has only the newest tick of a class: it shows what
// that tick brought, whatever the clocks say. It is valid until the next tick is added.
func (a *Archive) Newest(class metric.Class) *Archive {
	one := *a
	one.Answers = derive.Answers{From: &one}
	one.ticks = [metric.NumClasses][]*tick{}
	if t := a.last[class]; t != nil {
		one.ticks[class] = []*tick{t}
	}
	return &one
}

// Known returns how many metrics were ever seen.
func (a *Archive) Known() int { return a.known }

// Holds reports whether the newest tick of a class has any of the metrics.
func (a *Archive) Holds(class metric.Class, names map[string]bool) bool {
	t := a.last[class]
	return t != nil && slices.ContainsFunc(t.blocks, func(b block) bool {
		return slices.ContainsFunc(b.columns, func(c column) bool { return names[c.desc.Name] })
	})
}

// Classes returns the classes in which any of the metrics is kept.
func (a *Archive) Classes(names map[string]bool) (list []metric.Class) {
	for class := range metric.NumClasses {
		if slices.ContainsFunc(a.tables, func(t *table) bool {
			return t.class == class && t.blocks > 0 && slices.ContainsFunc(t.columns, func(c column) bool { return names[c.desc.Name] })
		}) {
			list = append(list, class)
		}
	}
	return list
}

// Since returns the wall clock of the oldest kept reading of a class; 0 if there is none.
func (a *Archive) Since(class metric.Class) int64 {
	if list := a.ticks[class]; len(list) > 0 {
		return list[0].from
	}
	return 0
}

// Metrics returns the metrics by name, each with its newest description.
func (a *Archive) Metrics() []*metric.Desc {
	var list []*metric.Desc
	for name := range a.tablesOf {
		list = append(list, a.Lookup(name))
	}
	for name, d := range a.described {
		if a.tablesOf[name] == nil {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(x, y *metric.Desc) int { return strings.Compare(x.Name, y.Name) })
	return list
}

// Lookup returns the newest description of the metric called name, or nil.
func (a *Archive) Lookup(name string) *metric.Desc {
	if list := a.tablesOf[name]; len(list) > 0 {
		return list[len(list)-1].find(name).desc
	}
	return a.described[name]
}

// View returns the whole archive: it is small and in memory, so no limits are needed.
func (a *Archive) View(store.Limits) store.Archive { return a }

// LookupIn returns the newest description of the metric called name in one of the archives, or
// nil.
func (a *Archive) LookupIn(info *archive.Info, name string) *metric.Desc {
	i := slices.IndexFunc(a.parts, func(p *part) bool { return &p.Info == info })
	if i < 0 {
		return nil
	}
	for _, tab := range slices.Backward(a.tablesOf[name]) {
		if a.parts[i].tables[tab] {
			return tab.find(name).desc
		}
	}
	return a.described[name]
}

// find returns the column of a metric that the table has.
func (t *table) find(name string) *column { return &t.columns[t.place(name)] }

func (t *table) place(name string) int {
	return slices.IndexFunc(t.columns, func(c column) bool { return c.desc.Name == name })
}
