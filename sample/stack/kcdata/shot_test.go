package kcdata

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// shot builds a stackshot item by item.
type shot []byte

func (s *shot) item(kind uint32, flags uint64, data []byte) {
	padded := append(slices.Clone(data), make([]byte, -len(data)&15)...)
	*s = le.AppendUint32(*s, kind)
	*s = le.AppendUint32(*s, uint32(len(padded)))
	*s = append(le.AppendUint64(*s, flags), padded...)
}

func (s *shot) record(kind uint32, data []byte) { s.item(kind, isStruct|uint64(-len(data)&15), data) }
func (s *shot) text(kind uint32, t string)      { s.record(kind, append([]byte(t), 0)) }
func (s *shot) begin(kind uint32, id uint64)    { s.item(containerBegin, id, le.AppendUint32(nil, kind)) }
func (s *shot) end(id uint64)                   { s.item(containerEnd, id, nil) }

func (s *shot) array(kind uint32, count int, data []byte) {
	s.item(array|uint32(-len(data)&15), uint64(kind)<<32|uint64(count), data)
}

func words(v ...uint64) (b []byte) {
	for _, w := range v {
		b = le.AppendUint64(b, w)
	}
	return b
}

func (s *shot) task(unique uint64, pid int32, command string, suspended uint32) {
	b := make([]byte, 120)
	le.PutUint64(b, unique)
	le.PutUint32(b[56:], suspended)
	le.PutUint32(b[84:], uint32(pid))
	copy(b[88:], command)
	s.record(taskSnapshot, b)
}

func (s *shot) thread(id, flags uint64, state uint32, more func()) {
	b := make([]byte, 128)
	le.PutUint64(b, id)
	le.PutUint64(b[64:], flags)
	le.PutUint64(b[72:], 2400+id) // when it ran last
	le.PutUint32(b[88:], state)
	s.begin(inThread, id)
	s.record(thread, b)
	if more != nil {
		more()
	}
	s.end(id)
}

func (s *shot) wait(owner, waiter, context uint64, kind byte) []byte {
	return append(words(owner, waiter, context), kind, 0, 0, 0, 0, 0, 0)
}

func example() shot {
	var s shot
	s.item(beginShot, 0, nil)
	s.record(timebase, append(le.AppendUint32(nil, 125), 3, 0, 0, 0))
	s.record(machTime, words(4800))
	s.text(0x90f, "Darwin Kernel Version 25")
	s.begin(inCache, 1)
	s.record(cacheInfoNew, append(words(0x4c4000, 0x1111, 0x2222, 0x1804c4000, 0x1804c4000), 1, 0, 0, 0, 1, 0, 0, 0))
	s.array(cacheLayout, 2, words(0x1808c4000, 0xa, 1, 0x180904000, 0xa, 2))
	s.end(1)
	s.record(cacheInfo, words(0x4c4000, 0x1111, 0x2222, 0, 0)) // once more, for older readers
	s.begin(inTask, 77)
	s.array(loadInfo, 1, words(0x104a30000, 0xaabb, 0xccdd))
	s.task(77, 700, "app", 1)
	s.begin(0x9999, 5) // a container of a later release
	s.text(threadName, "not this one")
	s.end(5)
	s.thread(0x711, FlagOnCore, StateRunning, func() {
		s.text(threadName, "main")
		s.text(queueLabel, "com.apple.main-thread")
		s.array(userStack, 3, words(1, 2, 3))
		s.array(kernelStack, 1, words(0xfffffe0007b00000))
		s.array(0x933, 3, []byte{1, 2, 3})
	})
	s.thread(0x78f, FlagTruncated, 1, func() { s.array(userStack, 2, words(4, 5)) })
	s.array(waitInfo, 1, s.wait(0x711, 0x78f, 0x1203, 11))
	s.end(77)
	s.begin(inTask, 78)
	s.task(78, 701, "a command of the greatest length", 0)
	s.record(taskCache, []byte{2, 0, 0, 0})
	s.thread(0x731, 0, 2, nil)
	s.end(78)
	s.record(duration, words(24000, 26400, 0))
	s.item(end, 0, nil)
	return s
}

