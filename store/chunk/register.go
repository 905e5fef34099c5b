package chunk

import (
	"errors"
	"slices"
	"sort"

	"tachograph/store/varint"
)

var (
	errIndex = errors.New("the index of the instances contradicts itself")
	errNames = errors.New("the names contradict themselves")
)

// A register reads the instances of a group of a chunk: first its index, and then the segments
// that a question needs.
type register struct {
	g      *Group
	fr     frames
	kinds  int
	early  int
	echoes []string
	segs   []segmentIndex
	runs   []kindRun // by row
	read   []segmentReader
	names  []byte
	life   *lifetimes
	insts  []Instance // by row, set by all
	limits
	unread  []byte            // the index, as far as it has not been parsed
	led     Guide             // nil if there is none
	byGuide map[int]*Instance // instances that the guide has described, by row

	// Memory for the kinds and spans of segments, allocated for many at a time.
	kindRoom []kindRun
	spanRoom []span
}

// limits bound how much the names of a group may unfold to.
type limits struct {
	texts int // how many more texts there may be
	room  int // how many more bytes of them
}

// textsPerByte bounds how many texts each byte of names may unfold to, and mostTexts how many
// there may be in all. textPerByte bounds how many bytes of text, and mostText how many in all.
const (
	textsPerByte = 1024
	mostTexts    = 1 << 21
	textPerByte  = 1024
	mostText     = 64 << 20
)

func limitsFor(in []byte) limits {
	return limits{texts: min((len(in)+16)*textsPerByte, mostTexts), room: min((len(in)+16)*textPerByte, mostText)}
}

// openRegister reads the index of g.
func (g *Group) openRegister() (*register, error) {
	b, err := g.read(g.indexAt, "index")
	if err != nil {
		return nil, err
	}
	r := &register{g: g}
	if err := r.begin(b); err != nil {
		return nil, g.wrong("index", err)
	}
	if g.lead == nil {
		if err := r.open(); err != nil {
			return nil, err
		}
	}
	if b, err = g.read(g.livesAt, "lifetimes"); err != nil {
		return nil, err
	}
	if r.life, err = openLives(b, g.Size, r.early, g.Blocks, g.limit()); err != nil {
		return nil, g.wrong("lifetimes", err)
	}
	return r, nil
}

// begin reads how many instances were there at the first block.
func (r *register) begin(in []byte) error {
	n := r.g.Size
	if len(in) == 0 {
		// One instance, or none, without key and name.
		if r.early = n; n > 1 {
			return errIndex
		}
		r.read = make([]segmentReader, n)
		r.segs = make([]segmentIndex, n)
		return nil
	}
	b := varint.Reader{In: in}
	r.early = b.Count(n)
	if b.Bad || n == 0 {
		return errIndex
	}
	r.unread = b.In
	return nil
}

// open reads the rest of the index, once. A question that a Guide answers does not need it.
func (r *register) open() error {
	in := r.unread
	if in == nil {
		return nil
	}
	if err := r.parse(in); err != nil {
		return r.g.wrong("index", err)
	}
	r.unread = nil
	return nil
}

func (r *register) parse(in []byte) error {
	n := r.g.Size
	b := varint.Reader{In: in}
	r.kinds = b.Count(maxTexts)
	if !r.fr.parse(b.Bytes(b.Count(len(in)))) || r.kinds > len(r.fr.list) {
		return errIndex
	}
	for k := b.Count(len(in)); k > 0 && !b.Bad; k-- {
		if f := b.Count(len(r.fr.list) - 1); !b.Bad {
			r.echoes = append(r.echoes, r.fr.plain(f))
		}
	}
	if b.Bad {
		return errIndex
	}
	r.segs = nil
	var d decoder
	d.begin(b.In)
	var m indexModel
	defer m.spare()
	before := &segmentIndex{}
	at := 0
	for first := 0; first < n; {
		end := segmentEnd(first, r.early, n)
		r.segs = append(r.segs, segmentIndex{first: first, end: end})
		s := &r.segs[len(r.segs)-1]
		if !r.index(&d, &m, s, before) {
			return errIndex
		}
		before = s
		if s.bytes < 0 || s.bytes > r.g.namesAt.len-at {
			return errIndex
		}
		at += s.bytes
		first = end
	}
	if at != r.g.namesAt.len {
		return errIndex
	}
	r.read = make([]segmentReader, len(r.segs))
	r.place()
	return nil
}

