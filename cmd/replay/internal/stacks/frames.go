package stacks

import (
	"fmt"
	"strconv"

	"tachograph/sample/metric"
	"tachograph/sample/stack"
	"tachograph/store/query"
)

// framed is a frame as an archive has it.
type framed struct {
	caller id // no key: the frame is the outermost
	image  int32
	offset uint64
	name   string
	file   string
	line   int32
	start  int32 // the line that the function begins at, if only an interpreter knows it
	kernel bool
	called bool  // it has called another frame
	used   bool  // by a stack
	above  int32 // the caller's number, -1 for none
	broken bool
	depth  int32 // number of frames from here to the outermost; 0: not known yet
}

// readFrames reads the tree of calls, as far as stacks use it.
func (b *builder) readFrames(a query.Archive) {
	var all []framed
	for l := range lives(a, b.r.Window, stack.DomainFrame, stack.FrameSamples) {
		if !b.r.Wants(l.Archive.Host.ID) {
			continue
		}
		in := l.Instance
		of := id{l.Archive.BootID, in.Key}
		f := framed{image: -1, above: -1, name: in.Name, file: name(in.Label(stack.LabelFile)), kernel: in.Label(stack.LabelKernel) != ""}
		if len(f.name) > maxSymbol {
			f.name = name(f.name)
		}
		f.caller = id{of.boot, in.Label(stack.LabelCaller)}
		if len(all) == maxPlaces || !b.texts.keep(&of.boot, &of.key, &f.caller.key, &f.name, &f.file) {
			b.full = true
			break
		}
		f.caller.boot = of.boot
		if n, known := b.images[id{of.boot, in.Label(stack.LabelImage)}]; known {
			f.image = n
		}
		f.offset, _ = strconv.ParseUint(in.Label(stack.LabelOffset), 10, 64)
		f.line, f.start = lineOf(in, stack.LabelLine), lineOf(in, stack.LabelStart)
		b.places[of] = int32(len(all))
		all = append(all, f)
	}
	for i := range all {
		f := &all[i]
		if f.caller.key == "" {
			continue
		}
		if n, known := b.places[f.caller]; known {
			f.above, all[n].called = n, true
		} else {
			f.broken = true
		}
	}
	untangle(all)
	b.borrow(a, all)
	b.place(all)
}

// untangle cuts chains of callers that form a circle, and those that are longer than stacks can
// be.
func untangle(all []framed) {
	const under = -1 // its chain is being followed
	var chain []int32
	for i := range all {
		chain = chain[:0]
		at := int32(i)
		for at >= 0 && all[at].depth == 0 {
			all[at].depth = under
			chain = append(chain, at)
			at = all[at].above
		}
		depth := int32(0)
		cut := at >= 0 && all[at].depth == under
		if at >= 0 && !cut {
			depth = all[at].depth
		}
		for k := len(chain) - 1; k >= 0; k-- {
			f := &all[chain[k]]
			if cut || depth >= stack.MaxDepth {
				f.above, f.broken, cut, depth = -1, true, false, 0
			}
			depth++
			f.depth = depth
		}
	}
}

// place adds the frames that stacks use to the profile.
func (b *builder) place(all []framed) {
	numbers := make([]int32, len(all))
	var chain []int32
	// put returns the number in the profile of a frame, which it adds with its callers.
	put := func(at int32) int32 {
		chain = chain[:0]
		for n := at; n >= 0 && !all[n].used; n = all[n].above {
			all[n].used = true
			chain = append(chain, n)
		}
		for k := len(chain) - 1; k >= 0; k-- {
			f := &all[chain[k]]
			numbers[chain[k]] = int32(len(b.p.Places))
			b.p.Places = append(b.p.Places, b.placed(f, numbers))
		}
		return numbers[at]
	}
	missing := int32(-1)
	calls, kept := 0, b.p.Stacks[:0]
	for i, in := range b.inner {
		k := b.p.Stacks[i]
		at, known := b.places[in]
		if !known && b.full {
			b.p.Lost = plus(b.p.Lost, k.Samples)
			continue
		}
		if !known {
			if missing < 0 {
				missing = int32(len(b.p.Places))
				b.p.Places = append(b.p.Places, Place{Caller: -1, Broken: true, Function: b.function(function{name: "(frames were not recorded)", image: -1}, "", "")})
			}
			k.Place = missing
			kept = append(kept, k)
			continue
		}
		if calls += int(all[at].depth); calls > maxCalls {
			b.p.Lost = plus(b.p.Lost, k.Samples)
			continue
		}
		k.Place = put(at)
		if at, known := b.places[b.wakers[i]]; known && k.Waker != nil {
			if calls += int(all[at].depth); calls <= maxCalls {
				k.Waker.Place = put(at)
			}
		}
		kept = append(kept, k)
	}
	b.p.Stacks = kept
}

func (b *builder) placed(f *framed, numbers []int32) Place {
	p := Place{Caller: -1, Offset: f.offset, Line: f.line, Broken: f.broken}
	if f.above >= 0 {
		p.Caller = numbers[f.above]
	}
	symbol, file := f.name, f.file
	if at, ok := b.spot(f); ok && symbol == "" {
		if s, ok := b.lent[at]; ok {
			symbol, file, p.Line = s.symbol, s.file, s.line
		}
	}
	if symbol == "" && f.image >= 0 && b.r.Symbols != nil {
		at := f.offset
		if f.called && at > 0 {
			at-- // The offset is where the call returns to, which may belong to the next function.
		}
		if name, where, line, ok := b.r.Symbols((*stack.Image)(&b.p.Images[f.image]), at); ok {
			symbol, file, p.Line = name, where, int32(line)
		}
	}
	of := function{name: name(Demangled(symbol)), image: b.same(f.image), kernel: f.kernel}
	if f.start > 0 {
		of.file, of.line = name(file), f.start
	}
	if symbol == "" {
		of.name, of.offset = b.nowhere(f), f.offset
	}
	p.Function = b.function(of, name(symbol), name(file))
	return p
}

// lineOf reads a label that has a line; 0 if there is none.
func lineOf(in *metric.Instance, label string) int32 {
	line, _ := strconv.ParseInt(in.Label(label), 10, 32)
	return int32(max(line, 0))
}

// nowhere returns the name for a frame without a name.
func (b *builder) nowhere(f *framed) string {
	image := b.same(f.image)
	if image < 0 || b.p.Images[image].Path == "" {
		return fmt.Sprintf("%#x", f.offset)
	}
	return name(fmt.Sprintf("%s+%#x", b.p.Images[image].Name(), f.offset))
}

func (b *builder) function(of function, symbol, file string) int32 {
	n, known := b.functions[of]
	if !known && !b.texts.keep(&of.name, &of.file, &symbol, &file) {
		of, symbol, file = function{name: "(more functions than can be told apart)", image: -1}, "", ""
		n, known = b.functions[of]
	}
	if !known {
		n = int32(len(b.p.Functions))
		b.functions[of] = n
		b.p.Functions = append(b.p.Functions, Function{Name: of.name, Symbol: symbol, Image: of.image, File: file, Line: of.line, Kernel: of.kernel})
		if symbol == "" {
			b.p.Unnamed++
		}
	}
	return n
}
