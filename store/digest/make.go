package digest

import (
	"cmp"
	"errors"
	"hash/fnv"
	"maps"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

const (
	// heaviest is how many of the instances that used most of something are members although
	// they began and ended within the digest: as many as a ranking shows. Otherwise everything
	// that comes back every hour, such as a build, would require decoding all chunks to see
	// whether one more of its kind belongs in the ranking.
	heaviest = 20
	// edge is how many blocks at the end of a chunk make an instance one that may go on in the
	// next chunk.
	edge = 2
)

// Span is how many chunks a short digest covers. A long one covers all the chunks of an archive
// that belong together. A digest of more chunks is hardly larger, but a window that begins or
// ends within it needs the shorter ones. Fewer than Least chunks are not worth a digest.
const (
	Span  = 6
	Least = 3
)

// A Record is an encoded digest of some chunks: the number of the first one, and how many.
type Record struct {
	First, Chunks int
	Data          []byte
}

// A Writer makes digests of an archive's chunks of one class.
type Writer struct {
	desc   func(uint32) *metric.Desc
	n      int
	series []*sequence
	err    error
}

// NewWriter returns a Writer of a short digest of each Span chunks if short is set, and of a long
// one of all chunks if long is set; where chunks do not belong together, of more digests. desc
// describes the chunks' metrics.
func NewWriter(desc func(uint32) *metric.Desc, short, long bool) *Writer {
	w := &Writer{desc: desc}
	if short {
		w.series = append(w.series, &sequence{desc: desc, most: Span})
	}
	if long {
		w.series = append(w.series, &sequence{desc: desc, least: Span + 1, most: maxChunks})
	}
	return w
}

// Add takes the next chunk in the order of time.
func (w *Writer) Add(chunk []byte) {
	p := piece{desc: w.desc} // Nothing of it is kept: the next chunk may be long in coming.
	if w.err == nil {
		w.err = p.read(chunk)
	}
	for _, s := range w.series {
		if w.err == nil {
			w.err = s.add(w.n, &p)
		}
	}
	w.n++
}

// Records returns the digests of the chunks that were added, or none if one of them was
// unreadable.
func (w *Writer) Records() (out []Record) {
	for _, s := range w.series {
		if w.err == nil {
			w.err = s.end(w.n)
		}
		out = append(out, s.out...)
	}
	if w.err != nil {
		return nil
	}
	return out
}

// A sequence makes digests of at most so many chunks, one after the other.
type sequence struct {
	desc        func(uint32) *metric.Desc
	least, most int
	m           *maker
	first       int
	out         []Record
}

// add takes chunk number n.
func (s *sequence) add(n int, p *piece) error {
	if s.m != nil {
		if n%s.most != 0 && s.m.add(p) {
			return nil
		}
		if err := s.end(n); err != nil {
			return err
		}
	}
	if m := newMaker(s.desc); m.add(p) {
		s.m, s.first = m, n
	}
	return nil
}

// end encodes the digest of the chunks before n.
func (s *sequence) end(n int) error {
	m := s.m
	s.m = nil
	if m == nil || n-s.first < max(s.least, Least) {
		return nil
	}
	data, err := m.digest().marshal()
	if err == nil {
		s.out = append(s.out, Record{s.first, n - s.first, data})
	} else if !errors.Is(err, errMany) {
		return err
	}
	return nil
}

// A maker makes the digest of chunks, which it gets in the order of time.
type maker struct {
	desc    func(uint32) *metric.Desc
	d       *Digest
	descs   []*metric.Desc
	carried map[string]*life
	gone    map[uint64]struct{} // hashes of the keys of instances that ended
	members []*life
	heavy   [][]*life // by column, the heaviest first
	crowds  map[crowdKey]*gathering
	level   []int // columns of levels, the preferred ones first
	// told, if set, are the keys of the members. There are no other members, except for
	// instances that cannot be in a crowd.
	told map[string]bool
}

type crowdKey struct {
	title, whose string
	level        int
}

// whose returns the user and the owners of an instance, to compare: a crowd has the same ones.
func whose(in *metric.Instance) string {
	if len(in.Labels) == 0 {
		return ""
	}
	s := in.UserID()
	for _, kind := range metric.OwnerKinds {
		if name := in.Label(kind); name != "" {
			s += "\x00" + kind + "=" + name
		}
	}
	return s
}

// A gathering is a crowd that may still grow.
type gathering struct {
	Crowd
	only *life // its only instance; nil once it has more
}

// A life is an instance that may still go on.
type life struct {
	Member
	began   int64
	inside  bool // it began within the digest
	listed  int  // how many of the heavy lists have it
	touched int  // the last chunk that it was in
}

func newMaker(desc func(uint32) *metric.Desc) *maker {
	return &maker{desc: desc, carried: make(map[string]*life), gone: make(map[uint64]struct{}), crowds: make(map[crowdKey]*gathering)}
}

// add takes one more chunk. It returns false if the chunk cannot be part of the digest. If it
// returns false for the first chunk, that chunk has no digest.
func (m *maker) add(p *piece) bool {
	if p.g == nil {
		return false
	}
	if m.d == nil {
		if !m.begin(p) {
			return false
		}
	} else {
		if !m.continues(p) {
			return false
		}
		for i := range p.insts {
			in := &p.insts[i]
			if in.Runs[0].Start == 0 && m.carried[in.Key] != nil {
				continue
			}
			if _, ended := m.gone[hash(in.Key)]; ended && m.carried[in.Key] == nil {
				return false // It was away and is back.
			}
		}
	}
	m.d.Sums = append(m.d.Sums, p.sum)
	m.d.To = p.stamps[len(p.stamps)-1]
	m.fold(p)
	return true
}

func hash(key string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(key))
	return h.Sum64()
}

