package redact

import (
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// Options say how to redact.
type Options struct {
	// Key is the key of a fleet; nil makes a key for this recording only, which is not kept.
	Key []byte
	// All also maps well-known names.
	All bool
}

// Mapping maps the contents of a recording to what others may know. The code that copies a
// recording applies it to everything, from several goroutines at once.
type Mapping struct {
	mu     sync.Mutex // held by each exported method; guards all fields below
	names  *pseudonyms
	all    bool
	darwin bool

	// learned maps names that sentences may contain to their pseudonyms; longest is the greatest
	// number of words in one of them.
	learned map[string]string
	longest int

	instances map[instanceID]*mappedInstance
	reasons   map[metric.Reason]metric.Reason
	texts     map[textID]mappedText
	left      left
}

type instanceID struct{ indom, key string }

type mappedInstance struct {
	name   string
	labels []metric.Label
	rev    uint32
	out    *metric.Instance
}

type textID struct{ metric, text string }

type mappedText struct {
	text string
	keep bool
}

// mostKept bounds the caches; mapping again gives the same result.
const mostKept = 1 << 16

// New makes a mapping.
func New(opt Options) *Mapping {
	return &Mapping{names: newPseudonyms(opt.Key), all: opt.All, learned: make(map[string]string),
		instances: make(map[instanceID]*mappedInstance), reasons: make(map[metric.Reason]metric.Reason),
		texts: make(map[textID]mappedText)}
}

// hostLabels are the labels of a host that stay; others are dropped.
var hostLabels = []string{"product", "build", "version", "cpu", "cpus", "memory", "translated"}

// Host maps the name and identity of a machine; its hardware and system stay.
func (m *Mapping) Host(h metric.Host) metric.Host {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.darwin = h.Platform == catalog.Darwin.Name() || h.OS == "Darwin"
	out := h
	out.Name = m.host(h.Name)
	if h.ID != "" {
		out.ID = hex.EncodeToString(m.names.digest("host id", h.ID)[:16])
	}
	out.Release, out.Model = m.known(h.Release), m.known(h.Model)
	out.OS, out.Arch, out.Platform = m.known(h.OS), m.known(h.Arch), m.known(h.Platform)
	out.Labels = nil
	for _, l := range h.Labels {
		if slices.Contains(hostLabels, l.Name) {
			out.Labels = append(out.Labels, metric.Label{Name: l.Name, Value: m.known(l.Value)})
		}
	}
	m.left.host(out)
	return out
}

// Name returns the pseudonym of a host.
func (m *Mapping) Name(h metric.Host) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.host(h.Name)
}

// known only replaces names that are known by now in a text, which has a system's own words, but
// possibly also the name of the host.
func (m *Mapping) known(s string) string { return m.replaceKnown(s) }

// Boot maps the identity of a boot.
func (m *Mapping) Boot(id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.names.of(aBoot, id)
}

// Zone maps the time zone. A valid one stays; it could also be the path of a file.
func (m *Mapping) Zone(s string) string {
	if isZone(s) {
		return s
	}
	return "UTC"
}

// Instance maps an instance. The same instance gets the same result.
func (m *Mapping) Instance(indom string, in *metric.Instance) *metric.Instance {
	if in == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	id := instanceID{indom, in.Key}
	c := m.instances[id]
	if c != nil && c.name == in.Name && c.rev == in.Rev && slices.Equal(c.labels, in.Labels) {
		return c.out
	}
	out := m.domain(indom)(m, in)
	out.ID, out.Rev = in.ID, in.Rev
	m.left.instance(indom, in, out)
	if len(m.instances) >= mostKept {
		clear(m.instances)
	}
	m.instances[id] = &mappedInstance{in.Name, slices.Clone(in.Labels), in.Rev, out}
	return out
}

// Text maps a value of a text metric; if keep is false, the value becomes absent.
func (m *Mapping) Text(d *metric.Desc, in *metric.Instance, s string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := textID{d.Name, s}
	if t, ok := m.texts[id]; ok {
		return t.text, t.keep
	}
	text, keep := m.textOf(d.Name)(m, s)
	if len(m.texts) >= mostKept {
		clear(m.texts)
	}
	m.texts[id] = mappedText{text, keep}
	return text, keep
}

// Number maps a value of a numeric metric: only the numbers of users and groups change.
func (m *Mapping) Number(d *metric.Desc, bits uint64) (uint64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch numbers[recorded(d.Name)] {
	case numberOfAccount:
		return m.number(bits), true
	case numberDropped:
		return 0, false
	}
	return bits, !dropsNumber(d.Name)
}

// Maps reports whether Number changes values of d.
func (m *Mapping) Maps(d *metric.Desc) bool {
	return d.Type != metric.String && (numbers[recorded(d.Name)] != numberAsIs || dropsNumber(d.Name))
}

// Reason maps the reason of an absent value, which can be the text of an error.
func (m *Mapping) Reason(r metric.Reason) metric.Reason {
	if r <= metric.Other {
		return r
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if out, ok := m.reasons[r]; ok {
		return out
	}
	text := m.sentence(r.String())
	make := metric.ReasonFor
	if r.Failure() {
		make = metric.FailureFor
	}
	out := make(text)
	if len(m.reasons) >= mostKept {
		clear(m.reasons)
	}
	m.reasons[r] = out
	return out
}

// Desc maps the texts in the description of a metric.
func (m *Mapping) Desc(d *metric.Desc) *metric.Desc {
	if d == nil || sameAsCatalogue(d) {
		return d
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := *d
	out.Source, out.Help, out.LongHelp = m.sentence(d.Source), m.sentence(d.Help), m.sentence(d.LongHelp)
	out.Unsupported = m.sentence(d.Unsupported)
	if row := catalogued(d.Name, d.Source); row != nil { // the words of the catalogue itself stay
		out.Source, out.Help, out.LongHelp = d.Source, row.Help, row.LongHelp
	}
	return &out
}

// shaped keeps a text that looks accepts, and maps any other as a name of kind k.
func (m *Mapping) shaped(looks func(string) bool, k kind, s string) string {
	if s == "" || looks(s) {
		return s
	}
	return m.learn(k, s)
}

// labelled maps the labels of an instance or an event; labels that are not in how are dropped.
func (m *Mapping) labelled(ls []metric.Label, how map[string]labelMap) []metric.Label {
	var out []metric.Label
	for _, l := range ls {
		f := how[l.Name]
		if f == nil {
			continue
		}
		if v, keep := f(m, l.Value); keep {
			out = append(out, metric.Label{Name: l.Name, Value: v})
		}
	}
	return out
}

// labelMap maps the value of a label; if it returns false, the label is dropped.
type labelMap func(m *Mapping, s string) (string, bool)

// numbered splits "001234 Safari".
func numbered(s string) (number, rest string, ok bool) {
	number, rest, ok = strings.Cut(s, " ")
	if !ok || len(number) < 6 || strings.Trim(number, "0123456789/") != "" {
		return "", "", false
	}
	return number, rest, true
}
