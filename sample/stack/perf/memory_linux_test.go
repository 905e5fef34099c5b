package perf

import (
	"os"
	"testing"
	"unsafe"
)

// Memory is read by the one call or the other, and what is not there by neither.
func TestMemory(t *testing.T) {
	file, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	said := []byte("what this process has")
	for name, m := range map[string]*processMemory{"by call": {pid: int32(os.Getpid()), calls: new(calls)}, "by file": {calls: new(calls), opened: true, file: file}} {
		b := make([]byte, len(said))
		if !m.Read(uint64(uintptr(unsafe.Pointer(&said[0]))), b) || string(b) != string(said) {
			t.Errorf("%s: %q", name, b)
		}
		for _, address := range []uint64{0, 1 << 63, 1<<64 - 8} {
			if m.Read(address, b) {
				t.Errorf("%s: there is nothing at %#x", name, address)
			}
		}
		if !m.Read(0, nil) {
			t.Errorf("%s: nothing can always be read", name)
		}
		m.close()
	}
	if m := (&processMemory{pid: int32(os.Getpid()), calls: new(calls), opened: true}); m.Read(uint64(uintptr(unsafe.Pointer(&said[0]))), make([]byte, 1)) {
		t.Error("memory that cannot be opened was read")
	}
}
