package stacks

// firefox makes the tables of a file for Firefox Profiler.
type firefox struct {
	p         *Profile
	libs      []firefoxLib
	shared    firefoxShared
	threads   []*firefoxThread // by the thread's number; nil: it has no samples
	processes map[int]string   // the key of the first process with a pid

	places  map[firefoxPlace]int // the stacks that were made
	strings map[string]int
	frames  map[firefoxFrame]int
	stacks  map[firefoxStack]int
	funcs   []int // by the function's number, from 1
	waits   map[string]int
	sources map[string]int
	images  []int // the resource of an image, from 1
}

// What distinguishes frames, stacks, and the stacks of the profile.
type (
	firefoxFrame struct {
		function, category int
		offset             int64
		line               int32
	}
	firefoxStack struct{ prefix, frame int }
	firefoxPlace struct {
		place  int32
		waited bool
		wait   string
	}
)

func newFirefox(p *Profile) *firefox {
	return &firefox{p: p, libs: []firefoxLib{}, threads: make([]*firefoxThread, len(p.Threads)), processes: make(map[int]string), places: make(map[firefoxPlace]int), strings: make(map[string]int),
		frames: make(map[firefoxFrame]int), stacks: make(map[firefoxStack]int), funcs: make([]int, len(p.Functions)), waits: make(map[string]int),
		sources: make(map[string]int), images: make([]int, len(p.Images)),
		shared: firefoxShared{
			Strings: []string{}, Stacks: firefoxStacks{Frame: []int{}, Prefix: []*int{}},
			Frames: firefoxFrames{Address: []int64{}, InlineDepth: []int{}, Category: []int{}, Subcategory: []int{}, Func: []int{}, NativeSymbol: []*int{},
				InnerWindowID: []*int{}, Line: []*int{}, Column: []*int{}},
			Funcs:     firefoxFuncs{Name: []int{}, IsJS: []bool{}, ForJS: []bool{}, Resource: []int{}, Source: []*int{}, Line: []*int{}, Column: []*int{}},
			Resources: firefoxResources{Lib: []int{}, Name: []int{}, Host: []*int{}, Type: []int{}},
			Natives:   firefoxNatives{Lib: []int{}, Address: []int{}, Name: []int{}, Size: []int{}},
			Sources:   firefoxSources{UUID: []*string{}, Name: []int{}},
		}}
}

// text returns the number of a string.
func (f *firefox) text(s string) int {
	n, known := f.strings[s]
	if !known {
		n = len(f.shared.Strings)
		f.strings[s] = n
		f.shared.Strings = append(f.shared.Strings, s)
	}
	return n
}

// stack returns the number of a stack, in which a thread ran or waited. What it waited for is below the
// function, where the function's name does not say it.
func (f *firefox) stack(k *Stack, waited bool, state State) int {
	key := firefoxPlace{k.Place, waited, ""}
	if waited {
		key.wait = f.p.waitText(k, state)
	}
	at, known := f.places[key]
	if known {
		return at
	}
	at = -1
	for _, n := range f.p.Chain(nil, k) {
		at = f.push(at, f.place(n, waited && n == k.Place))
	}
	if key.wait != "" {
		n, known := f.waits[key.wait]
		if !known {
			n = f.function(key.wait, -1, "")
			f.waits[key.wait] = n
		}
		at = f.push(at, f.frame(firefoxFrame{n, firefoxWaiting, -1, 0}))
	}
	f.places[key] = at
	return at
}

// push returns the number of a stack: a frame below another stack, -1 for none.
func (f *firefox) push(prefix, frame int) int {
	key := firefoxStack{prefix, frame}
	n, known := f.stacks[key]
	if !known {
		s := &f.shared.Stacks
		n = s.Length
		f.stacks[key] = n
		s.Frame, s.Prefix = append(s.Frame, frame), append(s.Prefix, index(prefix))
		s.Length++
	}
	return n
}

// index is a number in a column that may have none; -1 is none.
func index(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

// place returns the number of the frame of a place.
func (f *firefox) place(n int32, waits bool) int {
	at := &f.p.Places[n]
	fn := &f.p.Functions[at.Function]
	key := firefoxFrame{function: f.functionOf(at.Function), category: firefoxUser, offset: -1, line: at.Line}
	switch {
	case waits:
		key.category = firefoxWaiting
	case fn.Kernel:
		key.category = firefoxKernel
	}
	if fn.Image >= 0 && at.Offset <= most {
		key.offset = int64(at.Offset)
	}
	return f.frame(key)
}

func (f *firefox) frame(key firefoxFrame) int {
	n, known := f.frames[key]
	if !known {
		t := &f.shared.Frames
		n = t.Length
		f.frames[key] = n
		line := -1
		if key.line > 0 {
			line = int(key.line)
		}
		t.Address, t.InlineDepth, t.Category, t.Subcategory = append(t.Address, key.offset), append(t.InlineDepth, 0), append(t.Category, key.category), append(t.Subcategory, 0)
		t.Func, t.NativeSymbol, t.InnerWindowID = append(t.Func, key.function), append(t.NativeSymbol, nil), append(t.InnerWindowID, nil)
		t.Line, t.Column = append(t.Line, index(line)), append(t.Column, nil)
		t.Length++
	}
	return n
}

// functionOf returns the number that a function of the profile has in the file.
func (f *firefox) functionOf(n int32) int {
	if f.funcs[n] == 0 {
		fn := &f.p.Functions[n]
		resource := -1
		if fn.Image >= 0 {
			resource = f.resource(fn.Image)
		}
		f.funcs[n] = f.function(fn.Name, resource, fn.File) + 1
	}
	return f.funcs[n] - 1
}

func (f *firefox) function(name string, resource int, file string) int {
	source := -1
	if file != "" {
		n, known := f.sources[file]
		if !known {
			s := &f.shared.Sources
			n = s.Length
			f.sources[file] = n
			s.UUID, s.Name = append(s.UUID, nil), append(s.Name, f.text(file))
			s.Length++
		}
		source = n
	}
	t := &f.shared.Funcs
	t.Name, t.IsJS, t.ForJS, t.Resource = append(t.Name, f.text(name)), append(t.IsJS, false), append(t.ForJS, false), append(t.Resource, resource)
	t.Source, t.Line, t.Column = append(t.Source, index(source)), append(t.Line, nil), append(t.Column, nil)
	t.Length++
	return t.Length - 1
}

// resource returns the number of the resource of an image, which is its library.
func (f *firefox) resource(image int32) int {
	if f.images[image] == 0 {
		m := &f.p.Images[image]
		lib := firefoxLib{Arch: f.p.Host.Arch, Name: m.Name(), Path: m.Path, DebugName: m.Name(), DebugPath: m.Path}
		if m.ID != "" {
			lib.CodeID = &m.ID
		}
		f.libs = append(f.libs, lib)
		const library = 1
		t := &f.shared.Resources
		t.Lib, t.Name, t.Host, t.Type = append(t.Lib, len(f.libs)-1), append(t.Name, f.text(lib.Name)), append(t.Host, nil), append(t.Type, library)
		t.Length++
		f.images[image] = t.Length
	}
	return f.images[image] - 1
}
