package pcpimport

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"tachograph/cmd/internal/pcp/pcparchive"
	"tachograph/cmd/replay/internal/format/pcpexport"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/store/rewrite"
)

// Options say how to import.
type Options struct {
	// Create begins an archive of a boot. Boots come in the order of time.
	Create func(rewrite.About) (Writer, error)
	// Recorder is the program that made the archives, if they do not name one.
	Recorder string
	// Progress, if not nil, is called with how many records of how many have been read.
	Progress func(done, total int64)
}

// A Writer writes an archive: see package rewrite.
type Writer interface {
	Append(*metric.Tick) error
	Event(*metric.Event) error
	Finish() error
	Abort()
}

// Report is the result of an import.
type Report struct {
	Host     metric.Host
	From, To int64
	// Values were imported, of Metrics metrics, in Ticks ticks.
	Values, Ticks, Events int64
	Metrics, Known        int
	Boots                 int
	// Notes say what could not be read, Left what has no place in our archives.
	Notes, Left []string
}

// An importer makes ticks from records.
type importer struct {
	ctx      context.Context
	opt      Options
	survey   *survey
	platform catalog.Platform
	classes  *classes
	indoms   map[uint32]string
	report   Report

	r         *pcparchive.Reader
	described map[*pcparchive.Desc][]described
	all       map[metricKey]*metric.Desc
	groups    map[string]*metric.Group
	people    map[string]*instances
	rosters   map[uint32]*roster
	reasons   map[string]map[uint32]metric.Reason // why values of an export are absent
	bare      map[string][]uint32                 // the instances without a value in this record

	w          Writer
	boot       string
	origin     int64
	last       [metric.NumClasses]int64 // continuous clock of the last tick
	wall       int64                    // of the last record
	gap        bool                     // a mark was read
	done       int64
	damaged    int64
	tick       metric.Tick
	disorder   int64
	cells      int // of this record
	spare      int // how many more absent values are allowed
	grouped    int // bytes of all groups
	instances  int
	labellings map[uint32]labelling
}

// Import reads archives of one host and makes archives from them, one for each boot.
func Import(ctx context.Context, opt Options, bases ...string) (*Report, error) {
	if opt.Progress == nil {
		opt.Progress = func(int64, int64) {}
	}
	n := int64(0)
	var cancelled error
	s, err := look(bases, func() error {
		if n++; n%1024 == 0 {
			cancelled = ctx.Err()
		}
		return cancelled
	})
	if err != nil {
		return nil, err
	}
	if s.records == 0 {
		return nil, fmt.Errorf("%s holds no values", strings.Join(s.bases, ", "))
	}
	m := &importer{
		ctx: ctx, opt: opt, survey: s, platform: s.platform(), classes: s.classes(), indoms: make(map[uint32]string),
		all: make(map[metricKey]*metric.Desc), groups: make(map[string]*metric.Group), people: make(map[string]*instances),
		reasons: make(map[string]map[uint32]metric.Reason), bare: make(map[string][]uint32),
	}
	m.report.Notes = s.notes
	m.report.From = s.stretches[0].from
	for _, st := range s.stretches {
		m.report.To = max(m.report.To, st.to)
	}
	if err := m.run(); err != nil {
		if m.w != nil {
			m.w.Abort()
		}
		return nil, err
	}
	m.left()
	return &m.report, nil
}

// left notes what has no place in our archives.
func (m *importer) left() {
	var names []string
	for name := range m.survey.skipped {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		m.report.Left = append(m.report.Left, fmt.Sprintf("%s holds values of the type %s, which is neither a number nor a string: it is left out", name, m.survey.skipped[name]))
	}
	if m.damaged > 0 {
		m.report.Notes = append(m.report.Notes, fmt.Sprintf("%d sets of values are damaged or of metrics that are not described, and are left out", m.damaged))
	}
	if m.disorder > 0 {
		m.report.Notes = append(m.report.Notes, fmt.Sprintf("%d records are at or before the time of the one before, and are left out", m.disorder))
	}
}

