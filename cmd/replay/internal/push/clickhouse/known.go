package clickhouse

import "tachograph/sample/metric"

// known is what the receiver has: archives by host and ID, descriptions, and instances with
// their revision. After a restart everything is sent again, which changes nothing there.
//
// There are by far more instances than anything else, and most of them end. Those not seen for a
// while are forgotten.
type known struct {
	things         map[any]struct{}
	fresh, earlier map[*metric.Instance]uint32
}

// told is what a batch sends of these.
type told struct {
	things    map[any]struct{}
	instances map[*metric.Instance]uint32
}

const mostKnown = 1 << 16

// tell reports whether a batch must send a thing, and notes it in t.
func (s *Sink) tell(t *told, thing any) bool {
	if _, ok := t.things[thing]; ok {
		return false
	}
	s.mu.Lock()
	_, ok := s.known.things[thing]
	s.mu.Unlock()
	if ok {
		return false
	}
	if t.things == nil {
		t.things = make(map[any]struct{})
	}
	t.things[thing] = struct{}{}
	return true
}

// meet reports whether a batch must send an instance, and notes it in t.
func (s *Sink) meet(t *told, in *metric.Instance) bool {
	if rev, ok := t.instances[in]; ok && rev == in.Rev {
		return false
	}
	s.mu.Lock()
	rev, ok := s.known.fresh[in]
	if !ok {
		if rev, ok = s.known.earlier[in]; ok {
			s.known.add(in, rev)
		}
	}
	s.mu.Unlock()
	if ok && rev == in.Rev {
		return false
	}
	if t.instances == nil {
		t.instances = make(map[*metric.Instance]uint32)
	}
	t.instances[in] = in.Rev
	return true
}

func (k *known) add(in *metric.Instance, rev uint32) {
	if k.fresh == nil || len(k.fresh) >= mostKnown {
		k.fresh, k.earlier = make(map[*metric.Instance]uint32), k.fresh
	}
	k.fresh[in] = rev
}

// took notes that the receiver has what a batch sent.
func (s *Sink) took(t *told) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known.things == nil || len(s.known.things) > mostKnown {
		s.known.things = make(map[any]struct{})
	}
	for thing := range t.things {
		s.known.things[thing] = struct{}{}
	}
	for in, rev := range t.instances {
		s.known.add(in, rev)
	}
}
