package follow

import (
	"errors"
	"io/fs"
	"time"

	"tachograph/store/fault"
	"tachograph/store/layout"
)

// tryAgain is when to retry what cannot be read just now. It is also how long an archive may
// yield nothing after the next one has begun.
const tryAgain = time.Second

// look finds what follows when everything has been read and the directory has changed: the next
// generation of the journal, the file that the archive has become, or the next archive. It
// reports whether there may be something to read.
func (f *Follower) look() bool {
	f.due = time.Time{}
	if err := f.shelf.scan(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.due = time.Now().Add(tryAgain)
		return false
	}
	for _, err := range f.shelf.untold() {
		f.lose(err)
	}
	if f.vol == nil {
		b := f.shelf.first(f.opt.Host)
		return b != nil && f.enter(b)
	}
	v := f.vol
	if !f.away && v.newer() {
		return true
	}
	here := f.shelf.find(v.head.ID)
	if here != nil && (f.away || here.path != v.path && !layout.IsLiveName(here.path) && v.file.Info.Live || v.vanished()) {
		moved := here.path != v.path
		v.path = here.path
		if moved || f.away || v.changed() {
			f.away = false
			if v.reload(); f.away {
				f.due = time.Now().Add(tryAgain)
			}
			return !f.away
		}
		if len(v.gens) > 0 {
			// The file holds all of a journal that was already removed when the file was
			// opened. A write to the file shows that a journal is begun again.
			v.closeJournal()
			v.watch()
		}
	}
	if here == nil && v.vanished() && v.changed() {
		v.reload()
		return !f.away
	}
	next := f.shelf.after(v.head.ID)
	if next == nil {
		return false
	}
	if !v.over(next, here == nil) {
		f.due = time.Now().Add(tryAgain)
		return false
	}
	// Records may have been added since the last read.
	if it, ok := v.next(); ok {
		f.queue = append(f.queue, it)
		return true
	}
	return f.enter(next)
}

// vanished reports whether the generation being read is not in its place any more.
func (v *volume) vanished() bool {
	return v.file.Info.Live && (len(v.gens) == 0 || v.replaced(v.gens[0]))
}

// over reports whether nothing more is added to v, now that next has begun.
func (v *volume) over(next *book, gone bool) bool {
	switch {
	case gone, v.f.away, !v.file.Info.Live, v.rotated:
		return true
	case v.file.Progress != nil && v.file.Progress.Closed:
		return true
	}
	return next.head.BootID != v.head.BootID || next.begun()
}

// begun reports whether something has been recorded into b. After that, nothing is recorded
// into the archive before it.
func (b *book) begun() bool {
	v := &volume{f: &Follower{wake: newWaker()}, path: b.path, head: *b.head, told: make(map[string]bool)}
	v.f.same.Enter("")
	defer v.f.wake.close()
	defer v.close()
	return v.load() == nil && (v.any || v.record() != nil)
}

// enter goes on to the archive b.
func (f *Follower) enter(b *book) bool {
	v, err := f.open(b)
	if errors.Is(err, fs.ErrNotExist) {
		return true // It was finished or removed since the directory was listed.
	}
	if err != nil {
		if !b.told {
			b.told = true
			f.lose(&fault.Error{Op: "follow", Path: b.path, Err: err})
		}
		if f.shelf.pass(b) {
			return true
		}
		f.due = time.Now().Add(tryAgain)
		return false
	}
	pos := Position{Archive: b.head.ID}
	if f.vol != nil {
		if f.vol.head.BootID == b.head.BootID {
			pos.Ticks = f.pos.Ticks // what an earlier archive has delivered is not delivered again
		}
		f.vol.close()
	}
	f.opt.Host, f.vol, f.pos, f.away = b.head.Host.ID, v, pos, false
	v.begin()
	return true
}

// first returns the archive of a host that was begun first.
func (s *shelf) first(host string) *book {
	for _, b := range s.order {
		if host == "" || b.head.Host.ID == host {
			return s.find(b.head.ID)
		}
	}
	return nil
}
