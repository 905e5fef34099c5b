package sys

import (
	"math"
	"sync"
	"syscall"
	"unsafe"
)

// The constants of CoreFoundation that this package uses.
const (
	cfUTF8       = 0x08000100
	cfSInt64Type = 4
	cfDoubleType = 13
)

// ref is a reference to a CoreFoundation object.
type ref uintptr

func (r ref) release() {
	if r != 0 {
		call6X(addr_CFRelease, uintptr(r), 0, 0, 0, 0, 0)
	}
}

func (r ref) typeID() uintptr {
	id, _, _ := call6X(addr_CFGetTypeID, uintptr(r), 0, 0, 0, 0, 0)
	return id
}

func ask(fn uintptr) uintptr {
	id, _, _ := call6X(fn, 0, 0, 0, 0, 0, 0)
	return id
}

// cfTypes are the type numbers, which CoreFoundation assigns at run time.
var cfTypes struct{ str, number, boolean, data, dict uintptr }

var loadTypes = sync.OnceFunc(func() {
	cfTypes.str = ask(addr_CFStringGetTypeID)
	cfTypes.number = ask(addr_CFNumberGetTypeID)
	cfTypes.boolean = ask(addr_CFBooleanGetTypeID)
	cfTypes.data = ask(addr_CFDataGetTypeID)
	cfTypes.dict = ask(addr_CFDictionaryGetTypeID)
})

// Key is a property's name as a CoreFoundation string. Keys are made once and used for every
// reading.
type Key struct {
	name string
	str  ref
}

// NewKey makes a key. The caller must Release it.
func NewKey(name string) *Key {
	s, err := syscall.BytePtrFromString(name)
	if err != nil {
		return &Key{name: name}
	}
	r, _, _ := call6X(addr_CFStringCreateWithCString, 0, uintptr(unsafe.Pointer(s)), cfUTF8, 0, 0, 0)
	return &Key{name, ref(r)}
}

// Release releases the key's string.
func (k *Key) Release() {
	k.str.release()
	k.str = 0
}

// Value is a CoreFoundation object. The zero Value means that there is none; all methods accept
// it. The caller must release an owned Value; a Value that a dictionary owns is valid as long as
// its dictionary.
type Value struct{ obj ref }

// Exists reports whether there is a value.
func (v Value) Exists() bool { return v.obj != 0 }

// Release releases an owned value.
func (v Value) Release() { v.obj.release() }

// Get returns the value of a dictionary's key. The dictionary owns it.
func (v Value) Get(k *Key) Value {
	loadTypes()
	if v.obj == 0 || k.str == 0 || v.obj.typeID() != cfTypes.dict {
		return Value{}
	}
	r, _, _ := call6X(addr_CFDictionaryGetValue, uintptr(v.obj), uintptr(k.str), 0, 0, 0, 0)
	return Value{ref(r)}
}

// Int returns a number or a boolean as an integer. A number with a fraction is rounded towards
// zero; one stored as unsigned keeps its bits.
func (v Value) Int() (int64, bool) {
	loadTypes()
	if v.obj == 0 {
		return 0, false
	}
	switch v.obj.typeID() {
	case cfTypes.number:
		var n int64
		ok, _, _ := call6X(addr_CFNumberGetValue, uintptr(v.obj), cfSInt64Type, uintptr(unsafe.Pointer(&n)), 0, 0, 0)
		if ok&0xff == 0 {
			// Not exactly a 64-bit integer: it has a fraction.
			f, ok := v.float()
			return int64(f), ok && math.Abs(f) < 1<<63
		}
		return n, true
	case cfTypes.boolean:
		b, _, _ := call6X(addr_CFBooleanGetValue, uintptr(v.obj), 0, 0, 0, 0, 0)
		return int64(b & 0xff & 1), true
	}
	return 0, false
}

func (v Value) float() (float64, bool) {
	var f float64
	ok, _, _ := call6X(addr_CFNumberGetValue, uintptr(v.obj), cfDoubleType, uintptr(unsafe.Pointer(&f)), 0, 0, 0)
	return f, ok&0xff != 0 && !math.IsNaN(f)
}

// Text writes a string into buf, which limits its length, and returns the bytes.
func (v Value) Text(buf []byte) ([]byte, bool) {
	loadTypes()
	if v.obj == 0 || v.obj.typeID() != cfTypes.str || len(buf) == 0 {
		return nil, false
	}
	ok, _, _ := call6X(addr_CFStringGetCString, uintptr(v.obj), uintptr(unsafe.Pointer(unsafe.SliceData(buf))),
		uintptr(len(buf)), cfUTF8, 0, 0)
	if ok&0xff == 0 {
		return nil, false
	}
	for i, c := range buf {
		if c == 0 {
			return buf[:i], true
		}
	}
	return buf, true
}

// Data copies as many bytes of a CFData as buf has room for.
func (v Value) Data(buf []byte) ([]byte, bool) {
	loadTypes()
	if v.obj == 0 || v.obj.typeID() != cfTypes.data {
		return nil, false
	}
	n, _, _ := call6X(addr_CFDataGetLength, uintptr(v.obj), 0, 0, 0, 0, 0)
	p, _, _ := call6X(addr_CFDataGetBytePtr, uintptr(v.obj), 0, 0, 0, 0, 0)
	if p == 0 || int(n) <= 0 {
		return buf[:0], true
	}
	return buf[:copy(buf, unsafe.Slice((*byte)(foreign(p)), int(n)))], true
}
