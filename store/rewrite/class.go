package rewrite

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/fault"
)

// A job copies the ticks of a class.
type job struct {
	*copier
	class metric.Class
	views []*archive.File // the copier's files, opened for this job alone
	// same says for each file whether its metrics have the same numbers in the copy.
	same  []bool
	parts []part // in the order of time
	// Ticks between the continuous clocks lead and opens, both exclusive, are copied whole: the
	// window begins at opens.
	lead, opens int64
	clip        clipper
	rows        rowFilter
	maps        *mapper
	named       archive.Sameness // descriptions and groups, shared by all files
}

// A part is a chunk and the file that holds it.
type part struct {
	ref  *archive.ChunkRef
	file int
}

// job prepares to copy a class.
func (c *copier) job(class metric.Class) *job {
	j := &job{copier: c, class: class, lead: math.MaxInt64}
	for i, f := range c.files {
		if !slices.ContainsFunc(f.Chunks, func(r *archive.ChunkRef) bool { return r.Info.Class == class }) {
			j.views, j.same = append(j.views, nil), append(j.same, false)
			continue
		}
		view := f.Twin()
		view.Complete = nil
		j.views = append(j.views, view)
		j.same = append(j.same, c.sameNumbers(view))
		for _, r := range view.Chunks {
			if r.Info.Class == class {
				j.parts = append(j.parts, part{r, i})
			}
		}
	}
	slices.SortStableFunc(j.parts, byTime)
	if c.opt.Mapping != nil {
		j.maps = newMapper(c.opt.Mapping)
	}
	return j
}

// sameNumbers reports whether the metrics of f have the same numbers in the copy.
func (c *copier) sameNumbers(f *archive.File) bool {
	if c.opt.Metrics != nil {
		return false
	}
	for n, d := range f.Descs {
		if d == nil || c.w.number(d) != uint32(n) {
			return false
		}
	}
	return true
}

// run copies the class.
func (j *job) run() error {
	return fault.Contain(func() error {
		j.dropTwins()
		done, err := j.standing()
		if err != nil {
			return err
		}
		for i := 0; i < len(j.parts); {
			if err := j.opt.ended(); err != nil {
				return err
			}
			end := j.cluster(i)
			var err error
			switch {
			case slices.Contains(done, j.parts[i].ref):
			case end == i+1:
				err = j.one(i)
			default:
				err = j.join(j.parts[i:end])
			}
			if err != nil {
				return err
			}
			for _, p := range j.parts[i:end] {
				j.progress.add(p.ref.Info.Size)
			}
			i = end
		}
		return j.w.end(&j.w.classes[j.class]) // beside the other classes
	})
}

// dropTwins drops a chunk that another file has, too, byte for byte: the first readable one
// stays. If none can be read, all stay, and values that are damaged in one are taken from
// another.
func (j *job) dropTwins() {
	seen := make(map[chunk.Info]int) // index in kept
	kept := j.parts[:0]
	for _, p := range j.parts {
		in := p.ref.Info
		if in.Sum == 0 || len(j.files[p.file].Hidden) > 0 {
			kept = append(kept, p) // it is not encoded, or a part of it is hidden
			continue
		}
		at, twice := seen[in]
		if !twice {
			seen[in] = len(kept)
			kept = append(kept, p)
			continue
		}
		switch {
		case kept[at].sound():
		case p.sound():
			kept[at] = p
		default:
			kept = append(kept, p)
			continue
		}
		j.mu.Lock()
		j.report.Twice += in.Ticks
		j.mu.Unlock()
	}
	j.parts = kept
}

// sound reports whether the chunk's bytes are as they were written.
func (p part) sound() bool {
	return fault.Contain(func() error {
		_, err := p.ref.Sealed()
		return err
	}) == nil
}

// cluster returns the end of the run of parts, from the i-th on, of which each overlaps one
// before it.
func (j *job) cluster(i int) int {
	last := j.parts[i].ref.Info.Last.Cont
	for i++; i < len(j.parts) && j.parts[i].ref.Info.First.Cont <= last; i++ {
		last = max(last, j.parts[i].ref.Info.Last.Cont)
	}
	return i
}

// alone reports whether a part overlaps with no other.
func (j *job) alone(i int) bool {
	return j.cluster(i) == i+1 && !slices.ContainsFunc(j.parts[:i], func(p part) bool {
		return p.ref.Info.Last.Cont >= j.parts[i].ref.Info.First.Cont
	})
}

// reaches reports whether a chunk may hold something of the window.
func (j *job) reaches(in *chunk.Info) bool {
	return in.To >= j.from && in.From <= j.to || in.Last.Cont > j.lead && in.First.Cont < j.opens
}

// one copies what a chunk holds of the window: the whole chunk as it is, or the selected values.
func (j *job) one(i int) error {
	p := j.parts[i]
	in := &p.ref.Info
	if !j.reaches(in) {
		return nil
	}
	if in.From >= j.from && in.To <= j.to && j.opt.whole() && len(j.files[p.file].Hidden) == 0 {
		done, err := j.taken(p)
		if done || err != nil {
			return err
		}
	}
	if done, err := j.cutOne(i); done || err != nil {
		return err
	}
	ticks, err := j.open(p)
	if err == nil {
		err = j.each(ticks, j.files[p.file].Hides, j.append)
	}
	p.ref.Opened = nil
	return j.unless(p, err)
}

