package sys

import "unsafe"

// AbsoluteTime is the time since boot in Mach ticks, without sleep.
func AbsoluteTime() uint64 {
	r, _, _ := rawCall6(addr_mach_absolute_time, 0, 0, 0, 0, 0, 0)
	return uint64(r)
}

// ContinuousTime is the time since boot in Mach ticks, sleep included.
func ContinuousTime() uint64 {
	r, _, _ := call6X(addr_mach_continuous_time, 0, 0, 0, 0, 0, 0)
	return uint64(r)
}

// Timebase is the fraction that converts ticks of this process's clocks to nanoseconds.
func Timebase() (numer, denom uint32) {
	var t [2]uint32
	call6X(addr_mach_timebase_info, uintptr(unsafe.Pointer(&t[0])), 0, 0, 0, 0, 0)
	return t[0], t[1]
}

// Host is a reference to the host port, through which the kernel answers questions about the
// machine as a whole.
type Host struct{ port uint32 }

// OpenHost returns a reference. The caller must Close it.
func OpenHost() Host {
	r, _, _ := call6X(addr_mach_host_self, 0, 0, 0, 0, 0, 0)
	return Host{uint32(r)}
}

// Close releases the reference.
func (h Host) Close() error { return releasePort(h.port) }

// Statistics64 fills words with a flavour of host statistics and returns how many words the
// kernel filled, which depends on its version. With MigArrayTooLarge n is how many it would have
// filled, given the room. The kernel limits how often it answers afresh; see package
// sample/darwin.
func (h Host) Statistics64(flavor int32, words []uint32) (n int, err error) {
	count := uint32(len(words))
	r, _, _ := call6X(addr_host_statistics64, uintptr(h.port), uintptr(flavor),
		uintptr(unsafe.Pointer(unsafe.SliceData(words))), uintptr(unsafe.Pointer(&count)), 0, 0)
	if err := kernFailed("host_statistics64", r); err != nil {
		return int(count), err
	}
	return min(int(count), len(words)), nil
}

// ProcessorInfo appends the answer of host_processor_info to words: the same number of words for
// each of the ncpu processors.
func (h Host) ProcessorInfo(flavor int32, words []uint32) (all []uint32, ncpu int, err error) {
	var processors, count uint32
	var list unsafe.Pointer
	r, _, _ := call6X(addr_host_processor_info, uintptr(h.port), uintptr(flavor),
		uintptr(unsafe.Pointer(&processors)), uintptr(unsafe.Pointer(&list)), uintptr(unsafe.Pointer(&count)), 0)
	if err := kernFailed("host_processor_info", r); err != nil {
		return words, 0, err
	}
	words = append(words, unsafe.Slice((*uint32)(list), count)...)
	r, _, _ = call6X(addr_vm_deallocate, taskSelf(), uintptr(list), uintptr(count)*4, 0, 0, 0)
	return words, int(processors), kernFailed("vm_deallocate of host_processor_info's list", r)
}

// ProcessorSet is a reference to the set of all processors.
type ProcessorSet struct{ port uint32 }

// DefaultProcessorSet returns the processor set that all threads run in.
func (h Host) DefaultProcessorSet() (ProcessorSet, error) {
	var s ProcessorSet
	r, _, _ := call6X(addr_processor_set_default, uintptr(h.port), uintptr(unsafe.Pointer(&s.port)), 0, 0, 0, 0)
	return s, kernFailed("processor_set_default", r)
}

// Statistics fills words and returns how many of them the kernel filled.
func (s ProcessorSet) Statistics(flavor int32, words []uint32) (n int, err error) {
	count := uint32(len(words))
	r, _, _ := call6X(addr_processor_set_statistics, uintptr(s.port), uintptr(flavor),
		uintptr(unsafe.Pointer(unsafe.SliceData(words))), uintptr(unsafe.Pointer(&count)), 0, 0)
	if err := kernFailed("processor_set_statistics", r); err != nil {
		return 0, err
	}
	return min(int(count), len(words)), nil
}

// Close releases the reference.
func (s ProcessorSet) Close() error { return releasePort(s.port) }

func releasePort(port uint32) error {
	if port == 0 {
		return nil
	}
	r, _, _ := call6X(addr_mach_port_deallocate, taskSelf(), uintptr(port), 0, 0, 0, 0)
	return kernFailed("mach_port_deallocate", r)
}

// SelfInfo fills words with a flavour of this process's task_info and returns
// how many words the kernel filled.
func SelfInfo(flavor int32, words []uint32) (n int, err error) {
	count := uint32(len(words))
	r, _, _ := call6X(addr_task_info, taskSelf(), uintptr(flavor),
		uintptr(unsafe.Pointer(unsafe.SliceData(words))), uintptr(unsafe.Pointer(&count)), 0, 0)
	if err := kernFailed("task_info", r); err != nil {
		return 0, err
	}
	return min(int(count), len(words)), nil
}