func told(b []byte) (string, error) {
	var out strings.Builder
	all, err := Read(b, func(t *Task, _ []Cache) {
		fmt.Fprintf(&out, "%d %s unique %d at %d cache %d suspended %v images %x\n", t.PID, t.Command, t.Unique, t.At, t.Cache, t.Suspended, t.Images)
		for _, h := range t.Threads {
			fmt.Fprintf(&out, "  %x %x %x %q %q user %x kernel %x wait %q of %d off %d ns\n", h.ID, h.Flags, h.State, h.Name, h.Queue, h.User, h.Kernel, h.Wait, h.Wait.Thread(), h.Off)
		}
	})
	for _, c := range all.Caches {
		fmt.Fprintf(&out, "cache %d %x %d\n", c.ID, c.Slide, len(c.Layout))
	}
	fmt.Fprintf(&out, "%d ns, %d tasks\n", all.Nanoseconds, all.Tasks)
	return out.String(), err
}

func TestRead(t *testing.T) {
	const want = `700 app unique 77 at 200000 cache 0 suspended true images [{104a30000 bbaa000000000000ddcc000000000000}]
  711 800 4 "main" "com.apple.main-thread" user [1 2 3] kernel [fffffe0007b00000] wait "" of 0 off 0 ns
  78f 8080 1 "" "" user [4 5] kernel [] wait "pthread mutex held by thread 1809" of 1809 off 19375 ns
701 a command of the greatest length unique 78 at 200000 cache 2 suspended false images []
  731 0 2 "" "" user [] kernel [] wait "" of 0 off 23291 ns
cache 1 4c4000 2
1000000 ns, 2 tasks
`
	got, err := told(example())
	if err != nil || got != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// A stackshot that is cut off gives everything before the cut, and reports the cut.
func TestReadWhatIsCut(t *testing.T) {
	whole := example()
	for n := range len(whole) {
		_, err := Read(whole[:n], func(*Task, []Cache) {})
		if err == nil {
			t.Fatalf("%d of %d bytes pass for all", n, len(whole))
		}
	}
	got, _ := told(whole[:len(whole)-60])
	if !strings.HasPrefix(got, "700 app") || !strings.Contains(got, "701 a command") {
		t.Errorf("what came before is lost: %s", got)
	}
}

func TestReadRefuses(t *testing.T) {
	for kind, want := range map[uint32]error{beginDelta: errDelta, beginCompressed: errPacked, 7: errNotAShot} {
		var s shot
		s.item(kind, 0, nil)
		if _, err := Read(s, nil); err != want {
			t.Errorf("%#x: %v, want %v", kind, err, want)
		}
	}
	var s shot
	s.item(beginShot, 0, nil)
	for range maxDepth + 1 {
		s.begin(inTask, 1)
	}
	if _, err := Read(s, nil); err == nil {
		t.Error("nesting without end")
	}
}

func TestWait(t *testing.T) {
	for _, c := range []struct {
		w    Wait
		want string
	}{
		{Wait{}, ""},
		{Wait{Kind: 200}, ""},
		{Wait{Kind: 2, Context: 0x1203}, "mach port receive 0x1203"},
		{Wait{Kind: 3, Context: 0xfffffe0000000000}, "mach port set receive"},
		{Wait{Kind: 4, Context: 0x1203, Owner: 88}, "mach port send 0x1203 of process 88"},
		{Wait{Kind: 10, Owner: 1<<64 - 2}, "user lock"},
		{Wait{Kind: 14, Context: 0x16f000000}, "pthread condition"},
	} {
		if got := c.w.String(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.w, got, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(example()))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		all, _ := Read(b, func(task *Task, _ []Cache) {
			n++
			for _, h := range task.Threads {
				if len(h.User)+len(h.Kernel) > len(b)/8 {
					t.Errorf("%d and %d addresses in %d bytes", len(h.User), len(h.Kernel), len(b))
				}
			}
		})
		if n != all.Tasks {
			t.Errorf("%d tasks, %d counted", n, all.Tasks)
		}
	})
}
