package pcpimport

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tachograph/cmd/internal/pcp/pcparchive"
	"tachograph/cmd/replay/internal/format/pcpexport"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// instances holds the instances of one of our domains, by key.
type instances struct {
	byKey map[string]*metric.Instance
	byID  map[uint32]*metric.Instance // the numbers that an export of ours gave them
	next  uint64
	count *int // the number of instances of all domains
}

// A roster maps the numbers of a PCP instance domain to instances.
type roster struct {
	changed int
	names   map[uint32]string
	who     map[uint32]*metric.Instance
}

// A gathering collects the sets of one group, to make a block of them.
type gathering struct {
	group   string
	indom   string
	sets    []*pcparchive.ReadSet
	metrics []*metric.Desc
	of      []int             // the index of each metric's set
	starts  map[uint32]uint64 // start times of processes; nil until first needed
}

// The most that an import holds: mostCells values of one record, mostInstances instances of all
// domains (without those that have gone), and mostGroups bytes of metric names in all the
// different selections of metrics that were read together. A machine with 50,000 processes and
// 70 metrics of each stays below all of them.
//
// An absent value takes no bytes in a PCP archive, but takes time and memory here. So an archive
// may have only mostAbsent absent values for each present one.
const (
	mostCells     = 1 << 22
	mostAbsent    = 64
	mostInstances = 1 << 19
	mostGroups    = 64 << 20
)

// tooMuch returns the error for an archive that takes more memory than any logger's does.
func (m *importer) tooMuch(format string, args ...any) error {
	return fmt.Errorf("%s holds %s: import a part of it at a time (pmlogextract)", m.survey.bases[0], fmt.Sprintf(format, args...))
}

// blocks makes blocks of sets: one for each group and instance domain.
func (m *importer) blocks(at metric.Stamp, sets []*pcparchive.ReadSet) ([]*metric.Block, error) {
	var list []*gathering
	of := make(map[[2]string]*gathering)
	for _, set := range sets {
		for _, d := range m.descs(set.Desc) {
			g := of[[2]string{d.group, d.Indom}]
			if g == nil {
				g = &gathering{group: d.group, indom: d.Indom}
				of[[2]string{d.group, d.Indom}] = g
				list = append(list, g)
			}
			if k := len(g.sets); k == 0 || g.sets[k-1] != set {
				g.sets = append(g.sets, set)
			}
			g.metrics, g.of = append(g.metrics, d.Desc), append(g.of, len(g.sets)-1)
		}
	}
	var blocks []*metric.Block
	m.cells = 0
	for _, g := range list {
		b, err := m.block(g, at)
		if err != nil {
			return nil, err
		}
		if b != nil {
			blocks = append(blocks, b)
		}
	}
	return blocks, nil
}

// groupOf returns the group of these metrics, the same pointer for the same metrics.
func (m *importer) groupOf(g *gathering) (*metric.Group, error) {
	var b strings.Builder
	b.WriteString(g.group + "\x00" + g.indom)
	for _, d := range g.metrics {
		b.WriteString("\x00" + d.Name)
	}
	key := b.String()
	if had := m.groups[key]; had != nil && slices.Equal(had.Metrics, g.metrics) {
		return had, nil
	}
	if m.grouped += len(key) + 8*len(g.metrics); m.grouped > mostGroups {
		return nil, m.tooMuch("%d different selections of metrics, whose names come to more than %d MB", len(m.groups), mostGroups>>20)
	}
	name := g.group
	if name == "" {
		name = "pcp " + strconv.Itoa(len(m.groups))
	}
	made := &metric.Group{Name: name, Indom: g.indom, Metrics: slices.Clone(g.metrics)}
	m.groups[key] = made
	return made, nil
}

