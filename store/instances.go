package store

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
)

// instanceID identifies an instance across archives.
type instanceID struct{ host, boot, indom, key string }

// A known instance is one that a reader has returned.
type known struct {
	metric.Instance
	named int64 // the wall clock since which it has had this name
}

// Instances are those that a Reader has returned, and its views.
type instances struct {
	byID   map[instanceID]*known
	nextID uint64
}

func newInstances() instances { return instances{byID: make(map[instanceID]*known)} }

// forget drops the instances of processes and threads.
func (s *instances) forget() {
	for id := range s.byID {
		if metric.PerBoot(id.indom) {
			delete(s.byID, id)
		}
	}
}

func idOf(a *archive.File, indom, key string) instanceID {
	id := instanceID{host: a.Info.Host.ID, indom: indom, key: key}
	if metric.PerBoot(indom) {
		id.boot = a.Info.BootID
	}
	return id
}

// instance returns the reader's instance for row i of v: the same pointer for the same instance
// wherever it occurs. Its names must have been read before. It carries the latest name seen so
// far.
func (s *instances) instance(v *archive.View, i int) *metric.Instance {
	if v.Indom == metric.NoIndom {
		return nil
	}
	mine := v.Known(i)
	if *mine != nil {
		return *mine
	}
	in, err := v.Instance(i)
	if err != nil {
		return nil // the caller has read it before
	}
	k := s.known(v.Ref.Archive, v.Indom, in.Key)
	if n := len(in.Names); n > 0 {
		// Rev is 1 for an instance with only one name seen so far. A second name, even an
		// earlier one, raises it.
		k.Rev += uint32(n - 1)
		k.meet(in.Names[0].Name, in.Names[0].Labels)
		if last := &in.Names[n-1]; int(last.Block) < len(v.Wall) && v.Wall[last.Block] >= k.named {
			k.named = v.Wall[last.Block]
			k.Name, k.Labels = last.Name, last.Labels
		}
	}
	*mine = &k.Instance
	return *mine
}

// known returns the entry of an instance of an archive, and makes it if there is none.
func (s *instances) known(a *archive.File, indom, key string) *known {
	id := idOf(a, indom, key)
	k := s.byID[id]
	if k == nil {
		s.nextID++
		k = &known{Instance: metric.Instance{ID: s.nextID, Key: key}, named: -1 << 63}
		s.byID[id] = k
	}
	return k
}

// meet notes another name, unless it is the latest.
func (k *known) meet(name string, labels []metric.Label) {
	if k.Name != name || !slices.Equal(k.Labels, labels) {
		k.Rev++
	}
}

// named returns the reader's instance for one that had the same name throughout an archive.
func (s *instances) named(a *archive.File, indom string, in *metric.Instance) *metric.Instance {
	k := s.known(a, indom, in.Key)
	k.meet(in.Name, in.Labels)
	if a.Info.From >= k.named {
		k.named, k.Name, k.Labels = a.Info.From, in.Name, in.Labels
	}
	return &k.Instance
}

// describe returns an instance with its latest name in the chunk.
func describe(in *chunk.Instance) metric.Instance {
	m := metric.Instance{Key: in.Key}
	if n := len(in.Names); n > 0 {
		m.Name, m.Labels = in.Names[n-1].Name, in.Names[n-1].Labels
	}
	return m
}
