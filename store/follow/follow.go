package follow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/fault"
)

// Options are what to follow, and from where.
type Options struct {
	// Host is the ID of the host to follow. It may be empty: the host is then the one that was
	// recorded last.
	Host string
	// From is the position to go on from; the zero Position is the present end.
	From Position
	// Standing asks to begin with the standing values at From: of each class the last tick at or
	// before it, with the last earlier block of each group that this tick lacks.
	Standing bool
	// Classes are the classes whose ticks are wanted; nil: all.
	Classes []metric.Class
	// Complete, if set, gets a copy of each description that is used, and may add to it what
	// the archive left out.
	Complete func(*metric.Host, *metric.Desc)
	// Wait makes it no error if there is no archive yet. What is recorded from then on is
	// delivered from its beginning.
	Wait bool
}

// ErrGone says that the archive of a position no longer exists.
var ErrGone = errors.New("the archive of this position is not there any more: it was removed, or stands in another place; begin at the present end")

// ErrClosed is the error of a Follower that has been closed.
var ErrClosed = errors.New("the follower is closed")

// A Follower delivers what is recorded. It is used by one goroutine at a time. Several in one
// process are independent of each other.
type Follower struct {
	opt   Options
	want  [metric.NumClasses]bool
	shelf shelf
	wake  *waker
	same  archive.Sameness
	vol   *volume // the archive being read; nil while there is none
	pos   Position
	queue []archive.Item // delivered before anything else
	here  bool           // Present was the last item
	more  bool           // the last look found something, and there may be more after it
	away  bool           // the archive being read is not in its place any more
	due   time.Time
	busy  sync.Mutex // held while reading: Close may be called beside Next
}

// Open begins to follow what is recorded in paths, which are archives or directories as for
// store.Open.
func Open(opt Options, paths ...string) (*Follower, error) {
	f := &Follower{opt: opt, shelf: newShelf(paths)}
	for c := range f.want {
		f.want[c] = opt.Classes == nil
	}
	for _, c := range opt.Classes {
		if c < metric.NumClasses {
			f.want[c] = true
		}
	}
	f.same.Complete = opt.Complete
	f.wake = newWaker()
	f.wake.moved.Store(true) // there may be more after what is read first
	for try := 1; ; try++ {
		err := f.begin()
		if err == nil {
			return f, nil
		}
		// An archive that is finished meanwhile gets another name, and a listing of a directory
		// during a rename may contain neither name.
		if try == archive.LoadTries || !errors.Is(err, ErrGone) && !errors.Is(err, fs.ErrNotExist) {
			_ = f.Close()
			return nil, err
		}
	}
}

// begin finds the archive and position to begin at.
func (f *Follower) begin() error {
	f.queue = nil
	f.wake.watchDirs(f.shelf.dirs()) // before they are listed
	if err := f.shelf.scan(); err != nil && !f.opt.Wait {
		return err
	}
	if f.opt.From.Archive != "" {
		b := f.shelf.find(f.opt.From.Archive)
		if b == nil {
			return &fault.Error{Op: "follow", Path: strings.Join(f.shelf.paths, ", "), Kind: fault.NotFound, Err: ErrGone}
		}
		if f.opt.Host != "" && b.head.Host.ID != f.opt.Host {
			return fmt.Errorf("the position is in a recording of host %q (%s), not of the one that is to be followed (%s): begin at the present end",
				b.head.Host.Name, b.head.Host.ID, f.opt.Host)
		}
		f.opt.Host = b.head.Host.ID
		return f.start(b, f.opt.From, false)
	}
	b := f.shelf.latest(f.opt.Host)
	if b == nil {
		if f.opt.Wait {
			return nil
		}
		if f.opt.Host != "" && f.shelf.latest("") != nil {
			return &fault.Error{Kind: fault.NotFound, Err: fmt.Errorf("there is no archive of host %s in %s", f.opt.Host, strings.Join(f.shelf.paths, ", "))}
		}
		return &fault.Error{Kind: fault.NotFound, Err: fmt.Errorf("there is no archive in %s", strings.Join(f.shelf.paths, ", "))}
	}
	f.opt.Host = b.head.Host.ID
	return f.start(b, Position{Archive: b.head.ID}, true)
}

