package perf

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"tachograph/sample/stack"
	"tachograph/sample/stack/symbol"
)

// kernel names the kernel's functions. The kernel takes a tenth of a second to write its list
// of them, and holding it takes 5 MB: it is read when the first frame needs it, and kept for
// one session.
type kernel struct {
	image  *stack.Image
	names  *symbol.Kernel // nil if hidden or absent
	places map[uint64]string
	found  map[function]uint64
}

// function is a function as the kernel's texts name it.
type function struct {
	name string
	size uint64
}

const maxKernelPlaces = 1 << 16

func readKernel() *kernel {
	k := &kernel{places: make(map[uint64]string), found: make(map[function]uint64)}
	if f := handed(); f != nil {
		k.names, _ = symbol.ReadKernel(io.NewSectionReader(f, 0, 1<<40)) // the file's size is unknown
	} else if f, err := os.Open("/proc/kallsyms"); err == nil {
		defer f.Close()
		k.names, _ = symbol.ReadKernel(f)
	}
	k.image = kernelImage(k.names)
	return k
}

// handed is the kernel's list of its functions, if systemd has opened it for the service, as
// OpenFile= of the unit asks: the service itself may not. It is nil otherwise.
var handed = sync.OnceValue(func() *os.File {
	const first = 3 // of the descriptors that systemd passes
	if os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil
	}
	i := slices.Index(strings.Split(os.Getenv("LISTEN_FDNAMES"), ":"), "kallsyms")
	if i < 0 {
		return nil
	}
	unix.CloseOnExec(first + i)
	return os.NewFile(uintptr(first+i), "/proc/kallsyms")
})

// frame returns the frame at address; inner says that it is not the innermost frame, so that
// address is where a call returns to.
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

// schedules reports whether an address is in the scheduler.
func (k *kernel) schedules(address uint64) bool { return k.names != nil && k.names.Schedules(address) }

// named returns the frame that a text names. The text has no address: if that is not found
// otherwise, the frame has only a name.
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
