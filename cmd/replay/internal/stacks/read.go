package stacks

import (
	"strconv"
	"strings"

	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
	"tachograph/sample/stack"
	"tachograph/store/query"
)

// Bounds of a profile, whatever an archive contains.
const (
	maxStacks = 1 << 18
	maxPlaces = 1 << 19
	maxImages = 1 << 16
	maxText   = 1 << 26 // bytes of names, keys and all other text
	maxCalls  = 1 << 23 // in all stacks together: a stack of each thread may be deep
	maxName   = 512     // bytes of a name
)

// Symbols finds the function at an offset of an image.
type Symbols func(m *stack.Image, offset uint64) (name, file string, line int, ok bool)

// Request says which stacks to read.
type Request struct {
	// Window is a window of one host.
	query.Window
	// Of selects threads; nil: all.
	Of func(t *Thread) bool
	// Symbols names functions that have no name in the archive; nil: they stay without.
	Symbols Symbols
	// Ticks asks for the ticks of the profile.
	Ticks bool
}

// Read reads the stacks that r selects. If there are none, the profile has none.
func Read(a query.Archive, r Request) *Profile {
	b := builder{
		p: &Profile{}, r: &r, threads: make(map[Thread]int32), stacks: make(map[id]int32),
		places: make(map[id]int32), images: make(map[id]int32), functions: make(map[function]int32),
		first: make(map[string]int32), lent: make(map[spot]spelled),
		texts: texts{make(map[string]string), maxText},
	}
	if a.Lookup(stack.Samples) == nil {
		return b.p
	}
	b.readStacks(a)
	if len(b.p.Stacks) > 0 {
		b.readImages(a)
		b.readFrames(a)
	}
	return b.p
}

// id identifies an instance: keys are unique only within their boot.
type id struct{ boot, key string }

type function struct {
	name   string
	image  int32
	offset uint64
	// file and line are where it begins, if only an interpreter knows it.
	file   string
	line   int32
	kernel bool
}

type builder struct {
	p         *Profile
	r         *Request
	threads   map[Thread]int32
	stacks    map[id]int32
	inner     []id // the innermost frame of each stack
	wakers    []id // that of its waker
	places    map[id]int32
	images    map[id]int32
	functions map[function]int32
	first     map[string]int32 // of the images with an ID, the one that represents all
	lent      map[spot]spelled // names of places, from other recordings
	texts     texts
	full      bool // some frames were not read
}

// name makes a stranger's name safe to show.
func name(s string) string {
	if len(s) > maxName {
		s = strings.ToValidUTF8(s[:maxName], "") + "…"
	}
	return visible.Text(s)
}

func (b *builder) readStacks(a query.Archive) {
	for run := range runs(a, b.r.Window, stack.Samples) {
		if run.Instance == nil || !counts(run.Metric) {
			continue
		}
		of := id{run.Archive.BootID, run.Instance.Key}
		n, known := b.stacks[of]
		if !known {
			t := threadOf(run.Instance)
			if b.r.Of != nil && !b.r.Of(&t) {
				continue
			}
			b.p.Host = run.Archive.Host
			in := run.Instance
			k := Stack{Wait: name(in.Label(stack.LabelWait)), End: name(in.Label(stack.LabelEnd))}
			inner, waker := id{of.boot, in.Label(stack.LabelFrame)}, id{of.boot, in.Label(stack.LabelWakerFrame)}
			if len(b.p.Stacks) == maxStacks || !b.texts.keep(&of.boot, &of.key, &inner.key, &waker.key, &k.Wait, &k.End, &t.Process, &t.TID, &t.Name, &t.Queue, &t.Command) {
				b.p.Lost = plus(b.p.Lost, sum(&run.Column))
				continue
			}
			inner.boot, waker.boot, k.Thread, k.Waker = of.boot, of.boot, b.thread(t), b.waker(in)
			n = int32(len(b.p.Stacks))
			b.stacks[of] = n
			b.p.Stacks = append(b.p.Stacks, k)
			b.inner, b.wakers = append(b.inner, inner), append(b.wakers, waker)
		}
		b.p.Stacks[n].Samples = plus(b.p.Stacks[n].Samples, sum(&run.Column))
		b.tick(run, n, Any)
		if first, last := run.Wall[0], run.Wall[len(run.Wall)-1]; b.p.From == 0 {
			b.p.From, b.p.To = first, last
		} else {
			b.p.From, b.p.To = min(b.p.From, first), max(b.p.To, last)
		}
	}
	for run := range runs(a, b.r.Window, stack.RunningNow) {
		if run.Instance == nil || !counts(run.Metric) {
			continue
		}
		if n, known := b.stacks[id{run.Archive.BootID, run.Instance.Key}]; known {
			k := &b.p.Stacks[n]
			k.Running = min(plus(k.Running, sum(&run.Column)), k.Samples)
			b.tick(run, n, Running)
		}
	}
	defer b.joinTicks()
	if a.Lookup(stack.Waited) == nil {
		return // an archive of a recorder that did not measure waits
	}
	for run := range runs(a, b.r.Window, stack.Waited) {
		if run.Instance == nil || !counts(run.Metric) {
			continue
		}
		if n, known := b.stacks[id{run.Archive.BootID, run.Instance.Key}]; known {
			b.p.Stacks[n].Waited = plus(b.p.Stacks[n].Waited, sum(&run.Column))
			b.tick(run, n, Waited)
		}
	}
}