// start reads the archive b from a position on, or from its end.
func (f *Follower) start(b *book, from Position, end bool) error {
	v, err := f.open(b)
	if err != nil {
		return err
	}
	f.vol, f.pos = v, from
	var all standing
	if end {
		v.toEnd(&all)
	} else if f.opt.Standing {
		v.standAt(from, &all)
	}
	if f.opt.Standing {
		f.queue = append(f.queue, v.standing(&all)...)
		if prev := f.shelf.prior(b); prev != nil && all.lacks(&f.want, v.info) {
			v.close()
			f.vol = nil
			items, err := f.earlier(prev, &all)
			if err != nil {
				return err
			}
			f.queue = append(items, f.queue...)
			if v, err = f.open(b); err != nil {
				return err
			}
			f.vol = v
		}
	}
	v.begin()
	return nil
}

// Position returns the position after the last Item. While the standing values are delivered, it is the
// position from which the Follower goes on.
func (f *Follower) Position() Position { return f.pos }

// Close ends the Follower, even while its Next waits in another goroutine.
func (f *Follower) Close() error {
	f.wake.close()
	f.busy.Lock()
	defer f.busy.Unlock()
	if f.vol != nil {
		f.vol.close()
		f.vol = nil
	}
	return nil
}

// Next returns the next Item. It waits until there is one, or returns the error of ctx.
func (f *Follower) Next(ctx context.Context) (archive.Item, error) {
	for {
		if it, ok, err := f.now(ctx); ok || err != nil {
			return it, err
		}
		if err := f.wake.wait(ctx, f.due); err != nil {
			return archive.Item{}, err
		}
	}
}

// now returns the next item, if there is one by now.
func (f *Follower) now(ctx context.Context) (it archive.Item, ok bool, err error) {
	f.busy.Lock()
	defer f.busy.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			return archive.Item{}, false, err
		}
		if f.wake.isClosed() {
			return archive.Item{}, false, ErrClosed
		}
		if len(f.queue) > 0 {
			it := f.queue[0]
			f.queue[0] = archive.Item{}
			f.queue = f.queue[1:]
			return it, true, nil
		}
		if it, ok := f.step(); ok {
			f.here = false
			return it, true, nil
		}
		if len(f.queue) > 0 {
			continue
		}
		if !f.here {
			f.here = true
			it := archive.Item{Present: true}
			if f.vol != nil {
				it.Archive = f.vol.info
			}
			return it, true, nil
		}
		return archive.Item{}, false, nil
	}
}

// mostLooks is how often step looks for what follows before it gives up, although each look
// found something.
const mostLooks = 64

// step returns the next item, if there is one.
func (f *Follower) step() (archive.Item, bool) {
	for looks := 0; len(f.queue) == 0; looks++ {
		if f.vol != nil {
			if it, ok := f.vol.next(); ok {
				return it, true
			}
			if len(f.queue) > 0 {
				break
			}
		}
		moved := f.wake.dirty()
		if moved {
			f.wake.watchDirs(f.shelf.dirs())
		}
		again := f.away || !f.due.IsZero() && !time.Now().Before(f.due)
		if !moved && !again && !f.more && !f.idle() {
			break
		}
		if looks == mostLooks { // something keeps changing the files
			f.due, f.more = time.Now().Add(tryAgain), false
			break
		}
		if f.more = f.look(); !f.more {
			break
		}
	}
	return archive.Item{}, false
}

// idle reports whether the archive being read is live without a journal and may have been
// written to.
func (f *Follower) idle() bool {
	return f.vol != nil && len(f.vol.gens) == 0 && f.vol.file.Info.Live && f.wake.wrote()
}

// lose queues the loss err.
func (f *Follower) lose(err error) {
	it := archive.Item{Lost: err}
	if f.vol != nil {
		it.Archive = f.vol.info
	}
	f.queue = append(f.queue, it)
	f.here = false
}
