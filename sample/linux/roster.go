package linux

import "tachograph/sample/metric"

// roster keeps the instances of one domain from reading to reading, so that the same thing is
// the same instance and steady state allocates nothing.
type roster[T any] struct {
	members map[string]*member[T]
	live    []*member[T]
	lastID  uint64
	round   uint64
}

type member[T any] struct {
	in    metric.Instance
	round uint64
	// first is set in the round in which the instance appeared.
	first bool
	data  T
}

// begin starts a round, in which every instance must be seen again.
func (r *roster[T]) begin() {
	if r.members == nil {
		r.members = make(map[string]*member[T])
	}
	r.round++
}

// see returns the instance with this key, making it if necessary.
func (r *roster[T]) see(key []byte) *member[T] {
	m := r.members[string(key)]
	if m == nil {
		r.lastID++
		name := string(key)
		m = &member[T]{first: true, in: metric.Instance{ID: r.lastID, Key: name, Name: name}}
		r.members[name] = m
		r.live = append(r.live, m)
	} else if m.round != r.round {
		m.first = false
	}
	m.round = r.round
	return m
}

// end ends the round: it passes the instances that were not seen to gone and forgets them.
func (r *roster[T]) end(gone func(*member[T])) {
	kept := r.live[:0]
	for _, m := range r.live {
		if m.round == r.round {
			kept = append(kept, m)
			continue
		}
		delete(r.members, m.in.Key)
		if gone != nil {
			gone(m)
		}
	}
	for i := len(kept); i < len(r.live); i++ {
		r.live[i] = nil
	}
	r.live = kept
}
