package perf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tachograph/sample/stack"
)

const (
	pid7 = int32(7)
	ms   = uint64(1e6)
)

// sleeps is a record of a thread that goes to sleep, or is pre-empted, with a stack of that
// address.
func sleeps(tid int32, at, address uint64) []byte {
	return made(kindSample, 0, uint64(0), pid7, tid, at, uint64(2), uint64(markKernel), address)
}

func leaves(tid int32, at uint64) []byte {
	return made(kindSwitch, switchOut, who{pid7, tid, at})
}

func preempted(tid int32, at uint64) []byte {
	return made(kindSwitch, switchOut|switchWants, who{pid7, tid, at})
}

func goesOn(tid int32, at uint64) []byte { return made(kindSwitch, 0, who{pid7, tid, at}) }

// wakes is a record of the tracepoint sched_waking: a thread, or an interrupt that it serves,
// wakes another.
func wakes(by, tid int32, at uint64, flags byte, address uint64) []byte {
	fields := make([]byte, 36)
	fields[2] = flags
	binary.NativeEndian.PutUint32(fields[4:], uint32(by))
	binary.NativeEndian.PutUint32(fields[24:], uint32(tid))
	return made(kindSample, 0, uint64(0), pid7, by, at, uint64(2), uint64(markKernel), address, uint32(len(fields)), fields)
}

const wakingFormat = `name: sched_waking
ID: 375
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:char comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t pid;	offset:24;	size:4;	signed:1;
	field:int prio;	offset:28;	size:4;	signed:1;
	field:int target_cpu;	offset:32;	size:4;	signed:1;
`

