package stack

import (
	"fmt"
	"strconv"

	"tachograph/sample/metric"
)

// A Book makes ticks of samples. It numbers images, frames and stacks in the order in which it
// meets them, and remembers them: the same frame is the same instance as long as the Book
// lives, in every archive that it is written to.
type Book struct {
	// run distinguishes the keys of this Book from those of all others, also of other boots.
	run     string
	number  uint64 // of the last instance
	samples uint64 // added so far
	images  map[Image]*entry
	frames  map[frameKey]*entry
	stacks  map[path]*entry
	rows    [numGroups][]*entry // of the current tick
	ticks   uint64
	blocks  [numGroups]metric.Block
	tick    metric.Tick
}

// entry is an instance and its counts in the current tick.
type entry struct {
	metric.Instance
	tick    uint64 // the last tick that has it
	sample  uint64 // the last sample that was counted for it
	image   *entry // of a frame
	count   uint64
	running uint64
	waited  uint64
}

// frameKey identifies a frame in the tree of calls.
type frameKey struct {
	caller, image *entry
	offset        uint64
	name, file    string
	line, start   int
	kernel        bool
}

// path identifies a stack: a thread and its innermost frame.
type path struct {
	thread Thread
	wait   string
	end    End
	frame  *entry
	waker  wakerKey
}

// wakerKey identifies the thread that a stack's thread waits for, and its stack.
type wakerKey struct {
	known  bool
	thread Thread
	frame  *entry
}

// maxEntries bounds what a Book remembers. A full Book starts afresh after a tick: then it
// meets the same frames again, and gives them other keys.
const maxEntries = 1 << 16

// NewBook makes a Book for samples taken from at on.
func NewBook(at metric.Stamp) *Book {
	b := &Book{run: strconv.FormatInt(at.Wall/1e6, 10), ticks: 1}
	b.begin()
	b.tick.Class = metric.Thread
	for g, group := range Groups() {
		b.blocks[g] = metric.Block{Group: group, Cols: make([]metric.Column, len(group.Metrics))}
		b.tick.Blocks = append(b.tick.Blocks, &b.blocks[g])
	}
	return b
}

func (b *Book) begin() {
	b.images, b.frames, b.stacks = make(map[Image]*entry), make(map[frameKey]*entry), make(map[path]*entry)
}

// Add counts s in the current tick.
func (b *Book) Add(s *Sample) {
	if len(s.Frames) == 0 || s.Count == 0 && s.Waited == 0 {
		return
	}
	b.samples++
	count := uint64(s.Count)
	inner := b.chain(s.Frames, count)
	var waker wakerKey
	if s.Waker != nil {
		// The sample is none of the waker's: its frames count nothing.
		waker = wakerKey{known: true, thread: s.Waker.Thread, frame: b.chain(s.Waker.Frames, 0)}
	}
	e := b.stack(s, inner, waker)
	b.count(stackGroup, e, count)
	e.waited += s.Waited
	if s.State == Running {
		e.running += count
	}
}

// chain counts a sample for the frames of a stack, and returns the innermost.
func (b *Book) chain(frames []Frame, count uint64) (inner *entry) {
	frames = frames[:min(len(frames), MaxDepth)]
	for i := len(frames) - 1; i >= 0; i-- {
		inner = b.frame(&frames[i], inner)
		b.count(frameGroup, inner, count)
		b.count(imageGroup, inner.image, count)
	}
	return inner
}

// count counts a sample for e once, even if e occurs in it several times.
func (b *Book) count(group int, e *entry, count uint64) {
	if e == nil || e.sample == b.samples {
		return
	}
	if e.sample = b.samples; e.tick != b.ticks {
		e.tick, e.count, e.running, e.waited = b.ticks, 0, 0, 0
		b.rows[group] = append(b.rows[group], e)
	}
	e.count += count
}