func (m *importer) run() error {
	for i, base := range m.survey.bases {
		r, err := open(base)
		if err != nil {
			return err
		}
		m.r, m.gap = r, i > 0
		m.labellings = make(map[uint32]labelling)
		m.described, m.rosters = make(map[*pcparchive.Desc][]described), make(map[uint32]*roster)
		if !m.survey.ours {
			m.nameIndoms(r)
		}
		err = m.records()
		r.Close()
		if err != nil {
			return err
		}
	}
	return m.w.Finish()
}

func (m *importer) records() error {
	for {
		rec, err := m.r.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = m.ctx.Err()
		}
		if err != nil {
			return err
		}
		if len(rec.Sets) == 0 {
			m.gap = true
			continue
		}
		if m.done++; m.done%256 == 0 {
			m.opt.Progress(m.done, m.survey.records)
		}
		m.damaged += int64(rec.Damaged)
		if err := m.enter(rec.Time); err != nil {
			return err
		}
		if m.survey.ours {
			err = m.ourRecord(rec)
		} else {
			err = m.record(rec)
		}
		if err != nil {
			return err
		}
		m.wall = rec.Time
	}
}

// enter makes sure that the archive for the boot at that time is open. Between two stretches of
// one boot it adds a gap.
func (m *importer) enter(when int64) error {
	about := pcparchive.LabelKey{Kind: pcp.LabelContext, Ident: pcp.Null}
	labels := m.r.Labels[about]
	if labels == nil {
		labels = m.r.Said[about] // pmlogger's first record is older than its first labels
	}
	host, boot, zone, recorder, every := m.survey.host(labelled(labels))
	origin := int64(0)
	if !m.survey.ours {
		st := m.survey.at(when)
		boot, origin, every = st.id, st.origin, m.every()
	}
	if m.w != nil && boot == m.boot {
		if m.gap && !m.survey.ours && when > m.wall {
			m.gap = false
			e := metric.Ended(m.stamp(when), metric.EventGap, metric.Stamp{Wall: m.wall}.Time(), metric.Stamp{Wall: when}.Time().Sub(metric.Stamp{Wall: m.wall}.Time()), "nothing was recorded by PCP")
			m.report.Events++
			return m.w.Event(&e)
		}
		return nil
	}
	if m.w != nil {
		if err := m.w.Finish(); err != nil {
			return err
		}
	}
	if recorder == "" {
		recorder = m.opt.Recorder
	}
	w, err := m.opt.Create(rewrite.About{Host: host, Boot: boot, TimeZone: zone, Recorder: recorder, Intervals: every, Catalog: m.computed()})
	if err != nil {
		return err
	}
	m.w, m.boot, m.origin, m.gap, m.last = w, boot, origin, false, [metric.NumClasses]int64{}
	m.report.Host = host
	m.report.Boots++
	for name, p := range m.people {
		if metric.PerBoot(name) {
			m.instances -= len(p.byKey)
			delete(m.people, name)
			clear(m.rosters)
		}
	}
	return nil
}

// every returns how often the classes of a foreign archive were read.
func (m *importer) every() metric.Intervals {
	for _, d := range m.r.Descs {
		m.descs(d)
	}
	return m.classes.every
}

// stamp returns a time on the clocks of its boot. Whether the machine slept is not known.
func (m *importer) stamp(when int64) metric.Stamp {
	return metric.Stamp{Wall: when, Awake: when - m.origin, Cont: when - m.origin}
}

// metricKey identifies a description across archives.
type metricKey struct {
	metric.Desc
	group string
}

func (m *importer) descs(d *pcparchive.Desc) []described {
	list, known := m.described[d]
	if known {
		return list
	}
	list = m.describe(m.r, d)
	for i, own := range list {
		key := metricKey{*own.Desc, own.group}
		if had := m.all[key]; had != nil {
			list[i].Desc = had
			continue
		}
		m.all[key] = own.Desc
		m.report.Metrics++
		if catalog.Find(m.platform, own.Name) != nil {
			m.report.Known++
		}
	}
	m.described[d] = list
	return list
}