// said returns the waits that are known, in the order of threads.
func said(w *waits) string {
	var all []string
	w.flush(func(s *sum) {
		text := fmt.Sprintf("%d %.1f ms", s.tid, float64(s.waited)/1e6)
		if len(s.chain) >= 16 {
			text += fmt.Sprintf(" at %x", binary.NativeEndian.Uint64(s.chain[8:]))
		}
		for _, f := range s.frames {
			text += " in " + f.Name
		}
		switch {
		case len(s.waker.chain) < 16:
		case s.waker.interrupt:
			text += fmt.Sprintf(", interrupt at %x", binary.NativeEndian.Uint64(s.waker.chain[8:]))
		case s.waker.known:
			text += fmt.Sprintf(", woken by %d of %d at %x", s.waker.tid, s.waker.pid, binary.NativeEndian.Uint64(s.waker.chain[8:]))
		}
		all = append(all, text)
	})
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// take has w hear records; those with fields are of the tracepoint.
func take(w *waits, f *wakeFields, records ...[]byte) {
	for _, b := range records {
		var r switched
		switch rec, _ := next(b); {
		case rec == nil || !r.parse(rec):
		case r.lost > 0:
			w.forget()
		case r.fields != nil:
			if tid, interrupt, ok := f.read(&r); ok {
				w.woken(tid, &r, interrupt)
			}
		default:
			w.hear(&r, r.chain, stack.Whole)
		}
	}
}

func TestWaitsOfRecords(t *testing.T) {
	f, ok := readWakeFields(wakingFormat)
	if !ok {
		t.Fatal("the fields are not understood")
	}
	for _, c := range []struct {
		name    string
		records [][]byte
		want    string
	}{
		{"a wait", [][]byte{sleeps(8, 10*ms, 0xa), leaves(8, 10*ms), goesOn(8, 14*ms)}, "8 4.0 ms at a"},
		{"added up", [][]byte{sleeps(8, 10*ms, 0xa), leaves(8, 10*ms), goesOn(8, 14*ms), sleeps(8, 15*ms, 0xa), leaves(8, 15*ms), goesOn(8, 16*ms)}, "8 5.0 ms at a"},
		{"another stack", [][]byte{sleeps(8, 10*ms, 0xa), leaves(8, 10*ms), goesOn(8, 14*ms), sleeps(8, 15*ms, 0xb), leaves(8, 15*ms), goesOn(8, 16*ms)}, "8 1.0 ms at b; 8 4.0 ms at a"},
		{"pre-empted", [][]byte{sleeps(8, 10*ms, 0xa), preempted(8, 10*ms), goesOn(8, 14*ms)}, ""},
		{"not known to have slept", [][]byte{sleeps(8, 10*ms, 0xa), goesOn(8, 14*ms)}, ""},
		{"woken", [][]byte{sleeps(8, 10*ms, 0xa), leaves(8, 10*ms), wakes(9, 8, 13*ms, 0, 0xc), goesOn(8, 14*ms)}, "8 4.0 ms at a, woken by 9 of 7 at c"},
		{"by an interrupt", [][]byte{sleeps(8, 10*ms, 0xa), leaves(8, 10*ms), wakes(9, 8, 13*ms, 0x08|0x01, 0xc), goesOn(8, 14*ms)}, "8 4.0 ms at a, interrupt at c"},
		{"by an interrupt of a processor with nothing to do", [][]byte{sleeps(8, 10*ms, 0xa), leaves(8, 10*ms), wakes(0, 8, 13*ms, 0x01, 0xc), goesOn(8, 14*ms)}, "8 4.0 ms at a, interrupt at c"},
		{"by somebody, and then by itself", [][]byte{sleeps(8, 10*ms, 0xa), leaves(8, 10*ms), wakes(9, 8, 13*ms, 0, 0xc), goesOn(8, 14*ms), sleeps(8, 15*ms, 0xa), leaves(8, 15*ms), goesOn(8, 16*ms)},
			"8 1.0 ms at a; 8 4.0 ms at a, woken by 9 of 7 at c"},
		{"who did not wait", [][]byte{wakes(9, 8, 13*ms, 0, 0xc), goesOn(8, 14*ms)}, ""},
		{"of another process", [][]byte{made(kindSample, 0, uint64(0), int32(6), int32(8), 10*ms, uint64(1), uint64(markKernel)), leaves(8, 10*ms), goesOn(8, 14*ms)}, ""},
		{"lost", [][]byte{sleeps(8, 10*ms, 0xa), leaves(8, 10*ms), aLoss, goesOn(8, 14*ms)}, ""},
		{"time that goes back", [][]byte{sleeps(8, 10*ms, 0xa), leaves(8, 10*ms), goesOn(8, 9*ms)}, ""},
		{"one for others", [][]byte{leaves(8, 10*ms), goesOn(8, 14*ms), leaves(8, 15*ms), preempted(8, 16*ms), goesOn(8, 17*ms), leaves(8, 18*ms), goesOn(8, 19*ms),
			sleeps(8, 20*ms, 0xa), leaves(8, 20*ms), goesOn(8, 23*ms), sleeps(8, 24*ms, 0xb), leaves(8, 24*ms), goesOn(8, 25*ms)}, "8 1.0 ms at b; 8 8.0 ms at a"},
		{"one for later ones", [][]byte{sleeps(8, 10*ms, 0xa), leaves(8, 10*ms), goesOn(8, 11*ms), leaves(8, 15*ms), goesOn(8, 19*ms)}, "8 5.0 ms at a"},
		{"a long one", [][]byte{leaves(8, 10*ms), goesOn(8, 14*ms), sleeps(8, 20*ms, 0xa), leaves(8, 20*ms), goesOn(8, 150*ms)}, "8 134.0 ms at a"},
		{"without a stack", [][]byte{leaves(8, 10*ms), goesOn(8, 14*ms)}, ""},
		{"not over", [][]byte{sleeps(8, 10*ms, 0xa), leaves(8, 10*ms)}, "8 90.0 ms at a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWaits(pid7, 5*ms, nil)
			take(w, &f, c.records...)
			w.close(100 * ms)
			if got := said(w); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if got := said(w); got != "" {
				t.Errorf("twice: %s", got)
			}
		})
	}
}

