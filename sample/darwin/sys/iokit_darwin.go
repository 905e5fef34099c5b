package sys

import (
	"syscall"
	"unsafe"
)

// Service is a reference to an object of the I/O registry.
type Service struct{ obj uint32 }

var servicePlane = append([]byte("IOService"), 0)

// searchParents looks for a property in the object and then, level by level, in the objects that
// it is attached to.
const searchParents = 1 | 2

// Class is the name of a class of the I/O registry; it is made once.
type Class struct {
	name string
	c    []byte // with its NUL
}

// NewClass makes a Class from a name.
func NewClass(name string) Class { return Class{name, append([]byte(name), 0)} }

// Services calls visit for each object of a class or of one derived from it,
// in the registry's order. The object is released after the call unless visit
// keeps it by returning true.
func Services(class Class, visit func(Service) (keep bool)) error {
	match, _, _ := call6X(addr_IOServiceMatching, uintptr(unsafe.Pointer(unsafe.SliceData(class.c))), 0, 0, 0, 0, 0)
	if match == 0 {
		return failed("IOServiceMatching "+class.name, syscall.ENOMEM)
	}
	var iter uint32
	// This call consumes our reference to the matching dictionary, even when it fails.
	r, _, _ := call6X(addr_IOServiceGetMatchingServices, 0, match, uintptr(unsafe.Pointer(&iter)), 0, 0, 0)
	if int32(r) != 0 {
		return kernFailed("IOServiceGetMatchingServices "+class.name, r)
	}
	each(iter, visit)
	return nil
}

// Children calls visit for each object that is attached to s.
func (s Service) Children(visit func(Service) (keep bool)) error {
	var iter uint32
	r, _, _ := call6X(addr_IORegistryEntryGetChildIterator, uintptr(s.obj),
		uintptr(unsafe.Pointer(unsafe.SliceData(servicePlane))), uintptr(unsafe.Pointer(&iter)), 0, 0, 0)
	if err := kernFailed("IORegistryEntryGetChildIterator", r); err != nil {
		return err
	}
	each(iter, visit)
	return nil
}

func each(iter uint32, visit func(Service) (keep bool)) {
	if iter == 0 {
		return
	}
	for {
		r, _, _ := call6X(addr_IOIteratorNext, uintptr(iter), 0, 0, 0, 0, 0)
		s := Service{uint32(r)}
		if s.obj == 0 {
			break
		}
		if !visit(s) {
			s.Release()
		}
	}
	Service{iter}.Release()
}

// Release releases the reference.
func (s Service) Release() {
	if s.obj != 0 {
		call6X(addr_IOObjectRelease, uintptr(s.obj), 0, 0, 0, 0, 0)
	}
}

// Conforms reports whether s is of a class or of a derived class.
func (s Service) Conforms(class Class) bool {
	r, _, _ := call6X(addr_IOObjectConformsTo, uintptr(s.obj), uintptr(unsafe.Pointer(unsafe.SliceData(class.c))), 0, 0, 0, 0)
	return r&0xff != 0
}

// ID is the object's number, unique since boot.
func (s Service) ID() (uint64, error) {
	var id uint64
	r, _, _ := call6X(addr_IORegistryEntryGetRegistryEntryID, uintptr(s.obj), uintptr(unsafe.Pointer(&id)), 0, 0, 0, 0)
	return id, kernFailed("IORegistryEntryGetRegistryEntryID", r)
}

// Name is the object's name in the registry.
func (s Service) Name() (string, error) {
	// The call writes an io_name_t, which has 128 bytes.
	var b [128]byte
	r, _, _ := call6X(addr_IORegistryEntryGetName, uintptr(s.obj), uintptr(unsafe.Pointer(&b[0])), 0, 0, 0, 0)
	return cString(b[:]), kernFailed("IORegistryEntryGetName", r)
}

// Property copies a property; the caller owns the value.
func (s Service) Property(k *Key) Value {
	if k.str == 0 {
		return Value{}
	}
	r, _, _ := call6X(addr_IORegistryEntryCreateCFProperty, uintptr(s.obj), uintptr(k.str), 0, 0, 0, 0)
	return Value{ref(r)}
}

// FindProperty is Property that also looks in the objects that s is attached to.
func (s Service) FindProperty(k *Key) Value {
	if k.str == 0 {
		return Value{}
	}
	r, _, _ := call6X(addr_IORegistryEntrySearchCFProperty, uintptr(s.obj),
		uintptr(unsafe.Pointer(unsafe.SliceData(servicePlane))), uintptr(k.str), 0, searchParents, 0)
	return Value{ref(r)}
}

// Connection is an open connection to a driver.
type Connection struct{ port uint32 }

// Open opens the driver's user client of type 0.
func (s Service) Open() (Connection, error) {
	var c Connection
	r, _, _ := call6X(addr_IOServiceOpen, uintptr(s.obj), taskSelf(), 0, uintptr(unsafe.Pointer(&c.port)), 0, 0)
	return c, kernFailed("IOServiceOpen", r)
}

// Call sends the struct in to a method and receives the struct out.
func (c Connection) Call(selector uint32, in, out []byte) error {
	n := uintptr(len(out))
	r, _, _ := call6X(addr_IOConnectCallStructMethod, uintptr(c.port), uintptr(selector),
		uintptr(unsafe.Pointer(unsafe.SliceData(in))), uintptr(len(in)),
		uintptr(unsafe.Pointer(unsafe.SliceData(out))), uintptr(unsafe.Pointer(&n)))
	return kernFailed("IOConnectCallStructMethod", r)
}

// Close closes the connection.
func (c Connection) Close() error {
	if c.port == 0 {
		return nil
	}
	r, _, _ := call6X(addr_IOServiceClose, uintptr(c.port), 0, 0, 0, 0, 0)
	return kernFailed("IOServiceClose", r)
}

// PowerSources calls visit with the description of each power source, which is valid during the
// call, and then providing with the kind of source that the machine runs on ("AC Power").
func PowerSources(visit func(description Value), providing func(kind Value)) error {
	r, _, _ := call6X(addr_IOPSCopyPowerSourcesInfo, 0, 0, 0, 0, 0, 0)
	if r == 0 {
		return failed("IOPSCopyPowerSourcesInfo", syscall.ENODEV)
	}
	info := ref(r)
	defer info.release()
	r, _, _ = call6X(addr_IOPSCopyPowerSourcesList, uintptr(info), 0, 0, 0, 0, 0)
	if list := ref(r); list != 0 {
		n, _, _ := call6X(addr_CFArrayGetCount, uintptr(list), 0, 0, 0, 0, 0)
		for i := range n {
			ps, _, _ := call6X(addr_CFArrayGetValueAtIndex, uintptr(list), i, 0, 0, 0, 0)
			d, _, _ := call6X(addr_IOPSGetPowerSourceDescription, uintptr(info), ps, 0, 0, 0, 0)
			if d != 0 {
				visit(Value{ref(d)})
			}
		}
		list.release()
	}
	r, _, _ = call6X(addr_IOPSGetProvidingPowerSourceType, uintptr(info), 0, 0, 0, 0, 0)
	providing(Value{ref(r)})
	return nil
}
