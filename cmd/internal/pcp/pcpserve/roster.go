package pcpserve

import (
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// A roster holds the instances of one domain: their PCP numbers and names. While a PCP client
// runs, it takes instances with the same number for the same thing.
type roster struct {
	mu sync.Mutex
	// numbered says that names begin with unique numbers.
	numbered bool
	indom    string
	numbers  *pcp.Numbers
	members  map[string]*member // by key
	words    map[string]string  // the first word of each name, with the key of its instance
	seated   map[*metric.Group]*seating
	sweep    uint64
	most     int // the most members that were there at once, plus some
	pids     reuse
}

type member struct {
	id   uint32
	name string // the name for PCP
	own  string // the name that was made from
	met  uint64 // the last sweep that met this member
}

// A seating holds the instances of a block with their numbers.
type seating struct {
	block *metric.Block
	rows  []*metric.Instance
	revs  []uint32
	ids   []uint32
}

// same reports whether a block has the same instances with the same names.
func (s *seating) same(rows []*metric.Instance) bool {
	if !slices.Equal(s.rows, rows) {
		return false
	}
	for i, in := range rows {
		if in.Rev != s.revs[i] {
			return false
		}
	}
	return true
}

func newRoster(indom string) *roster {
	return &roster{
		numbered: pcp.Numbered(indom), indom: indom, numbers: pcp.NewNumbers(indom), members: make(map[string]*member),
		words: make(map[string]string), seated: make(map[*metric.Group]*seating), most: fewMembers,
	}
}

const (
	fewMembers = 1 << 12
	maxGroups  = 1 << 8
	maxMembers = 1 << 16 // for instances that may come back
)

// seat returns the numbers of a block's instances. The caller must not change them.
func (r *roster) seat(b *metric.Block) []uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.seated[b.Group]
	switch {
	case s == nil:
		if len(r.seated) >= maxGroups {
			clear(r.seated)
		}
		s = &seating{}
		r.seated[b.Group] = s
	case s.block == b:
		return s.ids
	case s.same(b.Rows):
		s.block = b
		return s.ids
	}
	s.block, s.rows, s.revs, s.ids = b, b.Rows, make([]uint32, len(b.Rows)), make([]uint32, len(b.Rows))
	r.sweep++
	for i, in := range b.Rows {
		s.ids[i], s.revs[i] = r.meet(in).id, in.Rev
	}
	r.prune()
	return s.ids
}

// meet returns the member for an instance that is there now.
func (r *roster) meet(in *metric.Instance) *member {
	m := r.members[in.Key]
	if m == nil {
		m = &member{id: r.number(in)}
		r.members[in.Key] = m
		r.name(m, in)
	} else if m.own != in.Name {
		r.name(m, in)
	}
	m.met = r.sweep
	return m
}

func (r *roster) number(in *metric.Instance) uint32 {
	if r.numbered {
		if id, ok := pcp.NaturalNumber(r.indom, in); ok {
			return id
		}
	}
	return r.numbers.Of(in.Key, in)
}

// name gives a member its name for PCP. Its first word is unique, because PCP's tools read a
// name only up to the first blank.
func (r *roster) name(m *member, in *metric.Instance) {
	m.own = in.Name
	name := visible.Text(pcp.Title(r.indom, in))
	if name == "" {
		name = "?"
	}
	if r.numbered {
		if nth := r.pids.nth(m.id, in); nth > 0 {
			name += " #" + strconv.Itoa(int(nth)+1)
		}
		m.name = name
		return
	}
	if m.name != "" {
		delete(r.words, firstWord(m.name))
	}
	name = pcp.InstanceName(name)
	if key, taken := r.words[firstWord(name)]; taken && key != in.Key {
		name = pcp.Distinct(name, m.id)
	}
	r.words[firstWord(name)] = in.Key
	m.name = name
}

func firstWord(name string) string {
	word, _, _ := strings.Cut(name, " ")
	return word
}

// prune forgets members that have ended. A member that comes back gets the same number again.
func (r *roster) prune() {
	limit := r.most
	if !r.numbered {
		limit = maxMembers
	}
	if len(r.members) <= limit {
		return
	}
	present := make(map[string]bool)
	for _, s := range r.seated {
		for _, in := range s.rows {
			present[in.Key] = true
		}
	}
	for key, m := range r.members {
		if m.met == r.sweep || present[key] {
			continue
		}
		delete(r.members, key)
		r.numbers.Forget(key)
		if word := firstWord(m.name); r.words[word] == key {
			delete(r.words, word)
		}
	}
	r.most = max(fewMembers, 2*len(r.members))
}

// list returns instances with their numbers and names for PCP.
func (r *roster) list(dst []listed, ins []*metric.Instance) []listed {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep++
	for _, in := range ins {
		m := r.meet(in)
		dst = append(dst, listed{m.id, m.name, in})
	}
	r.prune()
	return dst
}

type listed struct {
	id       uint32
	name     string
	instance *metric.Instance
}

// reuse remembers, for each PID, the key and the name of its last process. A later process with
// the same PID and name gets a counter in its PCP name. It forgets a PID once between usesKept
// and twice as many others have been seen since.
type reuse struct {
	now, before map[uint32]use
}

type use struct {
	key, name uint64
	nth       uint32
}

var seed = maphash.MakeSeed()

const usesKept = 1 << 15

// nth returns how many earlier instances had the number and the name of an instance.
func (r *reuse) nth(id uint32, in *metric.Instance) uint32 {
	is := use{key: maphash.String(seed, in.Key), name: maphash.String(seed, in.Name)}
	was, known := r.now[id]
	if !known {
		was, known = r.before[id]
	}
	switch {
	case !known:
	case was.key == is.key:
		is.nth = was.nth // it was renamed, or has returned after it was forgotten
	case was.name == is.name:
		is.nth = was.nth + 1
	}
	if r.now == nil || len(r.now) >= usesKept {
		r.before, r.now = r.now, make(map[uint32]use)
	}
	r.now[id] = is
	return is.nth
}
