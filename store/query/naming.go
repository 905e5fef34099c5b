package query

import (
	"iter"
	"sort"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Names knows the names of processes and threads at each instant: an exec gives a process another
// name, and what it did before was not done under that name.
type Names struct {
	a       Archive
	r       Request
	byIndom map[string]*named
	cohort  *store.Cohort // the cohort of byIndom
}

// named holds the instances of a domain whose names are known: all that have names, or if keys is
// set only those.
type named struct {
	all  map[seriesID]*naming
	keys map[string]bool
}

// naming holds the names of one instance, in the order of time.
type naming struct {
	names []store.Naming
	as    []*metric.Instance // the instance by each of its names
}

// NewNames prepares the names for the answer to a request.
func NewNames(a Archive, r Request) *Names {
	return &Names{a: a, r: r, byIndom: make(map[string]*named)}
}

// fewNames is how many instances have their names looked up one by one, before those of all
// instances that the request may mean are.
const fewNames = 4

func (n *Names) of(s *Series, indom string) *naming {
	info, in := s.Archive, s.Instance
	if in.Rev == 1 {
		return nil // it has had no other name
	}
	if s.cohort != n.cohort {
		n.cohort = s.cohort
		clear(n.byIndom)
	}
	known := n.byIndom[indom]
	if known == nil {
		known = &named{all: make(map[seriesID]*naming)}
		if n.r.Keys != nil || n.r.Instance != nil && n.r.Sought != nil {
			known.keys = make(map[string]bool)
		} else {
			n.load(known, indom, nil)
		}
		n.byIndom[indom] = known
	}
	if known.keys != nil && !known.keys[in.Key] {
		keys := []string{in.Key}
		if len(known.keys) == fewNames {
			more, few := n.r.Keys, true
			if more == nil {
				more, few = keysOf(n.a, indom, n.r.Window, n.r.Sought, func(in *metric.Instance) bool { return n.r.Instance(indom, in) })
			}
			if keys = append(keys, more...); !few {
				keys, known.keys = nil, nil
			}
		}
		n.load(known, indom, keys)
	}
	return known.all[seriesID{host: info.Host.ID, boot: info.BootID, key: in.Key}]
}

// load adds the instances with the keys, or all if there are none.
func (n *Names) load(known *named, indom string, keys []string) {
	lives := n.a.Lives(indom, n.r.From, n.r.To, keys...)
	if n.cohort != nil {
		lives = n.a.CohortLives(n.cohort, indom, n.r.From, n.r.To)
	}
	for l := range lives {
		if len(l.Names) == 0 {
			continue
		}
		id := seriesID{host: l.Archive.Host.ID, boot: l.Archive.BootID, key: l.Instance.Key}
		nm := &naming{names: append([]store.Naming(nil), l.Names...)}
		for i := range nm.names {
			c := *l.Instance
			c.Name, c.Labels = nm.names[i].Name, nm.names[i].Labels
			nm.as = append(nm.as, &c)
		}
		known.all[id] = nm
	}
	for _, key := range keys {
		known.keys[key] = true
	}
}

// Split cuts a series of a domain where its instance got another name.
func (n *Names) Split(s *Series, indom string) iter.Seq[*Series] {
	return func(yield func(*Series) bool) {
		if s.Instance == nil || !metric.PerBoot(indom) {
			yield(s)
			return
		}
		nm := n.of(s, indom)
		if nm == nil {
			yield(s)
			return
		}
		for from := 0; from < len(s.Wall); {
			// The last name it got by then, or the first one.
			k := max(sort.Search(len(nm.names), func(i int) bool { return nm.names[i].From > s.Wall[from] })-1, 0)
			to := len(s.Wall)
			if k+1 < len(nm.names) {
				until := nm.names[k+1].From
				to = from + 1
				for to < len(s.Wall) && s.Wall[to] < until {
					to++
				}
			}
			part := *s
			part.Instance = nm.as[k]
			part.Wall = s.Wall[from:to]
			part.Bits, part.Miss = cut(s.Bits, from, to), cut(s.Miss, from, to)
			if !yield(&part) {
				return
			}
			from = to
		}
	}
}

// cut returns a part of a slice that may be empty.
func cut[T any](all []T, from, to int) []T {
	return all[min(from, len(all)):min(to, len(all))]
}