// record makes ticks from a record of PCP: one for each class that has values in it.
func (m *importer) record(rec *pcparchive.Record) error {
	at := m.stamp(rec.Time)
	var classes [metric.NumClasses][]*pcparchive.ReadSet
	for i := range rec.Sets {
		set := &rec.Sets[i]
		if set.Desc == nil {
			continue
		}
		if list := m.descs(set.Desc); len(list) > 0 {
			classes[list[0].Class] = append(classes[list[0].Class], set)
		}
	}
	for c, sets := range classes {
		if len(sets) == 0 {
			continue
		}
		if err := m.append(metric.Class(c), at, sets); err != nil {
			return err
		}
	}
	return nil
}

// ourRecord makes a tick or an event from a record of an export.
func (m *importer) ourRecord(rec *pcparchive.Record) error {
	class, at := metric.Fast, metric.Stamp{Wall: rec.Time}
	var event [3]string
	var sets []*pcparchive.ReadSet
	isEvent := false
	clear(m.bare)
	for i := range rec.Sets {
		set := &rec.Sets[i]
		if set.Desc == nil {
			continue
		}
		name := set.Desc.Names[0]
		// A metric below tachograph with a number made from its name was recorded: PCP's own
		// agents have another metric of that name.
		if !strings.HasPrefix(name, "tachograph.") || set.Desc.PMID>>22 == pcp.Foreign {
			sets = append(sets, set)
			continue
		}
		if len(set.Values.Bits) == 0 {
			continue
		}
		switch name {
		case pcpexport.TickClass:
			class, _ = metric.ParseClass(set.Values.Word(0))
		case pcpexport.TickAwake:
			at.Awake = int64(set.Values.Bits[0])
		case pcpexport.TickCont:
			at.Cont = int64(set.Values.Bits[0])
		case pcpexport.TickAbsent:
			if err := m.absences(set.Values.Word(0)); err != nil {
				return err
			}
		case pcpexport.EventKind:
			isEvent, event[0] = true, set.Values.Word(0)
		case pcpexport.EventText:
			event[1] = set.Values.Word(0)
		case pcpexport.EventAbout:
			event[2] = set.Values.Word(0)
		default:
			if strings.HasPrefix(name, pcpexport.AboutPrefix) {
				if err := m.meet(strings.TrimPrefix(name, pcpexport.AboutPrefix), set); err != nil {
					return err
				}
			}
		}
	}
	if isEvent {
		e, err := pcpexport.EventFrom(event[0], event[1], event[2])
		if err != nil {
			return err
		}
		if e.At.Wall == 0 {
			e.At.Wall = rec.Time
		}
		m.report.Events++
		return m.w.Event(&e)
	}
	return m.append(class, at, sets)
}

// absences stores the reasons for absent values from here on.
func (m *importer) absences(s string) error {
	return pcpexport.Absences(s,
		func(name string) { m.reasons[name] = make(map[uint32]metric.Reason) },
		func(name string, id uint32, why metric.Reason) { m.reasons[name][id] = why },
		func(name string, ids []uint32) { m.bare[name] = ids })
}

// append makes a tick from sets.
func (m *importer) append(class metric.Class, at metric.Stamp, sets []*pcparchive.ReadSet) error {
	if at.Cont <= m.last[class] {
		m.disorder++
		return nil
	}
	blocks, err := m.blocks(at, sets)
	if err != nil || len(blocks) == 0 {
		return err
	}
	m.tick = metric.Tick{Class: class, At: at, Blocks: blocks}
	m.last[class] = at.Cont
	m.report.Ticks++
	m.report.Values += int64(m.tick.Values())
	return m.w.Append(&m.tick)
}
