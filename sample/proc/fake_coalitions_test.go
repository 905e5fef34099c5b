package proc

import (
	"encoding/binary"
	"syscall"

	"tachograph/sample/darwin/decode"
	"tachograph/sample/proc/libproc"
)

// macCoalition is a coalition of a fakeMac. Its living processes are those of the fakeMac that
// are in it.
type macCoalition struct {
	id     uint64
	values map[string]uint64 // by members of coalition_resource_usage
	errno  syscall.Errno
}

func (m *fakeMac) Coalitions(buf []byte) (int, syscall.Errno) {
	m.calls["coalitions"]++
	if m.unlistable != 0 {
		return 0, m.unlistable
	}
	n := 0
	for _, c := range m.coalitions {
		if n+16 > len(buf) {
			break
		}
		living := uint32(0)
		for _, p := range m.processes {
			if p.coalition == c.id && !p.unlisted {
				living++
			}
		}
		binary.LittleEndian.PutUint64(buf[n:], c.id)
		binary.LittleEndian.PutUint32(buf[n+8:], libproc.ResourceCoalition)
		binary.LittleEndian.PutUint32(buf[n+12:], living)
		n += 16
	}
	return n, 0
}

func (m *fakeMac) CoalitionUsage(id uint64, buf []byte) syscall.Errno {
	m.calls["coalition usage"]++
	for _, c := range m.coalitions {
		if c.id != id {
			continue
		}
		if c.errno == 0 {
			whole := m.scratch[:]
			clear(whole)
			for name, v := range c.values {
				binary.LittleEndian.PutUint64(whole[decode.Find("coalition_resource_usage", name, "arm64").Off:], v)
			}
			copy(buf, whole[:m.usageSize])
		}
		return c.errno
	}
	return syscall.ESRCH
}