func (m *importer) block(g *gathering, at metric.Stamp) (*metric.Block, error) {
	group, err := m.groupOf(g)
	if err != nil {
		return nil, err
	}
	b := &metric.Block{Group: group, At: at, Cols: make([]metric.Column, len(g.metrics))}
	if g.indom == metric.NoIndom {
		b.Rows = []*metric.Instance{nil}
		for i, d := range g.metrics {
			b.Cols[i] = m.column(g.sets[g.of[i]], d.Type, nil)
		}
		return b, nil
	}
	// A block has the instances of all its sets, which mostly are the same.
	ids := g.sets[0].Instances
	for _, s := range g.sets[1:] {
		if !slices.Equal(ids, s.Instances) {
			ids = union(g.sets)
			break
		}
	}
	for _, s := range g.sets {
		if more := m.bare[s.Desc.Names[0]]; len(more) > 0 {
			ids = append(slices.Clone(ids), more...)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	cells := len(ids) * len(g.metrics)
	if m.cells += cells; m.cells > mostCells {
		return nil, m.tooMuch("a record in which %d metrics have %d instances: more than %d values at a time", len(g.metrics), len(ids), mostCells)
	}
	m.spare -= cells
	for _, s := range g.sets {
		m.spare += mostAbsent * len(s.Instances)
	}
	if m.spare < -mostCells {
		return nil, m.tooMuch("more than %d absent values for each that is there", mostAbsent)
	}
	b.Rows = make([]*metric.Instance, len(ids))
	seen := make(map[*metric.Instance]bool, len(ids))
	for i, id := range ids {
		in := m.who(g, id, at.Wall)
		if seen[in] { // two numbers with one key: the writer did not distinguish them
			in = m.apart(g.indom, in, id)
		}
		seen[in] = true
		b.Rows[i] = in
	}
	if m.instances > mostInstances {
		return nil, m.tooMuch("more than %d instances", mostInstances)
	}
	for i, d := range g.metrics {
		b.Cols[i] = m.column(g.sets[g.of[i]], d.Type, ids)
	}
	return b, nil
}

// union returns the instances of all sets, each once.
func union(sets []*pcparchive.ReadSet) []uint32 {
	var ids []uint32
	seen := make(map[uint32]bool)
	for _, s := range sets {
		for _, id := range s.Instances {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// column returns the values of a set for the instances ids; nil ids mean a metric without
// instances. The other values are absent, for the reason that an export of ours gives or the set
// has.
func (m *importer) column(s *pcparchive.ReadSet, t metric.Type, ids []uint32) metric.Column {
	c := metric.Column{Words: s.Values.Words}
	if t == metric.String && c.Words == nil {
		c.Words = []string{}
	}
	if ids == nil && len(s.Instances) > 0 {
		c.Bits = s.Values.Bits[:1]
		return c
	}
	if slices.Equal(ids, s.Instances) && ids != nil {
		c.Bits = s.Values.Bits
		return c
	}
	if ids == nil {
		ids = pcparchive.Singular()
	}
	c.Bits, c.Miss = make([]uint64, len(ids)), make([]metric.Reason, len(ids))
	why := m.reasons[s.Desc.Names[0]]
	for i, id := range ids {
		if c.Miss[i] = why[id]; c.Miss[i] == metric.Present {
			c.Miss[i] = pcp.ReasonOf(s.Err)
		}
	}
	at := make(map[uint32]int, len(ids))
	for i, id := range ids {
		at[id] = i
	}
	for k, id := range s.Instances {
		if i, ok := at[id]; ok {
			c.Bits[i], c.Miss[i] = s.Values.Bits[k], metric.Present
		}
	}
	return c
}

func (m *importer) instancesOf(indom string) *instances {
	p := m.people[indom]
	if p == nil {
		p = &instances{byKey: make(map[string]*metric.Instance), byID: make(map[uint32]*metric.Instance), count: &m.instances}
		m.people[indom] = p
	}
	return p
}

// meet adds the keys, names and labels of instances that an export of ours wrote.
func (m *importer) meet(indom string, set *pcparchive.ReadSet) error {
	p := m.instancesOf(indom)
	for i, id := range set.Instances {
		told, err := pcpexport.InstanceFrom(set.Values.Word(i))
		if err != nil {
			return err
		}
		in := p.byKey[told.Key]
		if in == nil {
			in = p.add(told.Key)
		}
		in.Name, in.Labels = told.Name, told.Labels
		in.Rev++
		p.byID[id] = in
	}
	if m.instances > mostInstances {
		return m.tooMuch("more than %d instances", mostInstances)
	}
	return nil
}

func (p *instances) add(key string) *metric.Instance {
	p.next++
	*p.count++
	in := &metric.Instance{ID: p.next, Key: key}
	p.byKey[key] = in
	return in
}

// who returns the instance that has the number id at the time when.
func (m *importer) who(g *gathering, id uint32, when int64) *metric.Instance {
	p := m.instancesOf(g.indom)
	if m.survey.ours {
		if in := p.byID[id]; in != nil {
			return in
		}
	}
	indom := g.sets[0].Desc.InDom
	r := m.rosters[indom]
	if r == nil {
		r = &roster{changed: -1, names: make(map[uint32]string), who: make(map[uint32]*metric.Instance)}
		m.rosters[indom] = r
	}
	now := m.r.InDoms[indom]
	if now != nil && r.changed != now.Changed {
		r.changed = now.Changed
		m.follow(p, r, now)
	}
	if in := r.who[id]; in != nil {
		return in
	}
	name := "#" + strconv.FormatUint(uint64(id), 10)
	if now != nil {
		if told, ok := now.Names[id]; ok {
			name = told
		}
	}
	in := m.instance(g, p, id, name, when)
	r.who[id], r.names[id] = in, name
	return in
}

// follow updates a roster that has changed. An instance that has gone is forgotten, because its
// number may be given again. An instance with a new name is renamed if it is a process.
func (m *importer) follow(p *instances, r *roster, now *pcparchive.InDom) {
	for id, in := range r.who {
		name, there := now.Names[id]
		switch {
		case !there:
			delete(r.who, id)
			delete(r.names, id)
			if p.byKey[in.Key] == in && in.Label("pid") != "" {
				delete(p.byKey, in.Key)
				*p.count--
			}
		case name != r.names[id] && in.Label("pid") != "":
			in.Name, r.names[id] = name, name
			in.Rev++
		case name != r.names[id]:
			delete(r.who, id)
		}
	}
}

// instance returns the instance with this name, adding it if it is new. A process is identified
// by its number and the time when it was started or first seen, because other processes will
// have its number later.
func (m *importer) instance(g *gathering, p *instances, id uint32, name string, when int64) *metric.Instance {
	key := name
	var labels []metric.Label
	if g.indom == "process" {
		key = strconv.FormatUint(uint64(id), 10) + "/" + m.started(g, id, when)
		labels = []metric.Label{{Name: "pid", Value: strconv.FormatUint(uint64(id), 10)}}
	}
	in := p.byKey[key]
	if in == nil {
		in = p.add(key)
	}
	for _, json := range m.labelsOf(g.sets[0].Desc.InDom)[id] {
		told, _ := pcp.ParseLabels(json)
		for _, l := range told {
			if !slices.ContainsFunc(labels, func(o metric.Label) bool { return o.Name == l.Name }) {
				labels = append(labels, l)
			}
		}
	}
	if in.Name != name || !slices.Equal(in.Labels, labels) {
		in.Name, in.Labels = name, labels
		in.Rev++
	}
	return in
}

// A labelling holds the labels of a domain's instances, by instance.
type labelling struct {
	sets []pcparchive.LabelSet // the label sets that by was made from
	by   map[uint32][]string
}

// labelsOf returns the labels of a domain's instances at the time of the record.
func (m *importer) labelsOf(indom uint32) map[uint32][]string {
	sets := m.r.Labels[pcparchive.LabelKey{Kind: pcp.LabelInstances, Ident: indom}]
	if len(sets) == 0 {
		return nil
	}
	if had := m.labellings[indom]; len(had.sets) == len(sets) && &had.sets[0] == &sets[0] {
		return had.by
	}
	made := labelling{sets, make(map[uint32][]string, len(sets))}
	for _, s := range sets {
		made.by[s.Instance] = append(made.by[s.Instance], s.JSON)
	}
	m.labellings[indom] = made
	return made.by
}

// started returns the start time of a process if the same record has it, else when the process
// was first seen.
func (m *importer) started(g *gathering, id uint32, when int64) string {
	if g.starts == nil {
		g.starts = make(map[uint32]uint64)
		for _, s := range g.sets {
			if !slices.Contains(s.Desc.Names, "proc.psinfo.start_time") || s.Desc.Type == pcp.String {
				continue
			}
			for i, id := range s.Instances {
				if _, told := g.starts[id]; !told {
					g.starts[id] = s.Values.Bits[i]
				}
			}
		}
	}
	if at, told := g.starts[id]; told {
		return strconv.FormatUint(at, 10)
	}
	return "seen " + strconv.FormatInt(when, 10)
}

// apart returns a separate instance for a second number with the same key.
func (m *importer) apart(indom string, in *metric.Instance, id uint32) *metric.Instance {
	p := m.instancesOf(indom)
	key := in.Key + " #" + strconv.FormatUint(uint64(id), 10)
	other := p.byKey[key]
	if other == nil {
		other = p.add(key)
		other.Name, other.Labels = in.Name, in.Labels
	}
	return other
}