// continues reports whether a group goes on where the previous chunk ended.
func (m *maker) continues(p *piece) bool {
	d, stamps := m.d, p.stamps
	if p.g.Indom != d.Indom || !slices.EqualFunc(p.columns, d.Columns, func(a, b Column) bool { return a.Number == b.Number }) {
		return false
	}
	pauses := make([]int64, len(stamps)-1)
	for k := range pauses {
		pauses[k] = stamps[k+1].Cont - stamps[k].Cont
	}
	slices.Sort(pauses)
	pause := max(stamps[0].Cont-d.To.Cont, stamps[0].Wall-d.To.Wall)
	return len(pauses) > 0 && stamps[0].Wall > d.To.Wall && pause/2 <= pauses[len(pauses)/2]
}

func (m *maker) begin(p *piece) bool {
	columns := slices.Clone(p.columns)
	m.d = &Digest{From: p.stamps[0], Indom: p.g.Indom, Columns: columns, Gap: math.MaxInt64}
	m.heavy = make([][]*life, len(columns))
	for i := range columns {
		m.descs = append(m.descs, m.desc(columns[i].Number))
		if columns[i].Tally == metric.TallyLevel {
			m.level = append(m.level, i)
		}
	}
	slices.SortFunc(m.level, func(a, b int) int { return cmp.Compare(m.descs[a].Name, m.descs[b].Name) })
	for i := range columns {
		peaky := columns[i].Tally == metric.TallyPeak || columns[i].Tally == metric.TallyLevel
		if peaky && len(m.level) > 0 && m.descs[i].Units != m.descs[m.level[0]].Units {
			return false
		}
	}
	return true
}

// fold adds what was read to the lives.
func (m *maker) fold(p *piece) {
	insts, stamps := p.insts, p.stamps
	// Where one sweep does not read all instances, an instance that is present is seen again
	// only after some blocks.
	away := uint32(0)
	for i := range insts {
		runs := insts[i].Runs
		for k := 1; k < len(runs); k++ {
			away = max(away, runs[k].Start-runs[k-1].End)
		}
	}
	n := len(m.d.Columns)
	number := len(m.d.Sums)
	for i := range insts {
		in := &insts[i]
		cells := p.cells[i*n : (i+1)*n]
		l := m.carried[in.Key]
		if l == nil {
			l = m.newLife(in, stamps, away)
			l.Cells = cells
		} else {
			l.belong(in)
			for k := range cells {
				l.Cells[k].join(m.descs[k], &cells[k])
			}
		}
		l.touched = number
		if last := in.Runs[len(in.Runs)-1].End; last+max(edge, away+1) > uint32(len(stamps)) {
			if m.carried[in.Key] == nil {
				l.Cells = slices.Clone(cells)
				m.carried[in.Key] = l
			}
			continue
		}
		m.end(l)
	}
	for _, key := range slices.Sorted(maps.Keys(m.carried)) {
		if l := m.carried[key]; l.touched != number {
			m.end(l)
		}
	}
}