// room takes n elements from the slice at p, and allocates more when there are not enough.
func room[T any](p *[]T, n int) []T {
	if n > len(*p) {
		*p = make([]T, max(n, 256))
	}
	cut := (*p)[:n:n]
	*p = (*p)[n:]
	return cut
}

// index decodes the index entry of a segment.
func (r *register) index(d *decoder, m *indexModel, s, before *segmentIndex) bool {
	n := int64(s.end - s.first)
	s.bytes = int(int64(before.bytes) + d.number(made(&m.bytes)))
	base := int64(before.base) + d.number(made(&m.base))
	if base < 0 || base >= int64(r.g.Blocks) {
		return false
	}
	s.base = uint32(base)
	kinds := int64(len(before.kinds)) + d.number(made(&m.kinds))
	if kinds < 1 || kinds > n {
		return false
	}
	s.kinds = room(&r.kindRoom, int(kinds))
	next, left := int64(0), n
	for i := range s.kinds {
		kind := next + d.number(made(&m.gap))
		count := 1 + d.number(made(&m.count))
		if left -= count; kind < next || kind >= int64(r.kinds) || count < 1 || left < 0 {
			return false
		}
		s.kinds[i] = kindRun{kind: int32(kind), count: int32(count), segment: int32(len(r.segs) - 1)}
		next = kind + 1
	}
	frame := int64(before.frame) + d.number(made(&m.frame))
	if left != 0 || frame < -1 || frame >= int64(len(r.fr.list)) {
		return false
	}
	if s.frame = int(frame); frame >= 0 {
		s.spans = room(&r.spanRoom, int(r.fr.marks[frame]))
	}
	for i := range s.spans {
		lo := uint64(0)
		if i < len(before.spans) {
			lo = before.spans[i].hi
		}
		lo += uint64(d.number(made(&m.lo)))
		s.spans[i] = span{lo, lo + uint64(d.number(made(&m.width)))}
		if s.spans[i].hi < lo {
			return false
		}
	}
	others := d.number(made(&m.others))
	s.copied = others&1 != 0
	if others >>= 1; others < 0 || others > int64(len(r.fr.list)) {
		return false
	}
	for ; others > 0 && !d.short(); others-- {
		f := d.number(made(&m.others))
		if f < 0 || f >= int64(len(r.fr.list)) {
			return false
		}
		s.others = append(s.others, int32(f))
	}
	return !d.short()
}

// place finds the rows of the kinds of each segment.
func (r *register) place() {
	// at is the place of the next run of each kind: first the early ones, then the others.
	at := make([]int32, 2*r.kinds+1)
	offset := func(s *segmentIndex) int {
		if s.first < r.early {
			return 0
		}
		return r.kinds
	}
	n := 0
	for i := range r.segs {
		for _, k := range r.segs[i].kinds {
			at[offset(&r.segs[i])+int(k.kind)+1]++
			n++
		}
	}
	for k := range at[1:] {
		at[k+1] += at[k]
	}
	order := make([]*kindRun, n)
	for i := range r.segs {
		kinds := r.segs[i].kinds
		for k := range kinds {
			next := &at[offset(&r.segs[i])+int(kinds[k].kind)]
			order[*next] = &kinds[k]
			*next++
		}
	}
	r.runs = make([]kindRun, n)
	row := int32(0)
	for i, k := range order {
		k.row = row
		r.runs[i] = *k
		row += k.count
	}
}

// where returns the segment of a row, and its place there.
func (r *register) where(row int) (segment int, at int, err error) {
	if err := r.open(); err != nil {
		return 0, 0, err
	}
	i := sort.Search(len(r.runs), func(i int) bool { return int(r.runs[i].row) > row }) - 1
	if i < 0 {
		return 0, 0, nil // the only instance, which has no index
	}
	segment = int(r.runs[i].segment)
	s, err := r.heads(segment)
	if err != nil {
		return 0, 0, err
	}
	return segment, slices.Index(s.rows, int32(row)), nil
}

func (r *register) lives() (*lifetimes, error) { return r.life, nil }

