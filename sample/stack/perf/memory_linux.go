package perf

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// processMemory is the memory of a process, which is read while the process runs.
type processMemory struct {
	pid   int32
	calls *calls
	// file is the memory as a file, for systems that allow only this.
	file   *os.File
	opened bool
}

// Read implements chain.Memory.
func (m *processMemory) Read(address uint64, b []byte) (ok bool) {
	_ = m.calls.do(callMemory, func() error {
		ok = m.read(address, b)
		return nil
	})
	return ok
}

func (m *processMemory) read(address uint64, b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if !m.opened {
		local := []unix.Iovec{{Base: &b[0]}}
		local[0].SetLen(len(b))
		n, err := unix.ProcessVMReadv(int(m.pid), local, []unix.RemoteIovec{{Base: uintptr(address), Len: len(b)}}, 0)
		if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
			return err == nil && n == len(b)
		}
		// A filter for system calls may forbid the one and not the other.
		m.opened = true
		m.file, _ = os.Open(fmt.Sprintf("/proc/%d/mem", m.pid))
	}
	if m.file == nil || int64(address) < 0 {
		return false
	}
	n, _ := m.file.ReadAt(b, int64(address))
	return n == len(b)
}

func (m *processMemory) close() {
	if m.file != nil {
		m.file.Close()
	}
}
