package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/fault"
	"tachograph/store/layout"
	"tachograph/store/source"
)

// A Reader reads one or many archives as one timeline. What it returns is
// consistent: it sees what was there when it was opened or last refreshed. A
// Reader is used by one goroutine at a time, and its Twin by another.
type Reader struct {
	*opened
	scope
	archives []*source.Source
	single   bool // it never has a twin
}

// opened is the state that a Reader and its views share.
type opened struct {
	paths    []string
	complete func(*metric.Host, *metric.Desc)
	refused  []Loss // files that cannot be opened, until they are reported
	copies   []string
	whole    bool // show everything in an archive, even what others hold too
}

// Until ends all questions soon after ctx ends, also those of twins and of views that are made
// from now on. The caller discards what they have answered by then.
func (r *Reader) Until(ctx context.Context) { r.until = ctx }

// Single keeps r from having a twin. A server does so for each client, so that one question
// does not use all processors.
func (r *Reader) Single() { r.single = true }

// Open opens archives. A path is a file, or a directory whose archives are all opened.
func Open(paths ...string) (*Reader, error) { return OpenWith(nil, paths...) }

// OpenWith is Open for readers that know more about metrics than older archives say: complete
// gets a copy of each description that is used, and may add to it.
func OpenWith(complete func(*metric.Host, *metric.Desc), paths ...string) (*Reader, error) {
	return (&Reader{opened: &opened{paths: paths, complete: complete}}).open()
}

// OpenWhole is Open for callers that merge archives: each archive shows everything in its file,
// even what other archives hold too.
func OpenWhole(paths ...string) (*Reader, error) {
	return (&Reader{opened: &opened{paths: paths, whole: true}}).open()
}