// waker returns whom the thread of a stack waited for.
func (b *builder) waker(in *metric.Instance) *Waker {
	t := Thread{Command: name(in.Label(stack.LabelWaker)), Process: name(in.Label(stack.LabelWakerProcess)), TID: name(in.Label(stack.LabelWakerTID)),
		Name: name(in.Label(stack.LabelWakerThread))}
	switch pid := in.Label(stack.LabelWakerPID); {
	case t.Command == "":
		return nil
	case pid == "":
		return &Waker{Thread: -1, Place: -1}
	default:
		t.PID, _ = strconv.Atoi(pid)
	}
	if !b.texts.keep(&t.Command, &t.Process, &t.TID, &t.Name) {
		return nil
	}
	return &Waker{Thread: b.thread(t), Place: -1}
}

// counts reports whether the metric is an integer count, as those of stacks are.
func counts(d *metric.Desc) bool { return d.Type == metric.U32 || d.Type == metric.U64 }

// sum adds up the values of a run; absent ones are zero.
func sum(c *metric.Column) (n uint64) {
	for _, bits := range c.Bits {
		n = plus(n, min(bits, most))
	}
	return n
}

// threadOf returns the thread that an instance describes.
func threadOf(in *metric.Instance) Thread {
	t := Thread{Process: name(in.Label(stack.LabelProcess)), TID: name(in.Label(stack.LabelTID)), Name: name(in.Label(stack.LabelThread)),
		Queue: name(in.Label(stack.LabelQueue)), Command: name(query.ProcessName(in))}
	t.PID, _ = strconv.Atoi(in.Label(stack.LabelPID))
	return t
}

func (b *builder) thread(t Thread) int32 {
	n, known := b.threads[t]
	if !known {
		n = int32(len(b.p.Threads))
		b.threads[t] = n
		b.p.Threads = append(b.p.Threads, t)
	}
	return n
}

func (b *builder) readImages(a query.Archive) {
	for l := range lives(a, b.r.Window, stack.DomainImage, stack.ImageSamples) {
		if !b.r.Wants(l.Archive.Host.ID) || len(b.p.Images) == maxImages {
			continue
		}
		in := l.Instance
		m := Image{Path: name(in.Name), ID: name(in.Label(stack.LabelID)), CacheID: name(in.Label(stack.LabelCacheID))}
		of := id{l.Archive.BootID, in.Key}
		if !b.texts.keep(&of.boot, &of.key, &m.Path, &m.ID, &m.CacheID) {
			break
		}
		m.Base, _ = strconv.ParseUint(in.Label(stack.LabelBase), 10, 64)
		m.CacheSlide, _ = strconv.ParseUint(in.Label(stack.LabelCacheSlide), 10, 64)
		n := int32(len(b.p.Images))
		if one, known := b.first[m.ID]; !known || b.p.Images[one].Path == "" {
			b.first[m.ID] = n
		}
		b.images[of] = n
		b.p.Images = append(b.p.Images, m)
	}
}
