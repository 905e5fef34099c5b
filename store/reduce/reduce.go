package reduce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/fault"
	"tachograph/store/layout"
	"tachograph/store/rewrite"
)

// Options say how archives are reduced.
type Options struct {
	// Step is the length of a step: whole seconds that divide a day.
	Step time.Duration
	// Process reports whether a process, given by its key, keeps a row of its own; nil: all do.
	// What the others used is summed up in one row.
	Process func(key string) bool
	// Of, if set, are the IDs of the archives that the result names as its sources, for files
	// that were put together only to be reduced.
	Of []string
	// Progress, if set, is called with how much of the archives has been read.
	Progress func(done, total int64)
	// Pace, if set, is called between pieces of work, for callers that must not disturb others.
	Pace func()
	// Note, if set, is called with what cannot be read. Without it, that is an error.
	Note func(error)
}

// Check returns an error if these archives cannot be reduced to that step.
func Check(step time.Duration, infos []*archive.Info) error {
	const day = 24 * time.Hour
	if step < time.Second || step > day || step%time.Second != 0 || day%step != 0 {
		return fmt.Errorf("a step of %v does not divide a day: 10s, 1m, 5m, 15m, 1h and 1d do", step)
	}
	for _, in := range infos {
		if in.Step != 0 && (int64(step)%in.Step != 0 || int64(step) == in.Step) {
			return fmt.Errorf("%s has steps of %v already: it can be reduced to a multiple of that, which %v is not", in.Path, time.Duration(in.Step), step)
		}
	}
	return nil
}

// Boots groups archives, which must be in the order of time, by boot and host.
func Boots(files []*archive.File) [][]*archive.File {
	var out [][]*archive.File
	place := make(map[[2]string]int)
	for _, f := range files {
		id := [2]string{f.Info.Host.ID, f.Info.BootID}
		i, ok := place[id]
		if !ok {
			i = len(out)
			place[id] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], f)
	}
	return out
}

// Archive makes one reduced archive, at path, of archives of one boot, which must be in the
// order of time. After an error there is nothing at path.
func Archive(ctx context.Context, path string, files []*archive.File, opt Options) (err error) {
	infos := make([]*archive.Info, len(files))
	for i, f := range files {
		infos[i] = &f.Info
	}
	if err := Check(opt.Step, infos); err != nil {
		return err
	}
	r := &reducer{ctx: ctx, opt: opt, files: files, known: make(map[metric.Desc]*metric.Desc)}
	if r.w, err = rewrite.Create(path, r.about()); err != nil {
		return err
	}
	defer r.w.Abort()
	for _, f := range files {
		for _, ref := range f.Chunks {
			r.total += ref.Info.Size
		}
	}
	for class := range metric.NumClasses {
		if err := r.class(class); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := r.events(f); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.w.Finish()
}

// A reducer reduces the archives of one boot.
type reducer struct {
	ctx   context.Context
	opt   Options
	files []*archive.File
	w     *rewrite.Writer
	known map[metric.Desc]*metric.Desc
	total int64
	done  int64
}

// about returns what the reduced archive says about itself: what the last source says.
func (r *reducer) about() rewrite.About {
	first, last := &r.files[0].Info, &r.files[len(r.files)-1].Info
	a := rewrite.About{Host: last.Host, Boot: last.BootID, TimeZone: last.TimeZone, Recorder: last.Recorder, Config: last.Config,
		Intervals: last.Intervals, Created: first.From, Reduced: &layout.Reduction{Step: int64(r.opt.Step)}}
	for c, every := range a.Intervals {
		if every > 0 {
			a.Intervals[c] = max(every, r.opt.Step)
		}
	}
	for _, f := range r.files {
		if r.opt.Of != nil {
			a.Reduced.Of = r.opt.Of
		} else if f.Info.Step == 0 {
			a.Reduced.Of = append(a.Reduced.Of, f.Info.ID)
		} else {
			a.Reduced.Of = append(a.Reduced.Of, f.Info.Of...)
		}
		for n := range f.Descs {
			if d := f.Desc(uint32(n)); d != nil && !layout.IsReduced(d.Name) {
				a.Catalog = append(a.Catalog, r.desc(*d))
			}
		}
	}
	return a
}

// desc returns the one pointer for a description.
func (r *reducer) desc(d metric.Desc) *metric.Desc {
	if known := r.known[d]; known != nil {
		return known
	}
	r.known[d] = &d
	return &d
}

// class reduces what was recorded of a class.
func (r *reducer) class(class metric.Class) error {
	f := newFolder(r, class)
	for _, file := range r.files {
		if err := f.enter(file); err != nil {
			return err
		}
		var refs []*archive.ChunkRef
		for _, ref := range file.Chunks {
			if ref.Info.Class == class {
				refs = append(refs, ref)
			}
		}
		slices.SortStableFunc(refs, func(x, y *archive.ChunkRef) int {
			return compare(x.Info.First.Cont, y.Info.First.Cont)
		})
		for _, ref := range refs {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			err := fault.Contain(func() error { return f.chunk(ref) })
			ref.Opened = nil
			if err != nil {
				if errors.As(err, new(*writeError)) || r.ctx.Err() != nil || r.opt.Note == nil {
					return errors.Join(r.ctx.Err(), err)
				}
				r.opt.Note(ref.Wrong(err))
			}
			r.done += ref.Info.Size
			if r.opt.Progress != nil {
				r.opt.Progress(r.done, r.total)
			}
		}
	}
	return f.end()
}

func compare(x, y int64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// A writeError is an error of the output, not of the input.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

// pace lets other work go first, and returns an error if the context has ended.
func (r *reducer) pace() error {
	if r.opt.Pace != nil {
		r.opt.Pace()
	}
	return r.ctx.Err()
}

// events copies the events of an archive.
func (r *reducer) events(f *archive.File) error {
	for _, churn := range []bool{false, true} {
		for i := range f.Events {
			if f.Events[i].Churn != churn {
				continue
			}
			list, err := f.Events[i].Events(f)
			if err != nil {
				if r.opt.Note == nil {
					return err
				}
				r.opt.Note(err)
				continue
			}
			for k := range list {
				if err := r.w.Event(&list[k]); err != nil {
					return err
				}
			}
			if err := r.pace(); err != nil {
				return err
			}
		}
	}
	return nil
}