// newLife begins the life of an instance that was not in the chunk before.
func (m *maker) newLife(in *chunk.Instance, stamps []metric.Stamp, away uint32) *life {
	l := &life{}
	l.Key = in.Key
	if k := len(in.Names); k > 0 {
		l.Name, l.Labels = in.Names[k-1].Name, in.Names[k-1].Labels
	}
	first := in.Runs[0].Start
	if l.began = l.Began(); l.began != 0 {
		l.inside = l.began >= m.d.From.Wall
	} else {
		l.inside = len(m.d.Sums) > 1 || first > away
	}
	if at := stamps[first].Wall; at <= m.d.From.Wall {
		l.inside = false
	}
	return l
}

// belong notes the owners that an instance has in the next chunk. A process is moved to its own
// control group soon after it was forked, and what it used counts for the owner that it got.
func (l *life) belong(in *chunk.Instance) {
	k := len(in.Names)
	if k == 0 || slices.Equal(in.Names[k-1].Labels, l.Labels) {
		return
	}
	next := metric.Instance{Labels: in.Names[k-1].Labels}
	owners := next.Owners()
	if slices.Equal(owners, l.Owners()) {
		return
	}
	l.Labels = slices.DeleteFunc(slices.Clone(l.Labels), func(label metric.Label) bool { return slices.Contains(metric.OwnerKinds, label.Name) })
	l.Labels = append(l.Labels, owners...)
}

// join adds the summary of a metric in the next chunk.
func (c *Cell) join(d *metric.Desc, next *Cell) {
	switch {
	case !next.Present:
		return
	case !c.Present:
		*c = *next
		return
	}
	seconds := float64(next.First.Cont-c.Last.Cont) / 1e9
	if d.Sem == metric.Counter {
		gain, _ := metric.Increase(d, c.LastBits, next.FirstBits, seconds)
		c.Increase += gain + next.Increase
	}
	c.Weighted += float64(metric.Number(d.Type, next.FirstBits)*seconds) + next.Weighted
	c.Last, c.LastBits = next.Last, next.LastBits
	if chunk.Less(d.Type, c.Max, next.Max) {
		c.Max = next.Max
	}
}

// end removes a life that ended, and makes it a member or adds it to a crowd.
func (m *maker) end(l *life) {
	delete(m.carried, l.Key)
	m.gone[hash(l.Key)] = struct{}{}
	if m.told[l.Key] || !l.inside || !m.ordinary(l) {
		m.member(l)
		return
	}
	if m.told != nil {
		m.crowd(l)
		return
	}
	kept := false
	for k := range m.heavy {
		x := m.amount(l, k)
		list := m.heavy[k]
		if x == 0 || len(list) == heaviest && x <= m.amount(list[heaviest-1], k) {
			continue
		}
		if !kept {
			l.Cells = slices.Clone(l.Cells)
			kept = true
		}
		at, _ := slices.BinarySearchFunc(list, x, func(o *life, x uint64) int {
			if m.amount(o, k) >= x {
				return -1
			}
			return 1
		})
		l.listed++
		list = slices.Insert(list, at, l)
		if len(list) > heaviest {
			out := list[heaviest]
			list = list[:heaviest]
			if out.listed--; out.listed == 0 {
				m.crowd(out)
			}
		}
		m.heavy[k] = list
	}
	if !kept {
		m.crowd(l)
	}
}

// member makes a life a member.
func (m *maker) member(l *life) {
	l.Cells = slices.Clone(l.Cells)
	m.members = append(m.members, l)
}

// mostAmount bounds the values that are added up.
const mostAmount = 1 << 48

