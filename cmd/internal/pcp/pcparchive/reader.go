package pcparchive

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tachograph/sample/pcp"
)

// The limits on what is read from an archive: many times what any real one has.
const (
	maxDescs     = 1 << 16  // names of metrics, of which each may have several
	maxName      = 1 << 10  // bytes of a name
	maxTexts     = 64 << 20 // bytes of all help
	maxInstances = 1 << 19  // of all instance domains at a time
	maxRosters   = 1 << 16
	maxLabels    = 64 << 20 // bytes of all labels at a time
)

// A Reader reads an archive in the order of time.
type Reader struct {
	Label Label
	// Descs are the metrics by PMID, Texts their help.
	Descs map[uint32]*Desc
	Texts map[uint32]*Text
	// Said are the first labels of the host, of domains and of metrics.
	Said map[LabelKey][]LabelSet
	// InDoms and Labels are those at the time of the last record that Next returned.
	InDoms map[uint32]*InDom
	Labels map[LabelKey][]LabelSet
	// Notes say what could not be read.
	Notes []string

	meta    string
	volumes []string
	changes *frames // the metadata records that have a time
	ahead   *change
	volume  *frames
	number  int
	record  Record
	held    int // instances and bytes of labels
	labels  int
	kept    int
}

// Text is the help of a metric: a line, and the full text.
type Text struct{ Line, Help string }

// An InDom is an instance domain at a time. Changed grows with every change.
type InDom struct {
	Names   map[uint32]string
	Changed int
}

// LabelKey is the thing that labels belong to.
type LabelKey struct {
	Kind  int
	Ident uint32
}

// Open opens the archive with that name, or the one that a file is a part of.
func Open(base string) (*Reader, error) {
	r := &Reader{
		Descs: make(map[uint32]*Desc), Texts: make(map[uint32]*Text), Said: make(map[LabelKey][]LabelSet),
		InDoms: make(map[uint32]*InDom), Labels: make(map[LabelKey][]LabelSet),
	}
	base, err := r.find(base)
	if err != nil {
		return nil, err
	}
	if err := r.describe(); err != nil {
		return nil, err
	}
	if r.changes, err = openFrames(r.meta); err != nil {
		return nil, err
	}
	if _, err := r.changes.next(); err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: %w", base, err)
	}
	return r, nil
}

// Close releases the files.
func (r *Reader) Close() {
	if r.changes != nil {
		r.changes.close()
	}
	if r.volume != nil {
		r.volume.close()
	}
}

// Base returns the name of the archive for its own name, or for that of one of its parts.
func Base(name string) string {
	rest, _ := cutCompression(name)
	ext := filepath.Ext(rest)
	if _, ok := volumeNumber(strings.TrimPrefix(ext, ".")); ok || ext == ".meta" || ext == ".index" {
		if _, err := os.Stat(name); err == nil {
			return strings.TrimSuffix(rest, ext)
		}
	}
	return name
}

// find finds the parts.
func (r *Reader) find(name string) (string, error) {
	base := Base(name)
	found := make(map[int]string)
	var numbers []int
	for _, path := range Parts(base) {
		rest, _ := cutCompression(path)
		ext := strings.TrimPrefix(filepath.Ext(rest), ".")
		n, ok := volumeNumber(ext)
		switch {
		case ext == "meta" && (r.meta == "" || path == base+".meta"):
			r.meta = path
		case ok && (found[n] == "" || path == rest):
			if found[n] == "" {
				numbers = append(numbers, n)
			}
			found[n] = path
		}
	}
	if r.meta == "" && len(numbers) == 0 {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			return "", fmt.Errorf("%s is a directory: name an archive in it, what its files begin with before .meta", name)
		}
		return "", fmt.Errorf("there is no archive of PCP called %s: neither %s.meta nor %s.0", name, base, base)
	}
	if r.meta == "" {
		return "", fmt.Errorf("%s.meta is missing, which says what the values of the archive are", base)
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		if i == 0 && n > 0 || i > 0 && n != numbers[i-1]+1 {
			r.Notes = append(r.Notes, fmt.Sprintf("%s.%d is missing", base, n-1))
		}
		r.volumes = append(r.volumes, found[n])
	}
	if len(numbers) == 0 {
		return "", fmt.Errorf("%s.0 is missing, which holds the values of the archive", base)
	}
	return base, nil
}

// describe reads the metadata without a time: the descriptions of metrics, and their help.
func (r *Reader) describe() error {
	f, err := openFrames(r.meta)
	if err != nil {
		return err
	}
	defer f.close()
	b, err := f.next()
	if err == nil {
		r.Label, err = parseLabel(b)
	}
	if err != nil {
		return fmt.Errorf("%s is no metadata of PCP: %w", r.meta, err)
	}
	texts, labels, names := 0, 0, 0
	for {
		b, err := f.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			r.note(err)
			return nil
		}
		in := body{b: b}
		switch in.word() {
		case typeLabels2, typeLabels3:
			in.time(r.Label.Version)
			if labels += len(b); labels < maxLabels && r.says(&in) {
				var c change
				c.labelled(&in)
				r.Said[c.labels] = c.sets
			}
		case typeDesc:
			d, ok := parseDesc(&in)
			if !ok || r.Descs[d.PMID] != nil {
				continue
			}
			if names += len(d.Names); names > maxDescs {
				r.note(fmt.Errorf("%s names more than %d metrics: the others are left out", r.meta, maxDescs))
				continue
			}
			r.Descs[d.PMID] = d
		case typeText:
			if texts += len(b); texts < maxTexts {
				r.text(&in)
			}
		}
	}
}