// A thread that waited when the session began is not heard of. /proc says where it waits.
func TestWaitsFoundByLooks(t *testing.T) {
	w := newWaits(pid7, 5*ms, []int32{8, 9})
	frames := []stack.Frame{{Name: "pipe_read"}}
	w.found(8, frames, "pipe_read")
	frames[0].Name = "" // of the sampler
	if x := w.waiting(8); x == nil || x.what != "pipe_read" || w.waiting(9) != nil {
		t.Errorf("%+v", x)
	}
	take(w, nil, goesOn(8, 9*ms))
	// One that was started meanwhile, and one that was heard of, has not waited for so long, whatever a look finds meanwhile.
	w.found(8, frames, "pipe_read")
	w.found(10, frames, "pipe_read")
	w.found(9, []stack.Frame{{Name: "do_wait"}}, "do_wait")
	take(w, nil, sleeps(9, 20*ms, 0xa), leaves(9, 20*ms), goesOn(9, 21*ms))
	// One of which the kernel did not say the stack.
	take(w, nil, leaves(9, 30*ms))
	if w.waiting(9) != nil {
		t.Error("it is known where a thread waits that was not looked at")
	}
	w.found(9, []stack.Frame{{Name: "do_futex"}}, "do_futex")
	w.found(9, []stack.Frame{{Name: "later"}}, "later")
	take(w, nil, goesOn(9, 260*ms))
	take(w, nil, leaves(9, 270*ms))
	w.found(9, []stack.Frame{{Name: "brief"}}, "brief")
	take(w, nil, goesOn(9, 300*ms))
	w.close(100 * ms)
	if got := said(w); got != "8 4.0 ms in pipe_read; 9 230.0 ms in do_futex; 9 31.0 ms at a" {
		t.Error(got)
	}
}

// What is remembered is bounded.
func TestManyWaits(t *testing.T) {
	w := newWaits(pid7, 0, nil)
	const many = 3 * mostSums
	for i := range uint64(many) {
		at := 5*ms + 1000*i
		take(w, nil, sleeps(8, at, i), leaves(8, at), goesOn(8, at+500))
		if w.full() {
			said(w)
		}
		if len(w.sums) > mostSums || len(w.open)+len(w.spare) > 1 {
			t.Fatalf("%d sums, %d waits, %d spare", len(w.sums), len(w.open), len(w.spare))
		}
	}
	if w.measured != many || w.left != many {
		t.Errorf("%d were measured of %d", w.measured, w.left)
	}
	for tid := range int32(mostFollowed + 10) {
		take(w, nil, sleeps(tid+1, 40*ms, 0xa), leaves(tid+1, 40*ms))
	}
	if len(w.open) > mostFollowed {
		t.Errorf("%d waits", len(w.open))
	}
}

func TestWakeFields(t *testing.T) {
	f, ok := readWakeFields(wakingFormat)
	if !ok || f != (wakeFields{2, 4, 24}) {
		t.Errorf("%+v, %v", f, ok)
	}
	if _, ok := readWakeFields(strings.Replace(wakingFormat, "size:4;	signed:1;\n	field:int prio", "size:8;	signed:1;\n	field:int prio", 1)); ok {
		t.Error("a pid of 8 bytes")
	}
	// In another namespace the sampler sees other numbers than the kernel's own.
	b := wakes(9, 8, 1, 0, 1)
	var r switched
	if !r.parse(b) {
		t.Fatal("not understood")
	}
	if r.tid = 10; true {
		if _, _, ok := f.read(&r); ok {
			t.Error("the number of another namespace")
		}
	}
}

func FuzzWaits(f *testing.F) {
	f.Add(bytes.Join([][]byte{sleeps(8, 10, 0xa), leaves(8, 10), wakes(9, 8, 13, 0, 0xc), goesOn(8, 14), preempted(8, 15), aLoss, moreLost}, nil))
	f.Add(sleeps(8, 10, 0xa)[:40])
	f.Add(made(kindSample, 0, uint64(0), pid7, int32(1), uint64(1), uint64(1<<61)))
	fields, _ := readWakeFields(wakingFormat)
	f.Fuzz(func(t *testing.T, b []byte) {
		w := newWaits(pid7, 0, nil)
		var r switched
		for rec, rest := next(b); rec != nil; rec, rest = next(rest) {
			if r.parse(rec) && len(r.chain)+len(r.fields) > len(rec) {
				t.Errorf("%d and %d bytes of %d", len(r.chain), len(r.fields), len(rec))
			}
			take(w, &fields, rec)
		}
		w.close(1 << 62)
		said(w)
	})
}

func FuzzFieldOf(f *testing.F) {
	f.Add(wakingFormat)
	f.Fuzz(func(t *testing.T, format string) {
		if w, ok := readWakeFields(format); ok && (w.flags < 0 || w.current < 0 || w.woken < 0) {
			t.Errorf("%+v", w)
		}
	})
}