// ordinary reports whether the values of a life can be added to others'.
func (m *maker) ordinary(l *life) bool {
	any := false
	for k := range l.Cells {
		c := &l.Cells[k]
		any = any || c.Present
		if c.Present && (c.FirstBits > mostAmount || c.LastBits > mostAmount || c.Max > mostAmount || c.Increase > mostAmount || c.Increase != math.Trunc(c.Increase) || float64(c.FirstBits)+c.Increase < 0) {
			return false
		}
	}
	return any
}

// amount returns what a life that began within the digest gained, or had.
func (m *maker) amount(l *life, k int) uint64 {
	c := &l.Cells[k]
	switch m.d.Columns[k].Tally {
	case metric.TallyGain:
		if c.Present {
			return uint64(int64(c.FirstBits) + int64(c.Increase))
		}
	case metric.TallyLevel, metric.TallyPeak:
		return c.Max
	}
	return 0
}

// crowd adds a life to its crowd.
func (m *maker) crowd(l *life) {
	key := crowdKey{l.Title(), whose(&l.Instance), -1}
	for _, k := range m.level {
		if l.Cells[k].Present {
			key.level = k
			break
		}
	}
	g := m.crowds[key]
	if g == nil {
		c := *l
		c.Cells = slices.Clone(l.Cells)
		g = &gathering{only: &c}
		g.Columns = make([]CrowdColumn, len(m.d.Columns))
		g.Instance, g.From, g.Level = c.Instance, math.MaxInt64, key.level
		m.crowds[key] = g
	} else {
		g.only = nil
	}
	g.add(m, l)
}

func (g *gathering) add(m *maker, l *life) {
	from := int64(math.MaxInt64)
	g.Count++
	for k := range l.Cells {
		c := &l.Cells[k]
		if !c.Present {
			continue
		}
		from = min(from, c.First.Wall)
		m.d.Columns[k].Bound = max(m.d.Columns[k].Bound, m.amount(l, k))
		g.To = max(g.To, c.Last.Wall)
		if m.d.Columns[k].Tally == metric.TallyGain {
			g.Columns[k].Count++
			g.Columns[k].Gain += m.amount(l, k)
		}
	}
	if from < g.From || from == g.From && l.Key < g.Key {
		g.Instance = l.Instance
	}
	g.From = min(g.From, from)
	if l.began == 0 {
		m.d.Gap = min(m.d.Gap, from-m.d.From.Wall)
	}
	if g.Level < 0 {
		return
	}
	c := &l.Cells[g.Level]
	g.Levels++
	g.First += c.FirstBits
	g.Weighted += c.Weighted
	g.Max = max(g.Max, c.Max)
	peak := c.Max
	for k := range l.Cells {
		if m.d.Columns[k].Tally == metric.TallyPeak && l.Cells[k].Present {
			peak = max(peak, l.Cells[k].Max)
		}
	}
	g.Peak = max(g.Peak, peak)
	g.PeakSum += peak
}

// digest returns the finished digest, nil if no chunk was taken.
func (m *maker) digest() *Digest {
	d := m.d
	if d == nil {
		return nil
	}
	for _, l := range m.carried {
		m.member(l)
	}
	for _, list := range m.heavy {
		for _, l := range list {
			if l.listed > 0 {
				l.listed = 0
				m.member(l)
			}
		}
	}
	for _, g := range m.crowds {
		if g.only != nil && m.told == nil {
			m.members = append(m.members, g.only)
			continue
		}
		d.Crowds = append(d.Crowds, g.Crowd)
	}
	slices.SortFunc(m.members, func(a, b *life) int { return a.Member.compare(&b.Member) })
	for _, l := range m.members {
		d.Members = append(d.Members, l.Member)
	}
	slices.SortFunc(d.Crowds, Crowd.compare)
	m.d = nil
	return d
}

// compare orders members. Irregular cells refer to a member by its place in this order, because
// a chunk has an order of its own.
func (m *Member) compare(n *Member) int {
	return cmp.Or(cmp.Compare(m.Title(), n.Title()), cmp.Compare(m.Name, n.Name), cmp.Compare(m.Key, n.Key))
}

func (c Crowd) compare(d Crowd) int {
	return cmp.Or(cmp.Compare(c.Title(), d.Title()), cmp.Compare(whose(&c.Instance), whose(&d.Instance)), cmp.Compare(c.Level, d.Level))
}
