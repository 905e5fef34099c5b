package report

import "strings"

// deepest is how many frames are kept of a stack until the images are known, and how many frames
// of it are returned.
const (
	deepest    = 512
	returned   = 8
	mostImages = 4096 // that are remembered if they come before the stacks
)

// stack collects the frames of a crash. The images come after the stacks, so frames wait for the
// names of theirs.
type stack struct {
	faulting int64 // index of the thread that crashed, or -1
	// crashed are the frames of that thread, thrown those of the exception that nobody caught.
	crashed, thrown []rawFrame
	found           bool // crashed are those of the right thread and not just of the first
	images          map[uint64]image
	known           []Frame // own frames of a text, which names images beside each frame
}

type rawFrame struct {
	image, offset, location uint64
	symbol                  string
}

type image struct {
	name string
	own  bool
}

func (p *parser) faultingThread() bool {
	b, ok := p.in.scalar(longestNumber)
	if ok && p.stack.faulting < 0 && len(b) > 0 && b[0] != '-' {
		p.stack.faulting = int64(min(number(string(b)), 1<<31))
	}
	return ok
}

// thread reads the thread at an index, if it may be the one that crashed.
func (p *parser) thread(i int) bool {
	s := &p.stack
	if s.found || s.faulting >= 0 && int64(i) != s.faulting {
		return p.in.skip()
	}
	var frames []rawFrame
	triggered := s.faulting >= 0
	ok := p.in.object(func(key []byte) bool {
		switch string(key) {
		case "triggered":
			b, ok := p.in.scalar(longestNumber)
			triggered = triggered || string(b) == "true"
			return ok
		case "frames":
			return p.in.array(func(int) bool { return p.frame(&frames) })
		}
		return p.in.skip()
	})
	if triggered || i == 0 {
		s.crashed, s.found = frames, triggered
	}
	return ok
}

func (p *parser) frame(to *[]rawFrame) bool {
	if len(*to) == deepest {
		return p.in.skip()
	}
	var f rawFrame
	ok := p.in.object(func(key []byte) bool {
		switch string(key) {
		case "imageIndex":
			return p.in.number(&f.image)
		case "imageOffset":
			return p.in.number(&f.offset)
		case "symbol":
			return p.in.textUpTo(longestSymbol, &f.symbol)
		case "symbolLocation":
			return p.in.number(&f.location)
		}
		return p.in.skip()
	})
	*to = append(*to, f)
	return ok
}

// wanted reports whether a frame is in an image.
func (s *stack) wanted(index uint64) bool {
	if s.crashed == nil && s.thrown == nil {
		return index < mostImages
	}
	for _, frames := range [][]rawFrame{s.thrown, s.crashed} {
		for i := range frames {
			if frames[i].image == index {
				return true
			}
		}
	}
	return false
}

func (p *parser) image(i int) bool {
	s := &p.stack
	if !s.wanted(uint64(i)) {
		return p.in.skip()
	}
	var name, file string
	ok := p.in.object(func(key []byte) bool {
		switch string(key) {
		case "name":
			return p.in.text(&name)
		case "path":
			return p.in.text(&file)
		}
		return p.in.skip()
	})
	if s.images == nil {
		s.images = make(map[uint64]image)
	}
	q := &p.r.Process
	own := file != "" && (!ofSystem(file) || file == q.Path || baseOf(file) == q.Name)
	s.images[uint64(i)] = image{first(name, baseOf(file)), own}
	return ok
}

// ofSystem reports whether a file is part of macOS rather than of a program.
func ofSystem(file string) bool {
	for _, dir := range []string{"/System/", "/usr/lib/", "/usr/libexec/", "/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/", "/Library/Apple/"} {
		if strings.HasPrefix(file, dir) {
			return true
		}
	}
	return false
}

func (p *parser) finishFrames() {
	s := &p.stack
	p.r.Frames = s.known
	for _, frames := range [][]rawFrame{s.crashed, s.thrown} { // the latter says who threw
		var own []Frame
		for _, f := range frames {
			img := s.images[f.image]
			if !img.own || len(own) == returned {
				continue
			}
			if f.symbol == "" {
				f.location = f.offset
			}
			own = append(own, Frame{img.name, f.symbol, f.location})
		}
		if own != nil {
			p.r.Frames = own
		}
	}
}
