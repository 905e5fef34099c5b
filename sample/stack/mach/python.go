package mach

import (
	"path"
	"slices"
	"strings"

	"tachograph/sample/stack"
	"tachograph/sample/stack/macho"
	"tachograph/sample/stack/python"
)

// interpreter is the Python of a task, if it has one.
type interpreter struct {
	sought bool
	change uint64 // of the list of images in which it was sought
	reader *python.Interpreter
	file   *python.Image
	image  *image
	places []python.Place
	frames []stack.Frame
}

// interpret puts the functions of a Python program into a sample. They are read after the thread
// was seen, while it goes on.
func (t *task) interpret(s *stack.Sample) {
	p := &t.python
	if !p.sought || p.change != t.images.changed {
		p.sought, p.change = true, t.images.changed
		p.find(t)
	}
	if p.reader == nil {
		return
	}
	if s.State == stack.Waiting && slices.ContainsFunc(s.Frames, func(f stack.Frame) bool { return f.Name == python.TakesLock && f.Image == &p.image.Image }) {
		if lock, ok := p.reader.Lock(s.Thread.TID); ok {
			s.Wait = lock.Wait(s.Thread.TID, t.threads.named(lock.Holder))
		}
	}
	var err error
	if p.places, err = p.reader.Stack(s.Thread.TID, p.places[:0]); err != nil {
		return
	}
	p.frames = p.file.Splice(p.frames[:0], s.Frames, &p.image.Image, s.End == stack.Whole, p.places)
	s.Frames = append(s.Frames[:0], p.frames[:min(len(p.frames), stack.MaxDepth)]...)
	if len(p.frames) > stack.MaxDepth {
		s.End = stack.Truncated
	}
}

// find looks for the interpreter in the images that have Python in their names.
func (p *interpreter) find(t *task) {
	if p.image != nil && t.images.find(p.image.Base) == p.image {
		return
	}
	p.reader, p.image = nil, nil
	for i := range t.images.list {
		e := &t.images.list[i]
		name, _ := macho.Text(&t.mem, e.path, maxPath)
		if !strings.Contains(strings.ToLower(path.Base(name)), "python") {
			continue
		}
		at := t.images.find(e.load)
		if at == nil {
			continue
		}
		file, ok := python.FindMachO(&t.mem, &at.header, name, &t.images.names.budget)
		if !ok {
			continue
		}
		reader, err := python.Open(&t.mem, file, at.Base)
		if err != nil {
			t.statuses.Python = err.Error()
			continue
		}
		p.reader, p.file, p.image = reader, file, at
		return
	}
}