func (r *register) one(row int) (*Instance, error) {
	if r.insts != nil {
		return &r.insts[row], nil
	}
	in, begin := r.known(row), uint32(0)
	if in == nil {
		segment, at, err := r.where(row)
		if err != nil {
			return nil, err
		}
		s, err := r.bodies(segment, at)
		if err != nil {
			return nil, err
		}
		in, begin = &s.insts[at], s.begins[at]
	}
	if in.Runs == nil {
		var err error
		if in.Runs, err = r.life.runsOf(row, begin); err != nil {
			return nil, r.g.wrong("lifetimes", err)
		}
	}
	return in, nil
}

func (r *register) all() ([]Instance, error) {
	if r.insts != nil {
		return r.insts, nil
	}
	r.led, r.g.lead = nil, nil // Everything is read.
	if err := r.open(); err != nil {
		return nil, err
	}
	// The rows alternate between the segments, and a segment that is not decoded to its end
	// keeps its models in memory. Therefore decode one segment after another.
	if len(r.runs) > 0 {
		for i := range r.segs {
			if _, err := r.bodies(i, r.segs[i].end-r.segs[i].first-1); err != nil {
				return nil, err
			}
		}
	}
	insts := make([]Instance, r.g.Size)
	for i := range insts {
		in, err := r.one(i)
		if err != nil {
			return nil, err
		}
		insts[i] = *in
	}
	r.insts = insts
	for i := range r.segs {
		r.read[i].unlearn()
	}
	return insts, nil
}

func (r *register) keys(fn func(row int, key []byte)) error {
	if err := r.open(); err != nil {
		return err
	}
	if len(r.runs) == 0 {
		all, err := r.all()
		for i := range all {
			fn(i, []byte(all[i].Key))
		}
		return err
	}
	var key []byte
	for i := range r.segs {
		s, err := r.heads(i)
		if err != nil {
			return err
		}
		for k, row := range s.rows {
			key = appendText(key[:0], r.fr.list[s.frames[k]], s.figures[s.from[k]:s.from[k+1]])
			fn(int(row), key)
		}
	}
	return nil
}

func (r *register) named(rows []int) error {
	for _, row := range rows {
		if _, err := r.one(row); err != nil {
			return err
		}
	}
	return nil
}

func (r *register) find(key string) (int, error) {
	row, guided := r.rowOf(key)
	if guided {
		return row, nil
	}
	if err := r.open(); err != nil {
		return -1, err
	}
	frame, figures := split(key, nil)
	f := -1
	if i := slices.Index(r.fr.list, frame); i >= 0 {
		f = i
	} else if len(r.fr.list) > 0 {
		return -1, nil
	}
	for i := range r.segs {
		if !r.segs[i].mayHold(f, figures) {
			continue
		}
		s, err := r.heads(i)
		if err != nil {
			return -1, err
		}
		if k := s.find(f, figures); k >= 0 {
			_, err := r.bodies(i, k)
			return int(s.rows[k]), err
		}
	}
	return -1, nil
}

// mayHold reports whether a segment may hold a key.
func (s *segmentIndex) mayHold(frame int, figures []figure) bool {
	if s.frame < 0 {
		return true
	}
	if s.frame != frame {
		return false
	}
	for i, f := range figures {
		if f.value < s.spans[i].lo || f.value > s.spans[i].hi {
			return false
		}
	}
	return true
}

func (r *register) seek(s *Sought, fn func(in *Instance)) error {
	shown, guided, err := r.shown(s)
	if err != nil {
		return err
	}
	for _, in := range shown {
		fn(in)
	}
	if err := r.open(); err != nil {
		return err
	}
	if len(r.runs) == 0 { // There is one at most, and no index.
		all, err := r.all()
		for i := range all {
			fn(&all[i])
		}
		return err
	}
	t := r.tester(s)
	for i := range r.segs {
		if guided && r.segs[i].first < r.early || !t.segment(&r.segs[i]) {
			continue
		}
		seg, err := r.heads(i)
		if err != nil {
			return err
		}
		var some []int
		for k := range seg.rows {
			if t.instance(&r.segs[i], seg, k) {
				some = append(some, k)
			}
		}
		if len(some) == 0 {
			continue
		}
		if seg, err = r.bodies(i, some[len(some)-1]); err != nil {
			return err
		}
		for _, k := range some {
			fn(&seg.insts[k])
		}
	}
	return nil
}