func (b *Book) frame(f *Frame, caller *entry) *entry {
	at := frameKey{caller: caller, image: b.image(f.Image), offset: f.Offset(), name: f.Name, file: f.File, line: f.Line, start: f.Start, kernel: f.Kernel}
	e := b.frames[at]
	if e != nil {
		return e
	}
	e = b.enter(f.Name)
	e.image = at.image
	if caller != nil {
		e.label(LabelCaller, caller.Key)
	}
	if at.image != nil {
		e.label(LabelImage, at.image.Key)
	}
	if f.Start == 0 {
		e.label(LabelOffset, strconv.FormatUint(at.offset, 10))
	}
	e.label(LabelFile, f.File)
	if f.Line > 0 {
		e.label(LabelLine, strconv.Itoa(f.Line))
	}
	if f.Start > 0 {
		e.label(LabelStart, strconv.Itoa(f.Start))
	}
	if f.Kernel {
		e.label(LabelKernel, yes)
	}
	b.frames[at] = e
	return e
}

func (b *Book) image(m *Image) *entry {
	if m == nil {
		return nil
	}
	e := b.images[*m]
	if e != nil {
		return e
	}
	e = b.enter(m.Path)
	e.label(LabelID, m.ID)
	e.label(LabelBase, strconv.FormatUint(m.Base, 10))
	if m.Cache {
		e.label(LabelCache, yes)
	}
	if m.CacheID != "" {
		e.label(LabelCacheID, m.CacheID)
		e.label(LabelCacheSlide, strconv.FormatUint(m.CacheSlide, 10))
	}
	b.images[*m] = e
	return e
}

func (b *Book) stack(s *Sample, inner *entry, waker wakerKey) *entry {
	at := path{thread: s.Thread, wait: s.Wait, end: s.End, frame: inner, waker: waker}
	e := b.stacks[at]
	if e != nil {
		return e
	}
	t := &s.Thread
	e = b.enter(fmt.Sprintf("%06d %s", t.PID, t.Command))
	e.label(LabelProcess, t.Process)
	e.label(LabelPID, strconv.Itoa(int(t.PID)))
	e.label(LabelTID, strconv.FormatUint(t.TID, 10))
	e.label(LabelThread, t.Name)
	e.label(LabelQueue, t.Queue)
	e.label(LabelFrame, inner.Key)
	e.label(LabelWait, s.Wait)
	e.label(LabelEnd, s.End.String())
	if waker.known {
		e.waker(&waker)
	}
	b.stacks[at] = e
	return e
}

// waker labels a stack with the thread that its thread waits for.
func (e *entry) waker(w *wakerKey) {
	if w.thread.PID == 0 {
		e.label(LabelWaker, Interrupt)
	} else {
		e.label(LabelWaker, w.thread.Command)
		e.label(LabelWakerProcess, w.thread.Process)
		e.label(LabelWakerPID, strconv.Itoa(int(w.thread.PID)))
	}
	if w.thread.TID != 0 {
		e.label(LabelWakerTID, strconv.FormatUint(w.thread.TID, 10))
	}
	e.label(LabelWakerThread, w.thread.Name)
	if w.frame != nil {
		e.label(LabelWakerFrame, w.frame.Key)
	}
}

func (b *Book) enter(name string) *entry {
	b.number++
	return &entry{Instance: metric.Instance{ID: b.number, Key: b.run + "." + strconv.FormatUint(b.number, 10), Name: name}}
}

// label adds a label, unless its value is empty.
func (e *entry) label(name, value string) {
	if value != "" {
		e.Labels = append(e.Labels, metric.Label{Name: name, Value: value})
	}
}

// Tick returns what has been added since the last call, read up to at, or nil if nothing has.
// It is valid until the next call.
func (b *Book) Tick(at metric.Stamp) *metric.Tick {
	if len(b.rows[stackGroup]) == 0 {
		return nil
	}
	b.tick.At = at
	for g := range b.blocks {
		block := &b.blocks[g]
		block.At, block.Rows = at, block.Rows[:0]
		for c := range block.Cols {
			block.Cols[c].Bits = block.Cols[c].Bits[:0]
		}
		for _, e := range b.rows[g] {
			block.Rows = append(block.Rows, &e.Instance)
			block.Cols[0].Bits = append(block.Cols[0].Bits, min(e.count, 1<<32-1))
			if g == stackGroup {
				block.Cols[1].Bits = append(block.Cols[1].Bits, min(e.running, 1<<32-1))
				block.Cols[2].Bits = append(block.Cols[2].Bits, e.waited)
			}
		}
		b.rows[g] = b.rows[g][:0]
	}
	b.ticks++
	if len(b.images)+len(b.frames)+len(b.stacks) > maxEntries {
		b.begin()
	}
	return &b.tick
}
