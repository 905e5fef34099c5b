package perf

import (
	"os"

	"tachograph/sample/stack"
	"tachograph/sample/stack/symbol"
)

// kernel names the kernel's functions. To write its list of them takes the kernel a
// tenth of a second, and to hold it this program 5 MB: it is read when the first
// frame is met, and held for a session.
type kernel struct {
	image  *stack.Image
	names  *symbol.Kernel // nil: hidden, or not there
	places map[uint64]string
	found  map[function]uint64
}

// function is one as the kernel names it in texts.
type function struct {
	name string
	size uint64
}

const maxKernelPlaces = 1 << 16

func readKernel() *kernel {
	k := &kernel{places: make(map[uint64]string), found: make(map[function]uint64)}
	if f, err := os.Open("/proc/kallsyms"); err == nil {
		defer f.Close()
		k.names, _ = symbol.ReadKernel(f)
	}
	k.image = kernelImage(k.names)
	return k
}

// frame is the one at address; inner says that another one is further in, so that
// this is where a call returns to.
func (k *kernel) frame(address uint64, inner bool) stack.Frame {
	at := address
	if inner {
		at--
	}
	name, known := k.places[at]
	if !known && k.names != nil {
		if len(k.places) >= maxKernelPlaces {
			clear(k.places)
		}
		name, _ = k.names.Find(at)
		k.places[at] = name
	}
	return stack.Frame{Image: k.image, Address: address, Name: name, Kernel: true}
}

// named is the frame that a text names. Where functions lie is not in it: if it is
// not known otherwise, the frame has a name only.
func (k *kernel) named(name string, offset, size uint64) stack.Frame {
	f := function{name, size}
	at, known := k.found[f]
	if !known && k.names != nil {
		if len(k.found) >= maxKernelPlaces {
			clear(k.found)
		}
		at = k.names.Address(name, size)
		k.found[f] = at
	}
	if at == 0 {
		return stack.Frame{Name: name, Kernel: true}
	}
	return stack.Frame{Image: k.image, Address: at + offset, Name: name, Kernel: true}
}
