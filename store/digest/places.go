package digest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/varint"
)

// Places say, for each chunk of an archive, in which rows the instances are that were there at its
// first block, so that a question about one process need not look for it in every chunk. They are
// a small chunk: its ticks are the chunks of the archive, and its values are the rows.
type Places struct {
	// Sums are the checksums of all chunks of the archive, by class and number.
	Sums   []uint32
	groups map[string]*placesGroup
}

// The groups of the record, each for one group of the archive's chunks.
const (
	placesEarly = "early" // the rows of the instances
	placesNames = "names" // the rows of those that had several names, by each of these
	placesLate  = "late"  // the numbers in the keys of all others
)

// Columns of the group early.
const (
	placesRow     = iota
	placesSeveral // 1 if the instance had several names in the chunk
	placesColumns
)

var (
	errPlaces      = errors.New("the digest of places contradicts itself")
	errOtherPlaces = errors.New("it does not say where the instances of the chunks are")
)

// placesOf returns the name of a group of the record.
func placesOf(what string, class metric.Class, group int) string {
	return fmt.Sprintf("%s.%d.%d", what, class, group)
}

// ParsePlaces reads the record of where the instances are.
func ParsePlaces(b []byte) (*Places, error) {
	r := &varint.Reader{In: b}
	p := &Places{groups: make(map[string]*placesGroup)}
	if p.Sums = parseSums(r); r.Bad {
		return nil, errPlaces
	}
	c, err := chunk.Open(bytes.NewReader(r.In), int64(len(r.In)))
	if err != nil {
		return nil, err
	}
	lock := new(sync.Mutex)
	for _, g := range c.Groups {
		what, of, ok := strings.Cut(g.Name, ".")
		at := p.groups[of]
		if at == nil {
			at = &placesGroup{Mutex: lock, known: make(map[string]*placed), rows: make(map[placeAt]*placed)}
			p.groups[of] = at
		}
		switch {
		case ok && what == placesEarly && at.early == nil && len(g.Columns) == placesColumns:
			at.early = g
		case ok && what == placesNames && at.names == nil && len(g.Columns) == 1:
			at.names = g
		case ok && what == placesLate && at.late == nil && len(g.Columns) == 2 && g.Size == 1:
			at.late = g
		default:
			return nil, errPlaces
		}
	}
	for _, g := range p.groups {
		if g.late == nil {
			return nil, errPlaces
		}
	}
	return p, nil
}

// Guide returns the Guide of a group of a chunk; nil if the record does not describe that group.
func (p *Places) Guide(class metric.Class, number uint32, group int) chunk.Guide {
	g := p.groups[strconv.Itoa(int(class))+"."+strconv.Itoa(group)]
	if g == nil {
		return nil
	}
	g.Lock()
	defer g.Unlock()
	if _, ok := g.chunk(number); !ok {
		return nil
	}
	return &placesGuide{g: g, number: number}
}

// A placesGroup is what Places say about one group of the chunks of a class. Several chunks may
// ask at the same time.
type placesGroup struct {
	*sync.Mutex        // of all groups, which read one chunk
	early, names, late *chunk.Group

	numbers         []uint32            // of the chunks, in rising order
	least, greatest []uint64            // by the place of their chunk in numbers
	known           map[string]*placed  // by key; nil where there is none
	rows            map[placeAt]*placed // of the instances that were found
	sought          *chunk.Sought       // what was sought last
	found           map[uint32][]int    // and in which rows it may be, by chunk
}

// placeAt is a row of a chunk.
type placeAt struct {
	number uint32
	row    int
}

// placed is an instance and where it is.
type placed struct {
	key   string
	names []placedName
	at    []placedAt // in rising order of chunks
}

type placedName struct {
	from uint32 // the number of the chunk from which on it has the name
	chunk.Naming
}

type placedAt struct {
	placeAt
	several bool
}

// chunk returns the place of a chunk in numbers.
func (g *placesGroup) chunk(number uint32) (int, bool) {
	if g.numbers == nil && g.fill() != nil {
		g.numbers = []uint32{}
	}
	return slices.BinarySearch(g.numbers, number)
}

// fill reads which chunks are described, and the range of the numbers in the keys that came late.
func (g *placesGroup) fill() error {
	numbers, err := g.late.Places()
	if err != nil {
		return err
	}
	for col, to := range []*[]uint64{&g.least, &g.greatest} {
		if err := g.late.Series(col, nil, func(_ int, s *chunk.Series) error {
			if *to = unfold(s); len(*to) != len(numbers) {
				return errPlaces
			}
			return nil
		}); err != nil {
			return err
		}
	}
	g.numbers = numbers
	return nil
}

// unfold returns the value of each reading of a series; nil if it has none.
func unfold(s *chunk.Series) []uint64 {
	if len(s.At) == 0 || len(s.Bits) != len(s.At) {
		return nil
	}
	out := make([]uint64, s.Life)
	for i, k := 0, 0; i < len(out); i++ {
		for k+1 < len(s.At) && int(s.At[k+1]) <= i {
			k++
		}
		out[i] = s.Bits[k]
	}
	return out
}