func (r *Reader) open() (*Reader, error) {
	r.shared = &shared{instances: newInstances()}
	if err := r.Refresh(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// mostTold is for how many archives Refresh says why they cannot be read, where none can.
const mostTold = 8

// Refresh looks for what has been recorded since: new archives, and new ticks in live ones.
// Archives that are gone are forgotten.
func (r *Reader) Refresh() error {
	r.alone()
	var now []*source.Source
	var refused []Loss
	var errs []error
	for try := 1; ; try++ {
		files, err := r.files()
		if err != nil {
			return err
		}
		now, refused, errs = r.take(files)
		// A writer may have finished an archive, which renames it, since the
		// directory was read.
		again, err := r.files()
		if try == archive.LoadTries || err == nil && slices.Equal(files, again) {
			break
		}
		r.replace(now)
	}
	r.replace(now)
	r.archives, r.copies = source.WithoutCopies(source.WithoutPast(now), r.whole)
	r.sort()
	if len(now) == 0 {
		if more := len(errs) - mostTold; more > 0 {
			errs = append(errs[:mostTold], fmt.Errorf("and so for %d others", more))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		return &fault.Error{Kind: fault.NotFound, Err: fmt.Errorf("there is no archive in %s", strings.Join(r.paths, ", "))}
	}
	// One archive that cannot be read does not hide the others.
	r.refused = refused
	return nil
}

// files lists the archive files that the reader's paths name.
func (r *Reader) files() ([]string, error) {
	var files []string
	for _, p := range r.paths {
		more, err := expand(p)
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// take opens the files, or looks for news in those that are open. It begins with the latest:
// while a writer rotates from one archive to the next, the old one is complete once the new one
// holds anything.
func (r *Reader) take(files []string) (now []*source.Source, refused []Loss, errs []error) {
	for _, f := range slices.Backward(files) {
		i := slices.IndexFunc(r.archives, func(a *source.Source) bool { return a.Info.Path == f })
		var a *source.Source
		var err error
		if i < 0 {
			err = fault.Contain(func() (err error) { a, err = source.Open(f); return err })
			if a != nil {
				a.Complete = r.complete
			}
		} else {
			a = r.archives[i]
			err = fault.Contain(a.Refresh)
		}
		if errors.As(err, new(fault.Failed)) {
			err = &fault.Error{Path: f, Err: err}
		}
		if a != nil {
			now = append(now, a)
			if err != nil {
				a.Hurt(err)
			}
		} else {
			refused, errs = append(refused, source.Refused(f, err)), append(errs, err)
		}
	}
	return now, refused, errs
}

// replace makes now the open archives and closes the others.
func (r *Reader) replace(now []*source.Source) {
	for _, a := range r.archives {
		if !slices.Contains(now, a) {
			_ = a.Close()
		}
	}
	r.archives = now
}

// sort sorts the archives by time.
func (r *Reader) sort() {
	slices.SortStableFunc(r.archives, func(a, b *source.Source) int { return cmp.Compare(a.Info.Begin(), b.Info.Begin()) })
	// Each part of a boot begins with its standing values, which the part before already has.
	began := make(map[[2]string]bool)
	for _, a := range r.archives {
		boot := [2]string{a.Info.Host.ID, a.Info.BootID}
		a.Covered = 0
		if began[boot] {
			a.Covered = a.Info.Since
		}
		began[boot] = true
	}
}

// expand lists the archive files that path names.
func expand(path string) ([]string, error) {
	st, err := layout.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return unbundled(path), nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if e.Type()&fs.ModeType == 0 && (strings.HasSuffix(e.Name(), layout.FinishedSuffix) || strings.HasSuffix(e.Name(), layout.LiveSuffix)) {
			files = append(files, unbundled(filepath.Join(path, e.Name()))...)
		}
	}
	return files, nil
}

// unbundled returns the file at path, or the archives in it if it is a bundle. A damaged bundle
// is returned too, so that opening it reports the damage.
func unbundled(path string) []string {
	members, isBundle, err := layout.BundleAt(path)
	if !isBundle || err != nil {
		members = append(members, path)
	}
	return members
}

// Close releases the files.
func (r *Reader) Close() error {
	r.alone()
	var errs []error
	for _, a := range r.archives {
		errs = append(errs, a.Close())
	}
	r.archives = nil
	return errors.Join(errs...)
}

// Hosts returns the recorded hosts, each as its latest archive describes it.
func (r *Reader) Hosts() []metric.Host {
	return HostsOf(r.Archives())
}

// Archives returns the archives in the order of time.
func (r *Reader) Archives() []*archive.Info {
	var infos []*archive.Info
	for _, a := range r.archives {
		infos = append(infos, &a.Info)
	}
	return infos
}

// Copies returns the paths of the archives that the reader leaves out, because others hold all
// that they do.
func (r *Reader) Copies() []string { return r.copies }

// Files returns the archives in the order of time, for callers that read everything in them and
// ask nothing else meanwhile.
func (r *Reader) Files() []*archive.File {
	r.alone()
	files := make([]*archive.File, len(r.archives))
	for i, s := range r.archives {
		files[i] = s.File
	}
	return files
}

// Metrics returns the metrics of all archives by name; where there are several descriptions,
// the newest.
func (r *Reader) Metrics() []*metric.Desc {
	byName := make(map[string]*metric.Desc)
	for _, a := range r.archives {
		for n := range a.Descs {
			if d := a.Desc(uint32(n)); d != nil {
				byName[d.Name] = d
			}
		}
	}
	ds := make([]*metric.Desc, 0, len(byName))
	for _, d := range byName {
		ds = append(ds, d)
	}
	slices.SortFunc(ds, func(a, b *metric.Desc) int { return strings.Compare(a.Name, b.Name) })
	return ds
}

// Lookup returns the newest description of the metric called name, or nil.
func (r *Reader) Lookup(name string) *metric.Desc {
	for i := len(r.archives) - 1; i >= 0; i-- {
		a := r.archives[i]
		if ns := a.ByName[name]; len(ns) > 0 {
			return a.Desc(ns[len(ns)-1])
		}
	}
	return nil
}

// LookupIn returns the newest description of the metric called name in one of the reader's
// archives, or nil.
func (r *Reader) LookupIn(info *archive.Info, name string) *metric.Desc {
	for _, a := range r.archives {
		if ns := a.ByName[name]; &a.Info == info && len(ns) > 0 {
			return a.Desc(ns[len(ns)-1])
		}
	}
	return nil
}

// Losses returns what could not be read for the answers since the last call, each once: files
// that could not be opened at all, and stretches of those that could. Damage found when an
// archive was opened is in ArchiveInfo.Damage. A loss concerns only the file at its Path.
func (r *Reader) Losses() []Loss {
	losses := r.refused
	r.refused = nil
	for _, s := range r.archives {
		losses = append(losses, s.TakeLosses()...)
	}
	return losses
}

// archivesOf returns the archives that may hold something sel asks for.
func (r *Reader) archivesOf(sel *Selection) []*source.Source {
	var out []*source.Source
	for _, a := range r.archives {
		if a.Info.From <= sel.End() && a.Info.To >= sel.From && (sel.Hosts == nil || slices.Contains(sel.Hosts, a.Info.Host.ID)) {
			out = append(out, a)
		}
	}
	return out
}

// Seams returns the wall clocks, between from and to, at which the chunks of the class with the
// most ticks end. Summarizing what lies between two of them needs no decoding.
func (r *Reader) Seams(hosts []string, from, to int64) []int64 {
	var seams []int64
	for _, a := range r.archivesOf(&Selection{Hosts: hosts}) {
		var busiest metric.Class
		ticks := make(map[metric.Class]uint64)
		for _, ref := range a.Chunks {
			ticks[ref.Info.Class] += ref.Info.Ticks
			if ticks[ref.Info.Class] > ticks[busiest] {
				busiest = ref.Info.Class
			}
		}
		for _, ref := range a.Chunks {
			if ref.Info.Class == busiest && ref.Info.To > from && ref.Info.To < to {
				seams = append(seams, ref.Info.To)
			}
		}
	}
	slices.Sort(seams)
	return slices.Compact(seams)
}

// keepOpen is how many chunks with decoded parts stay open after a query.
const keepOpen = 64

// release forgets what was decoded of a, if more than keepOpen chunks of all archives hold
// decoded parts.
func (r *Reader) release(a *source.Source) {
	n := 0
	for _, other := range r.archives {
		for _, ref := range other.Chunks {
			if ref.Opened != nil && ref.Opened.Holds() {
				n++
			}
		}
	}
	if n <= keepOpen {
		return
	}
	for _, ref := range a.Chunks {
		ref.Opened = nil
	}
}