// taken copies a chunk as it is, if it has bytes.
func (j *job) taken(p part) (done bool, err error) {
	s, _ := p.ref.Sealed()
	if s == nil {
		return false, nil // decoding it reports what is wrong
	}
	f := j.views[p.file]
	if !j.same[p.file] {
		if slices.Contains(f.Descs, nil) {
			return false, nil
		}
		c, err := chunk.Open(bytes.NewReader(s.Data), s.Info.Size)
		if err != nil {
			return false, nil
		}
		if s, err = chunk.Renumber(c, f.Desc, j.w.number); err != nil {
			return false, nil
		}
	}
	if err := j.w.take(s); err != nil {
		return true, err
	}
	j.saw(s.Info.From, s.Info.To)
	j.mu.Lock()
	j.written.Copied++
	j.mu.Unlock()
	return true, nil
}

// unless returns err, except that it reports errors in a source as losses and returns nil for
// them, so that the copy goes on.
func (j *job) unless(p part, err error) error {
	if wrong := (*sourceError)(nil); errors.As(err, &wrong) {
		j.copier.lost(j.files[p.file], p.ref.Wrong(wrong.err))
		return nil
	}
	return err
}

// A sourceError is an error in a source, not in what is written.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }

func ofSource(err error) error {
	if err == nil {
		return nil
	}
	return &sourceError{err}
}

// draining describes how ticks are taken out of a file.
func (j *job) draining(file int) *archive.Draining {
	return &archive.Draining{File: j.views[file], Info: &j.views[file].Info, Same: j.named.Apart(), AsDescribed: true, Metric: j.opt.Metrics,
		Lost: func(err error) { j.copier.lost(j.files[file], err) }}
}

// open returns the ticks of a chunk; those after the window's end are not decoded.
func (j *job) open(p part) (*chunk.Ticks, error) {
	var ticks *chunk.Ticks
	err := fault.Contain(func() (err error) {
		d := j.draining(p.file)
		if ticks, err = d.Ticks(p.ref, 0, nil); err != nil {
			return err
		}
		stamps, err := p.ref.Opened.Stamps()
		if err != nil {
			return err
		}
		end := len(stamps)
		for end > 0 && stamps[end-1].Wall > j.to && !j.leads(stamps[end-1]) {
			end--
		}
		ticks.Until(end)
		return nil
	})
	return ticks, ofSource(err)
}

// each calls fn for the ticks of the window, except those that hides hides.
func (j *job) each(ticks *chunk.Ticks, hides func(int64) bool, fn func(*metric.Tick) error) error {
	for {
		at, ok := ticks.At()
		if !ok {
			return nil
		}
		if then, more := ticks.Then(); j.outside(at, then, more) || hides(at.Wall) {
			if err := ticks.Skip(); err != nil {
				return nil
			}
			continue
		}
		var t *metric.Tick
		err := fault.Contain(func() (err error) {
			t, err = ticks.Next()
			return err
		})
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return ofSource(err)
		}
		if !j.leads(at) {
			t = j.clip.clip(t, j.from, j.to)
		}
		if t == nil {
			continue
		}
		if err := fn(t); err != nil {
			return err
		}
	}
}

// leads reports whether a tick is one of those that lead to the window.
func (j *job) leads(at metric.Stamp) bool { return at.Cont > j.lead && at.Cont < j.opens }

// outside reports whether a tick holds nothing that is copied; then is the tick after it, if
// there is more.
func (j *job) outside(at, then metric.Stamp, more bool) bool {
	if j.leads(at) {
		return false
	}
	return at.Wall > j.to || at.Wall < j.from && (at.Cont <= j.lead || more && then.Wall < j.from)
}

// append appends the selected values of a tick of the window.
func (j *job) append(t *metric.Tick) error {
	ok, err := j.appended(t)
	if ok && err == nil && !j.leads(t.At) {
		j.saw(t.At.Wall, t.At.Wall)
	}
	return err
}

// appended appends the selected values of a tick, and reports whether there were any.
func (j *job) appended(t *metric.Tick) (bool, error) {
	if j.lead != math.MaxInt64 && t.At.Cont <= j.lead {
		return true, nil // it is copied already, among what stood when the window began
	}
	if j.opt.Instance != nil {
		t = j.rows.filter(t, j.opt.Instance)
		j.keep(t)
	}
	if len(t.Blocks) == 0 && (j.opt.Metrics != nil || j.opt.Instance != nil) {
		return false, nil
	}
	if j.maps != nil {
		t = j.maps.tick(t)
	}
	return true, j.w.Append(t)
}

// keep notes which instances are copied.
func (j *job) keep(t *metric.Tick) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.kept == nil {
		j.kept = make(map[[2]string]bool)
	}
	for _, b := range t.Blocks {
		for _, in := range b.Rows {
			if in != nil {
				j.kept[[2]string{b.Group.Indom, in.Key}] = true
			}
		}
	}
}
