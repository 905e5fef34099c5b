package report

import (
	"strings"
	"testing"
)

func TestExitReason(t *testing.T) {
	for _, c := range []struct {
		namespace uint32
		code      uint64
		want      string
	}{
		{2, 11, "a signal: segmentation fault"},
		{3, 1, "the kernel, for its code signature: invalid signature"},
		{3, 4, "the kernel, for its code signature: its launch constraints do not allow to start it so"},
		{1, 9, "the kernel, for lack of memory: idle"},
		{1, 100, "the kernel, for lack of memory: over its limit of CPU time"},
		{1, 50, "the kernel, for lack of memory: code 50"},
		{6, 1, "the dynamic linker: a library is missing"},
		{9, 1, "the kernel, while it was being started: a malformed executable"},
		{23, 5, "a guard: guarded generated code"},
		{15, 0xdead10cc, "RunningBoard, which manages the life of apps: code 0xdead10cc"},
		{25, 1<<64 - 1, "the sandbox: code 0xffffffffffffffff"},
		{43, 2, "ARKit: code 2"},
	} {
		if got := ExitReason(exitNamespace(c.namespace), c.code); got != c.want {
			t.Errorf("%d, %d: %s", c.namespace, c.code, got)
		}
	}
	if got := ExitReason("NEWPART", 3); got != "NEWPART: code 3" {
		t.Error(got)
	}
	for _, n := range []uint32{0, 37, 44, 1<<32 - 1} {
		if got := exitNamespace(n); got != "" {
			t.Errorf("%d: %s", n, got)
		}
	}
	for n := uint32(1); n <= 43; n++ {
		if n != 37 && exitNamespace(n) == "" {
			t.Errorf("%d has no name", n)
		}
	}
}

func TestExitDetail(t *testing.T) {
	for _, c := range []struct {
		data uint32
		want string
	}{
		{0, ""},
		{9, ""},
		{0x00020000, "memory pressure"},
		{0x00020009, "memory pressure"},
		{0x80020009, "memory pressure: too few free pages"},
		{0x08020009, "memory pressure: idle"},
		{0x10020009, "memory pressure: over the limit of its own memory"},
		{0x48020000, "memory pressure: thrashing of memory, idle"},
		{0x00040009, "invalid code signature"},
		{0x00010009, "code that could not be decrypted"},
		{0x00080000, ""}, // its parent has changed
	} {
		if got := ExitDetail(c.data); got != c.want {
			t.Errorf("%#x: %q, want %q", c.data, got, c.want)
		}
		if idle := strings.HasSuffix(c.want, "idle"); EndedIdle(c.data) != idle {
			t.Errorf("%#x: idle %v", c.data, !idle)
		}
	}
}

// exitNamespace returns the name of a namespace, or "".
func exitNamespace(n uint32) string {
	if uint64(n) >= uint64(len(namespaces)) {
		return ""
	}
	return namespaces[n].name
}