// find returns an instance by its key; nil if it was never there at the beginning of a chunk.
func (g *placesGroup) find(key string) (*placed, error) {
	p, ok := g.known[key]
	if ok || g.early == nil {
		return p, nil
	}
	row, err := g.early.Find(key)
	if err != nil {
		return nil, err
	}
	if row >= 0 {
		list, err := readPlaced(g.early, []int{row})
		if err != nil {
			return nil, err
		}
		p = list[0]
	}
	g.know(key, p)
	return p, nil
}

// know keeps an instance for later questions.
func (g *placesGroup) know(key string, p *placed) {
	g.known[key] = p
	if p != nil {
		for _, at := range p.at {
			g.rows[at.placeAt] = p
		}
	}
}

// readPlaced reads instances of a group of the record; rows rise.
func readPlaced(g *chunk.Group, rows []int) ([]*placed, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	numbers, err := g.Places()
	if err != nil {
		return nil, err
	}
	list := make([]*placed, len(rows))
	for i, row := range rows {
		in, err := g.Instance(row)
		if err != nil {
			return nil, err
		}
		p := &placed{key: in.Key}
		for _, n := range in.Names {
			p.names = append(p.names, placedName{numbers[n.Block], n})
		}
		for _, run := range in.Runs {
			for b := run.Start; b < run.End; b++ {
				p.at = append(p.at, placedAt{placeAt: placeAt{number: numbers[b]}})
			}
		}
		list[i] = p
	}
	for col := range g.Columns {
		next := 0
		err := g.Series(col, rows, func(_ int, s *chunk.Series) error {
			p := list[next]
			next++
			return p.fill(col, unfold(s))
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// fill takes the values of a column.
func (p *placed) fill(col int, values []uint64) error {
	if len(values) != len(p.at) {
		return errPlaces
	}
	for i, v := range values {
		switch {
		case col == placesSeveral:
			p.at[i].several = v != 0
		case v > 1<<31-1:
			return errPlaces
		default:
			p.at[i].row = int(v)
		}
	}
	return nil
}

// seek finds the rows in which s may be.
func (g *placesGroup) seek(s *chunk.Sought) error {
	if g.sought == s {
		return nil
	}
	found := make(map[uint32][]int)
	for _, in := range []*chunk.Group{g.early, g.names} {
		if in == nil {
			continue
		}
		var keys []string
		if err := in.Seek(s, func(in *chunk.Instance) { keys = append(keys, in.Key) }); err != nil {
			return err
		}
		rows, err := in.Rows(chunk.NewKeys(keys))
		if err != nil {
			return err
		}
		list, err := readPlaced(in, rows)
		if err != nil {
			return err
		}
		for _, p := range list {
			if in == g.early && g.known[p.key] == nil {
				g.know(p.key, p)
			}
			for _, at := range p.at {
				found[at.number] = append(found[at.number], at.row)
			}
		}
	}
	for number, rows := range found {
		slices.Sort(rows)
		found[number] = slices.Compact(rows)
	}
	g.sought, g.found = s, found
	return nil
}

// A placesGuide is the chunk.Guide of one chunk.
type placesGuide struct {
	g      *placesGroup
	number uint32
}

func (p *placesGuide) Row(key string) (int, error) {
	p.g.Lock()
	defer p.g.Unlock()
	in, err := p.g.find(key)
	if err != nil || in == nil {
		return -1, err
	}
	i := sort.Search(len(in.at), func(i int) bool { return in.at[i].number >= p.number })
	if i == len(in.at) || in.at[i].number != p.number {
		return -1, nil
	}
	return in.at[i].row, nil
}

func (p *placesGuide) Rows(s *chunk.Sought) ([]int, error) {
	p.g.Lock()
	defer p.g.Unlock()
	if err := p.g.seek(s); err != nil {
		return nil, err
	}
	return p.g.found[p.number], nil
}

func (p *placesGuide) Instance(row int) (key string, name chunk.Naming, ok bool, err error) {
	p.g.Lock()
	defer p.g.Unlock()
	in := p.g.rows[placeAt{p.number, row}]
	if in == nil {
		return "", chunk.Naming{}, false, nil
	}
	i := sort.Search(len(in.at), func(i int) bool { return in.at[i].number >= p.number })
	k := sort.Search(len(in.names), func(k int) bool { return in.names[k].from > p.number })
	if in.at[i].several || k == 0 {
		return "", chunk.Naming{}, false, nil
	}
	return in.key, in.names[k-1].Naming, true, nil
}

func (p *placesGuide) MayHold(key string) bool {
	p.g.Lock()
	defer p.g.Unlock()
	i, ok := p.g.chunk(p.number)
	v, figure := chunk.LastFigure(key)
	return !ok || !figure || p.g.least[i] <= v && v <= p.g.greatest[i]
}
