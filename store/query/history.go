package query

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// History is the life of one process within a window.
type History struct {
	Process
	// From and To are the first and last instant in the window at which it was seen.
	From, To int64
	// Names are the names it had, in order, if they changed.
	Names []string
	// Owners are those that it had.
	Owners []Owned
	// Exit is the event of its end, if that was recorded in the window.
	Exit *store.Event
	// Ended says that recording went on after it was last seen.
	Ended bool
	// Ancestors are its parent, its parent's parent and so on, as far as they were recorded.
	Ancestors []string
	Rows      []HistoryRow
	// Gains are how much its counters grew in the window.
	Gains [NumProcessCounters]float64
	Peak  float64
}

// HistoryRow is a process over one step.
type HistoryRow struct {
	// At is when it was last read in the step, or when it ended.
	At     int64
	step   int64 // the end of the step
	read   int64
	Rates  [NumProcessCounters]float64
	Levels [NumProcessLevels]float64
}

// CPU returns the share of a core.
func (r *HistoryRow) CPU() float64 { return sum(r.Rates[UserTime], r.Rates[SystemTime]) }

// between reports whether a row has nothing but what counters gained from a reading before it to
// one after it; the next row has that, too.
func (r *HistoryRow) between() bool {
	known := func(x float64) bool { return x == x }
	return slices.ContainsFunc(r.Rates[:], known) && !slices.ContainsFunc(r.Levels[:], known)
}

// Memory returns the footprint, or else the resident memory.
func (r *HistoryRow) Memory() float64 {
	if f := r.Levels[Footprint]; f == f {
		return f
	}
	return r.Levels[Resident]
}

// Matcher chooses processes by pid, by name or by owner. A name without wildcards means processes of
// exactly that name, or if there are none, processes whose name contains it.
type Matcher struct {
	pids     map[int]bool
	patterns []*Pattern
	words    []string
	owners   []*ownerPattern
}

// NewMatcher parses the arguments of a command; with none, everything matches.
func NewMatcher(args []string) (*Matcher, error) {
	m := &Matcher{pids: make(map[int]bool)}
	for _, arg := range args {
		if pid, err := strconv.Atoi(arg); err == nil && pid >= 0 {
			m.pids[pid] = true
			continue
		}
		o, err := parseOwner(arg)
		if err != nil {
			return nil, err
		}
		if o != nil {
			m.owners = append(m.owners, o)
			continue
		}
		p, err := ParsePattern(arg)
		if err != nil {
			return nil, err
		}
		if p.re == nil {
			m.words = append(m.words, arg)
		}
		m.patterns = append(m.patterns, p)
	}
	return m, nil
}

// All reports whether everything matches.
func (m *Matcher) All() bool { return len(m.pids) == 0 && len(m.patterns) == 0 && len(m.owners) == 0 }

// loosens reports whether m accepts more processes if none is called exactly as its words say.
func (m *Matcher) loosens() bool {
	return len(m.words) > 0 || slices.ContainsFunc(m.owners, func(o *ownerPattern) bool { return o.word != "" })
}

// Owns reports whether a process matches by one of its owners; loose also accepts owners whose
// name contains a word.
func (m *Matcher) Owns(in *metric.Instance, loose bool) bool {
	return slices.ContainsFunc(m.owners, func(o *ownerPattern) bool { return o.owns(in, loose) })
}

// Accept reports whether a process with this pid and name matches; loose also accepts names that
// contain a word.
func (m *Matcher) Accept(pid int, name string, loose bool) bool {
	if m.All() || m.pids[pid] {
		return true
	}
	for _, p := range m.patterns {
		if p.Match(name) {
			return true
		}
	}
	if loose {
		for _, w := range m.words {
			if strings.Contains(strings.ToLower(name), strings.ToLower(w)) {
				return true
			}
		}
	}
	return false
}

