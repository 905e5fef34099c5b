package pcpexport

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"tachograph/cmd/internal/pcp/pcparchive"
	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/store/query"
)

// A roster holds the present instances of one PCP domain: those in the last block of any group
// of metrics.
type roster struct {
	indom   uint32
	members map[uint32]*member
	names   map[string]uint32
	came    []uint32
	gone    []uint32
	renamed bool // then all must be written
	written bool

	perBoot  bool
	numbered bool // names begin with unique numbers
	domain   string
	fresh    int // bytes of labels that are not written yet
	whole    int // bytes of labels at the last write
}

type member struct {
	name   string
	groups int // how many groups have it
	json   string
	refs   []pcp.LabelRef
}

func newRoster(indom uint32, name string) *roster {
	return &roster{indom: indom, members: make(map[uint32]*member), names: make(map[string]uint32), perBoot: metric.PerBoot(name), numbered: pcp.Numbered(name), domain: name}
}

// enter notes that a group has an instance.
func (r *roster) enter(id uint32, in *metric.Instance) {
	m := r.members[id]
	if m == nil {
		m = &member{}
		r.members[id] = m
		r.call(m, id, pcp.Title(r.domain, in))
		r.label(m, in)
		r.came = append(r.came, id)
	}
	m.groups++
}

// call gives a member a name that no other has.
func (r *roster) call(m *member, id uint32, name string) {
	name = visible.Text(name)
	if name == "" {
		name = "?"
	}
	if name = pcp.InstanceName(name); !r.numbered {
		if other, taken := r.names[name]; taken && other != id {
			name = pcp.Distinct(name, id)
		}
	} else if other, taken := r.names[name]; taken && other != id {
		name += " #" + strconv.Itoa(int(id))
	}
	m.name = name
	r.names[name] = id
}

func (r *roster) label(m *member, in *metric.Instance) {
	m.json, m.refs = "", nil
	if len(in.Labels) > 0 {
		m.json, m.refs = pcp.LabelJSON(in.Labels, pcp.LabelInstances)
	}
	r.fresh += len(m.json)
}

// changed notes that an instance has another name, or other labels.
func (r *roster) changed(id uint32, in *metric.Instance) {
	m := r.members[id]
	was := m.name
	delete(r.names, was)
	r.call(m, id, pcp.Title(r.domain, in))
	r.renamed = r.renamed || m.name != was
	r.label(m, in)
}

// leave notes that a group no longer has an instance.
func (r *roster) leave(id uint32) {
	m := r.members[id]
	if m.groups--; m.groups == 0 {
		delete(r.members, id)
		if r.names[m.name] == id {
			delete(r.names, m.name)
		}
		r.gone = append(r.gone, id)
	}
}

// write writes what has changed, from a time on.
func (r *roster) write(w *pcparchive.Writer, when int64) error {
	if len(r.came) == 0 && len(r.gone) == 0 && !r.renamed {
		return r.writeLabels(w, when, false)
	}
	var list []pcparchive.Instance
	delta := r.written && !r.renamed
	if delta {
		seen := make(map[uint32]bool, len(r.came)+len(r.gone))
		for _, id := range r.came {
			if m := r.members[id]; m != nil {
				list = append(list, pcparchive.Instance{ID: id, Name: m.name})
			}
			delta = delta && !seen[id]
			seen[id] = true
		}
		for _, id := range r.gone {
			list = append(list, pcparchive.Instance{ID: id, Gone: true})
			// If an instance came and went it may have another name now, which a delta cannot
			// express.
			delta = delta && !seen[id]
			seen[id] = true
		}
	}
	if !delta || len(list) > len(r.members) {
		delta, list = false, list[:0]
		for id, m := range r.members {
			list = append(list, pcparchive.Instance{ID: id, Name: m.name})
		}
	}
	r.came, r.gone, r.renamed, r.written = r.came[:0], r.gone[:0], false, true
	slices.SortFunc(list, func(a, b pcparchive.Instance) int { return cmp.Compare(a.ID, b.ID) })
	if err := w.InDom(when, r.indom, list, delta); err != nil {
		return err
	}
	return r.writeLabels(w, when, false)
}

// writeLabels writes the labels of the instances. A record of labels holds those of all, and
// replaces the one before. For processes, which come and go, it is written when about a third of
// it is new, and at the end.
func (r *roster) writeLabels(w *pcparchive.Writer, when int64, end bool) error {
	if r.fresh == 0 || (r.perBoot || r.whole > 1<<16) && !end && r.fresh < r.whole/3 {
		return nil
	}
	var sets []pcparchive.LabelSet
	r.fresh, r.whole = 0, 0
	for id, m := range r.members {
		if m.json != "" {
			sets = append(sets, pcparchive.LabelSet{Instance: id, JSON: m.json, Refs: m.refs})
			r.whole += len(m.json)
		}
	}
	if len(sets) == 0 {
		return nil
	}
	slices.SortFunc(sets, func(a, b pcparchive.LabelSet) int { return cmp.Compare(a.Instance, b.Instance) })
	return w.Labels(when, pcp.LabelInstances, r.indom, sets)
}

// numbers gives the instances of a domain their numbers.
type numbers struct {
	indom string
	keys  map[string]*number
	pids  map[uint32]pidUse
	given *pcp.Numbers
}

type number struct {
	id     uint32
	groups int // how many groups have the instance
}

type pidUse struct {
	key string
	nth uint32
}

func newNumbers(indom string) *numbers {
	return &numbers{indom: indom, keys: make(map[string]*number), pids: make(map[uint32]pidUse), given: pcp.NewNumbers(indom)}
}

// pidBits is how many bits of a number are the PID; above them is how many processes had it
// before.
const pidBits = 22

var errPids = errors.New("a process id was used more often than PCP has numbers for processes: export a shorter window")

// of returns the number of an instance that a group has from now on. The number of a process is
// its PID, if it is the first process with it.
func (n *numbers) of(boot string, in *metric.Instance) (uint32, error) {
	key := in.Key
	if metric.PerBoot(n.indom) {
		key = boot + "\x00" + key
	}
	if pid := query.ProcessID(in); n.indom == "process" && pid >= 0 && pid < 1<<pidBits {
		use, known := n.pids[uint32(pid)]
		if known && use.key != key {
			if use.nth++; use.nth >= 1<<(31-pidBits) {
				return 0, errPids
			}
		}
		use.key = key
		n.pids[uint32(pid)] = use
		return use.nth<<pidBits | uint32(pid), nil
	}
	m, ok := n.keys[key]
	if !ok {
		m = &number{id: n.given.Of(key, in)}
		n.keys[key] = m
	}
	m.groups++
	return m.id, nil
}

// leave notes that a group no longer has an instance. Instances that end with their boot do not
// come back.
func (n *numbers) leave(boot string, in *metric.Instance) {
	key := boot + "\x00" + in.Key
	if m := n.keys[key]; m != nil && metric.PerBoot(n.indom) {
		if m.groups--; m.groups == 0 {
			delete(n.keys, key)
			n.given.Forget(key)
		}
	}
}