// says reports whether a record of labels is the first for the host, a domain or a metric.
func (r *Reader) says(in *body) bool {
	at := *in
	key := LabelKey{int(int32(at.word())), at.word()}
	_, known := r.Said[key]
	return !known && !at.short && (key.Kind == pcp.LabelContext || key.Kind == pcp.LabelDomain || key.Kind == pcp.LabelItem)
}

func (r *Reader) text(in *body) {
	kind, ident := in.word(), in.word()
	if kind&textPMID == 0 {
		return
	}
	t := r.Texts[ident]
	if t == nil {
		t = &Text{}
		r.Texts[ident] = t
	}
	if kind&textLine != 0 {
		t.Line = in.text(len(in.b))
	} else {
		t.Help = in.text(len(in.b))
	}
}

func (r *Reader) note(err error) {
	text := err.Error()
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

var errLabel = errors.New("it does not begin with a label of version 2 or 3")

func parseLabel(b []byte) (Label, error) {
	in := body{b: b}
	var l Label
	host, tz := 256, 256
	switch in.word() {
	case magic3:
		l.Version = 3
	case magic2:
		l.Version, host, tz = 2, 64, 40
	default:
		return l, errLabel
	}
	l.PID = int32(in.word())
	l.Start = in.time(l.Version)
	in.word() // volume
	if l.Version == 3 {
		in.take(8)
	}
	l.Host, l.TZ = in.text(host), in.text(tz)
	if l.Version == 3 {
		l.Zone = in.text(256)
	}
	if in.short {
		return l, errLabel
	}
	return l, nil
}

func parseDesc(in *body) (*Desc, bool) {
	d := &Desc{PMID: in.word(), Type: pcp.Type(int32(in.word())), InDom: in.word(), Semantics: int32(in.word()), Units: in.word()}
	n := in.count(4)
	for range min(n, 64) {
		name := in.text(in.count(1))
		if len(name) > maxName {
			return nil, false
		}
		d.Names = append(d.Names, name)
	}
	return d, !in.short && len(d.Names) > 0
}

// A change is a metadata record with a time.
type change struct {
	when   int64
	kind   uint32
	indom  uint32
	list   []Instance
	labels LabelKey
	sets   []LabelSet
}

// upTo applies the metadata up to a time.
func (r *Reader) upTo(when int64) {
	for {
		if r.ahead == nil && !r.look() {
			return
		}
		if r.ahead.when > when {
			return
		}
		r.apply(r.ahead)
		r.ahead = nil
	}
}

// look finds the next change.
func (r *Reader) look() bool {
	for r.changes != nil {
		b, err := r.changes.next()
		if err != nil {
			r.changes.close()
			r.changes = nil
			return false
		}
		in := body{b: b}
		c := &change{kind: in.word()}
		switch c.kind {
		case typeIndom2, typeIndom3, typeIndomDelta:
			c.when = in.time(r.Label.Version)
			c.indoms(&in)
		case typeLabels2, typeLabels3:
			c.when = in.time(r.Label.Version)
			c.labelled(&in)
		default:
			continue
		}
		if in.short {
			r.note(&cutError{r.changes.name, r.changes.off - int64(len(b)) - 8, "damaged"})
			continue
		}
		r.ahead = c
		return true
	}
	return false
}

func (c *change) indoms(in *body) {
	c.indom = in.word()
	n := in.count(8)
	ids, offs := in.take(4*n), in.take(4*n)
	c.list = make([]Instance, n)
	id, off := body{b: ids}, body{b: offs}
	budget := 4 * len(in.b) // names may be shared, so they can be longer together than the record
	for i := range c.list {
		c.list[i].ID = id.word()
		at := off.word()
		switch {
		case at == pcp.Null:
			c.list[i].Gone = true
		case uint64(at) >= uint64(len(in.b)):
			in.short = true
		default:
			c.list[i].Name = cstring(in.b[at:])
			if budget -= len(c.list[i].Name); budget < 0 {
				in.short = true
				return
			}
		}
	}
}

func (c *change) labelled(in *body) {
	c.labels = LabelKey{int(int32(in.word())), in.word()}
	n := in.count(12)
	for range n {
		s := LabelSet{Instance: in.word()}
		s.JSON = string(in.take(in.count(1)))
		in.take(8 * in.count(8))
		c.sets = append(c.sets, s)
	}
}

func (r *Reader) apply(c *change) {
	if c.kind == typeLabels2 || c.kind == typeLabels3 {
		r.labels -= labelBytes(r.Labels[c.labels])
		if n := labelBytes(c.sets); r.labels+n <= maxLabels {
			r.labels += n
			r.Labels[c.labels] = c.sets
		}
		return
	}
	d := r.InDoms[c.indom]
	if d == nil {
		if len(r.InDoms) >= maxRosters {
			return
		}
		d = &InDom{Names: make(map[uint32]string)}
		r.InDoms[c.indom] = d
	}
	d.Changed++
	if c.kind != typeIndomDelta {
		r.held -= len(d.Names)
		clear(d.Names)
	} else {
		r.held -= len(d.Names)
	}
	for _, in := range c.list {
		if in.Gone {
			delete(d.Names, in.ID)
		} else if r.held+len(d.Names) < maxInstances {
			d.Names[in.ID] = in.Name
		}
	}
	r.held += len(d.Names)
}

func labelBytes(sets []LabelSet) int {
	n := 0
	for _, s := range sets {
		n += 16 + len(s.JSON)
	}
	return n
}