// Choose returns which of n processes match.
func (m *Matcher) Choose(n int, get func(int) (process *metric.Instance, pid int, names []string)) []int {
	for _, loose := range []bool{false, true} {
		var out []int
		for i := range n {
			in, pid, names := get(i)
			accept := func(name string) bool { return m.Accept(pid, name, loose) }
			if m.Owns(in, loose) || slices.ContainsFunc(names, accept) {
				out = append(out, i)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// pageCounters and pageLevels are what a page shows of each step of a process.
var (
	pageCounters = []ProcessCounter{UserTime, SystemTime, ReadBytes, WrittenBytes, Energy}
	pageLevels   = []ProcessLevel{Resident, Footprint, Threads}
)

// Histories returns the histories of the processes that match, in steps, with all fields of each
// step or those of a page.
func Histories(a Archive, w Window, m *Matcher, step int64, zone *time.Location, most int, all bool) (list []*History, found int, err error) {
	from, to, archives := Covered(a, w)
	if len(archives) == 0 {
		return nil, 0, nil
	}
	w.From = max(from, w.From)
	if w.To == 0 || w.To > to {
		w.To = to
	}
	chosen := m.livesOf(a, w)
	found = len(chosen)
	if most > 0 && len(chosen) > most {
		chosen = chosen[:most]
	}
	if found == 0 {
		return nil, 0, nil
	}
	list, err = historiesOf(a, w, chosen, step, zone, all)
	return list, found, err
}

// historiesOf returns the histories of some lives within a window that the archives cover.
func historiesOf(a Archive, w Window, chosen []*store.Life, step int64, zone *time.Location, all bool) (list []*History, err error) {
	byInstance := make(map[*metric.Instance]*History)
	for _, l := range chosen {
		h := &History{From: l.From, To: l.To, Names: lifeNames(l), Owners: ownersOf(l), Gains: noCounters(), Peak: math.NaN()}
		h.Process = Process{Archive: l.Archive, Instance: l.Instance, PID: ProcessID(l.Instance), Name: ProcessName(l.Instance),
			Start: l.Instance.Began(), Rates: noCounters(), Totals: noCounters(), Levels: noLevels()}
		list = append(list, h)
		byInstance[l.Instance] = h
	}
	if len(list) == 0 {
		return nil, nil
	}
	hs := &historian{a: a, w: w, step: step, zone: zone, byInstance: byInstance, list: list}
	if hs.fields = mapFields(a, pageCounters, pageLevels); all {
		hs.fields = mapFields(a, allCounters(), allLevels())
	}
	for in := range byInstance {
		hs.keys = append(hs.keys, in.Key)
	}
	if err := hs.fill(); err != nil {
		return nil, err
	}
	return list, nil
}

// Owned are the owners of a kind that a process had in its life.
type Owned struct {
	Kind  string
	Names []string // the latest last
}

// ownersOf returns the owners that a process had, by kind.
func ownersOf(l *store.Life) (list []Owned) {
	labels := [][]metric.Label{l.Instance.Labels}
	if len(l.Names) > 0 {
		labels = nil
		for _, n := range l.Names {
			labels = append(labels, n.Labels)
		}
	}
	for _, kind := range metric.OwnerKinds {
		o := Owned{Kind: kind}
		for _, of := range labels {
			name := (&metric.Instance{Labels: of}).Label(kind)
			if n := len(o.Names); name != "" && (n == 0 || o.Names[n-1] != name) {
				o.Names = append(o.Names, name)
			}
		}
		if o.Names != nil {
			list = append(list, o)
		}
	}
	return list
}

func lifeNames(l *store.Life) []string {
	out := []string{ProcessName(l.Instance)}
	for _, n := range l.Names {
		name := ProcessName(&metric.Instance{Name: n.Name})
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// historian gathers the histories of some processes.
type historian struct {
	a          Archive
	w          Window
	step       int64
	zone       *time.Location // for steps of days
	byInstance map[*metric.Instance]*History
	keys       []string
	list       []*History
	fields     *fieldMap // the fields of the steps
}

func (hs *historian) fill() error {
	if err := hs.rows(); err != nil {
		return err
	}
	hs.read()
	if err := hs.totals(); err != nil {
		return err
	}
	for _, h := range hs.list {
		hs.texts(h)
		h.At = h.To
		hs.ending(h)
		h.date()
		hs.ancestors(h)
	}
	return nil
}

func (hs *historian) rows() error {
	fields := hs.fields
	if len(fields.names) == 0 {
		return fmt.Errorf("the archive holds nothing about processes")
	}
	r := Request{Window: hs.w, Metrics: fields.names, Mode: Shown, Step: hs.step, Zone: hs.zone, Keys: hs.keys}
	at := make(map[*History]map[int64]int)
	for s, err := range Read(hs.a, r) {
		if err != nil {
			return err
		}
		h := hs.byInstance[s.Instance]
		if h == nil {
			continue
		}
		index := at[h]
		if index == nil {
			index = make(map[int64]int)
			at[h] = index
		}
		for i, wall := range s.Wall {
			k, ok := index[wall]
			if !ok {
				k = len(h.Rows)
				index[wall] = k
				h.Rows = append(h.Rows, HistoryRow{At: wall, step: wall, Rates: noCounters(), Levels: noLevels()})
			}
			x := s.Value(i).Number()
			if f, ok := fields.counter(s.Archive, s.Name); ok {
				if s.Metric.Units.Time != 1 {
					x *= base(s.Metric.Units)
				}
				h.Rows[k].Rates[f] = x
			} else if l, ok := fields.level(s.Archive, s.Name); ok {
				h.Rows[k].Levels[l] = x * base(s.Metric.Units)
			}
		}
	}
	for _, h := range hs.list {
		slices.SortFunc(h.Rows, func(x, y HistoryRow) int { return cmp.Compare(x.At, y.At) })
	}
	return nil
}

// read notes when the processes were last read in each step.
func (hs *historian) read() {
	sel := hs.w.Selection(hs.fields.names...)
	sel.Keys = hs.keys
	for in, walls := range hs.a.Readings(sel) {
		h := hs.byInstance[in]
		if h == nil {
			continue
		}
		k := 0
		for _, wall := range walls {
			for k > 0 && h.Rows[k-1].step >= wall {
				k-- // The wall clock was set back.
			}
			for k < len(h.Rows) && h.Rows[k].step < wall {
				k++
			}
			if k < len(h.Rows) {
				h.Rows[k].read = max(h.Rows[k].read, wall)
			}
		}
	}
}

// date gives each row the time of its values; no row is later than the end of the process.
func (h *History) date() {
	end := h.To
	if h.Exit != nil {
		end = h.Exit.At.Wall
	}
	var before int64
	h.Rows = slices.DeleteFunc(h.Rows, func(r HistoryRow) bool {
		late := h.Ended && before >= end
		before = r.step
		return late || r.read == 0 && r.between()
	})
	for i := range h.Rows {
		r := &h.Rows[i]
		if r.read != 0 {
			r.At = r.read
		}
		if h.Ended {
			r.At = min(r.At, end)
		}
	}
}

// totals fills in the exact gains over the window, as Top computes them.
func (hs *historian) totals() error {
	t := &topper{a: hs.a, group: PerProcess, digested: true, hidden: hs.hidden}
	if err := t.bounds(hs.w); err != nil {
		return err
	}
	fields := mapFields(hs.a, allCounters(), []ProcessLevel{Footprint, Resident, Highest})
	t.add(fields, hs.keys)
	for _, h := range hs.list {
		if c := t.groups[t.keyOf(h.Archive, h.Instance)]; c != nil {
			h.Gains, h.Peak = c.Gains, c.Peak
		}
	}
	return nil
}

// hidden reports whether one of the processes may be in a crowd.
func (hs *historian) hidden(d *store.Totals) bool {
	members := make(map[string]bool, len(d.Members))
	for i := range d.Members {
		members[d.Members[i].Key] = true
	}
	return slices.ContainsFunc(hs.list, func(h *History) bool {
		return h.From <= d.To.Wall && h.To >= d.From.Wall && !members[h.Instance.Key]
	})
}

// texts fills in the user, the parent and the start of h as last read. They hardly ever change,
// so the end of its life mostly has them.
func (hs *historian) texts(h *History) {
	metrics := []string{userMetric, ppidMetric, startMetric}
	for _, from := range []int64{max(hs.w.From, h.To-int64(10*time.Minute)), hs.w.From} {
		sel := store.Selection{Hosts: []string{h.Archive.Host.ID}, Metrics: metrics, From: from, To: h.To, Keys: []string{h.Instance.Key}}
		for run := range hs.a.Select(sel) {
			i := len(run.Wall) - 1
			if run.Instance != h.Instance || run.Miss != nil && run.Miss[i] != metric.Present {
				continue
			}
			metrics = slices.DeleteFunc(slices.Clone(metrics), func(name string) bool { return name == run.Metric.Name })
			switch run.Metric.Name {
			case userMetric:
				h.User = run.Word(i)
			case ppidMetric:
				h.PPID = int(metric.Number(run.Metric.Type, run.Bits[i]))
			case startMetric:
				if h.Start == 0 {
					h.Start = int64(metric.Number(run.Metric.Type, run.Bits[i]) * base(run.Metric.Units) * 1e9)
				}
			}
		}
		if len(metrics) == 0 {
			break
		}
	}
}

// exitMargin is how long before or after a process was last seen its end may have been noticed.
const exitMargin = int64(2 * time.Minute)

// ending finds the event of the process's end, and whether it ended.
func (hs *historian) ending(h *History) {
	tick := lastProcessTick(hs.a, Window{Hosts: []string{h.Archive.Host.ID}}, hs.w.To)
	h.Ended = tick > h.To
	for e := range hs.a.Events(h.To-exitMargin, h.To+exitMargin, metric.EventProcessExit) {
		if e.Key == h.Instance.Key && e.Archive.Host.ID == h.Archive.Host.ID && e.Archive.BootID == h.Archive.BootID {
			c := *e
			h.Exit, h.Ended = &c, true
		}
	}
}

// ancestors follows the parents that were there when the process was first seen.
func (hs *historian) ancestors(h *History) {
	every := int64(metric.Process.Interval())
	if iv := interval(h.Archive, metric.Process); iv > 0 {
		every = iv
	}
	then := Window{Hosts: []string{h.Archive.Host.ID}, From: h.From - 2*every, To: h.From + every}
	// there returns the last of the processes seen then that meant accepts.
	there := func(meant func(*metric.Instance) bool, keys ...string) (in *metric.Instance) {
		for l := range hs.a.Lives("process", then.From, then.To, keys...) {
			if then.Wants(l.Archive.Host.ID) && meant(l.Instance) {
				in = l.Instance
			}
		}
		return in
	}
	byKey := func(key string) *metric.Instance {
		if key == "" {
			return nil
		}
		return there(func(in *metric.Instance) bool { return in.Key == key }, key)
	}
	in := h.Instance
	parent := byKey(in.Label("parent"))
	if parent == nil && in.Label("parent") == "" && h.PPID > 0 {
		pid := &Matcher{pids: map[int]bool{h.PPID: true}}
		is := func(in *metric.Instance) bool { return ProcessID(in) == h.PPID }
		if keys, few := keysOf(hs.a, "process", then, pid.sought(false), is); !few || len(keys) > 0 {
			parent = there(is, keys...)
		}
	}
	for depth := 0; parent != nil && parent != in && depth < 64; depth++ {
		h.Ancestors = append(h.Ancestors, fmt.Sprintf("%s (%d)", ProcessName(parent), ProcessID(parent)))
		parent = byKey(parent.Label("parent"))
	}
}

// HistoryOf returns the history of one process within a window, in steps, with all its fields.
func HistoryOf(a Archive, w Window, l *store.Life, step int64) (*History, error) {
	list, err := historiesOf(a, w, []*store.Life{l}, step, nil, true)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}
