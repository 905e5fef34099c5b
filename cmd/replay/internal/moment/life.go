package moment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// Life is one process from its start to its end.
type Life struct {
	*query.History
	Key      string
	Command  string
	Step     int64 // length of the step of a row
	Parents  []Relative
	Children []Relative // the latest of them, in the order of time
	// More counts the children that are not in Children.
	More int
	// Rough says that not everything was read: for a long life the history covers its last day,
	// and children of earlier times are missing. Asking again gives more, and in the end
	// everything.
	Rough bool
}

// Relative is a parent or child of a process.
type Relative struct {
	Key, Name string
	PID       int
	From, To  int64 // when it was first and last seen
}

const (
	// lifeSteps is about how many steps the history of a life has.
	lifeSteps = 160
	// mostChildren bounds the children of a Life.
	mostChildren = 200
	// longLife is how much of a life is read at once.
	longLife = 24 * block
	// mostLives is how many lives are kept.
	mostLives = 16
)

// lifeInWork is a life that was asked for, as far as it is known.
type lifeInWork struct {
	Life
	life *store.Life
	// left is where the search for children goes on, backwards.
	left  int64
	known map[string]bool
	asked int64 // the value of Recording.asked at the last request
}

// Life returns the life of the process with a key of this package.
func (r *Recording) Life(key string) (*Life, error) {
	r.progress.set(0, 1)
	until := time.Now().Add(patience)
	l := r.lives[key]
	if l == nil {
		var err error
		if l, err = r.beginLife(key); err != nil {
			return nil, err
		}
	} else if l.From > l.life.From {
		if err := r.history(l, l.life.From); err != nil {
			return nil, err
		}
	}
	r.children(l, until)
	if err := r.given(); err != nil {
		return nil, err
	}
	r.asked++
	l.asked = r.asked
	out := l.Life
	out.Children = slices.Clone(l.Children)
	slices.SortFunc(out.Children, func(x, y Relative) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.PID, y.PID)) })
	out.Rough = l.left > l.life.From || l.From > l.life.From
	return &out, nil
}

// beginLife finds a process, its parents and the last day of its life.
func (r *Recording) beginLife(key string) (*lifeInWork, error) {
	boot, own, ok := strings.Cut(key, "/")
	if !ok {
		return nil, fmt.Errorf("%q is no key of a process", key)
	}
	life, err := r.seen(boot, own)
	if given := r.given(); given != nil {
		return nil, given
	}
	if err != nil {
		return nil, err
	}
	l := &lifeInWork{life: life, left: life.To, known: make(map[string]bool)}
	l.Key, l.Command, l.Parents = key, life.Instance.Label("exe"), r.parents(life)
	if err := r.history(l, max(life.From, life.To-longLife)); err != nil {
		return nil, err
	}
	if len(r.lives) >= mostLives {
		oldest := ""
		for k, other := range r.lives {
			if oldest == "" || other.asked < r.lives[oldest].asked {
				oldest = k
			}
		}
		delete(r.lives, oldest)
	}
	r.lives[key] = l
	return l, nil
}

// history reads the history of a life from an instant on.
func (r *Recording) history(l *lifeInWork, from int64) error {
	to := l.life.To
	l.Step = max((to-from)/lifeSteps, r.every(metric.Process, to), int64(time.Second))
	// What it gained until it was first seen counts; its end is recorded shortly after.
	w := r.window(max(from-1, r.from), min(to+2*block, r.to))
	one := *l.life
	one.From = max(one.From, from)
	h, err := query.HistoryOf(r.ofBoot(l.life.Archive.BootID), w, &one, l.Step)
	if given := r.given(); given != nil {
		return given // Some of it may be missing.
	}
	if err == nil {
		l.History = h
	}
	return err
}

// children searches for the processes that a process began, the latest first, until the given
// time.
func (r *Recording) children(l *lifeInWork, until time.Time) {
	boot, own := l.life.Archive.BootID, l.life.Instance.Key
	a := r.a
	if twin, end := a.Twin(); twin != nil {
		// A reader keeps every process that it has returned, and these are all the processes
		// there were. So a twin is used, which is dropped afterwards.
		defer end()
		a = twin
	}
	for l.left > l.life.From && time.Now().Before(until) && r.given() == nil {
		from, more := max(l.left-block, l.life.From), 0
		for one := range a.Lives("process", from, l.left) {
			if one.Instance.Label("parent") != own || one.Archive.Host.ID != r.host.ID || one.Archive.BootID != boot {
				continue
			}
			key := keyOf(one.Archive, one.Instance)
			switch {
			case l.known[key]:
				for i := range l.Children {
					if l.Children[i].Key == key {
						l.Children[i].From = min(l.Children[i].From, one.From)
					}
				}
			case len(l.Children) < mostChildren:
				l.known[key] = true
				l.Children = append(l.Children, Relative{Key: key, Name: query.ProcessName(one.Instance), PID: query.ProcessID(one.Instance), From: one.From, To: one.To})
			default:
				more++
			}
		}
		if r.given() == nil {
			l.left = from
			l.More += more
		}
	}
}

// ofBoot narrows the recording to the archives of one boot.
func (r *Recording) ofBoot(boot string) query.Archive {
	var list []*store.ArchiveInfo
	for _, s := range r.archives {
		if s.info.BootID == boot {
			list = append(list, s.info)
		}
	}
	return r.only(list...)
}

// seen returns the life of a process in a whole boot.
func (r *Recording) seen(boot, key string) (*store.Life, error) {
	var out *store.Life
	from, to := int64(0), int64(0)
	for _, s := range r.archives {
		if s.info.BootID == boot {
			if from == 0 || s.info.From < from {
				from = s.info.From
			}
			to = max(to, s.info.To)
		}
	}
	for one := range r.a.Lives("process", from, to, key) {
		if one.Archive.Host.ID == r.host.ID && one.Archive.BootID == boot {
			c := *one
			out = &c
		}
	}
	if out == nil {
		return nil, fmt.Errorf("no process %s was recorded", key)
	}
	return out, nil
}

// parents follows the parents of a process up.
func (r *Recording) parents(life *store.Life) []Relative {
	var out []Relative
	key := life.Instance.Label("parent")
	for key != "" && len(out) < 64 {
		if slices.ContainsFunc(out, func(p Relative) bool { return p.Key == life.Archive.BootID+"/"+key }) {
			break
		}
		up, err := r.seen(life.Archive.BootID, key)
		if err != nil {
			break
		}
		out = append(out, Relative{Key: keyOf(up.Archive, up.Instance), Name: query.ProcessName(up.Instance), PID: query.ProcessID(up.Instance), From: up.From, To: up.To})
		key = up.Instance.Label("parent")
	}
	return out
}
