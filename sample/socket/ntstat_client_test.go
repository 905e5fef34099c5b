package socket

import (
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// fakeControl answers like the kernel: while a request is sent.
type fakeControl struct {
	queue  [][]byte
	answer func(request ntMessage) []ntBytes
	fails  error
}

func (f *fakeControl) send(r []byte) error {
	if f.fails != nil {
		return f.fails
	}
	for _, m := range f.answer(ntMessage(r)) {
		f.queue = append(f.queue, m)
	}
	return nil
}

func (f *fakeControl) receive(to []byte) (int, error) {
	if len(f.queue) == 0 {
		return 0, nil
	}
	n := copy(to, f.queue[0])
	f.queue = f.queue[1:]
	return n, nil
}

type heard []Socket

func (h *heard) Hear(s *Socket) { *h = append(*h, *s) }

// ids returns the ids in the order in which they were heard, closed ones negated.
func (h heard) named(names map[uint64]string) string {
	var l []string
	for _, s := range h {
		n := names[s.ID]
		if n == "" {
			n = "?"
		}
		if s.Closed {
			n += "!"
		}
		l = append(l, n)
	}
	return strings.Join(l, " ")
}

// flowBytes is an update of a connection of its own.
func flowBytes(ref uint64, rx uint64, flags uint16) ntBytes {
	return tcpBytes(ref, tcpKernel, 344, flags).u64(32+8, rx).u64(152+16, 1000+ref)
}

func success(context uint64, flags uint16) ntBytes {
	return ntMake(16, ntSuccess, flags).u64(0, context)
}
func refusal(context uint64, errno uint32) ntBytes {
	return ntMake(48, ntError, 0).u64(0, context).u32(16, errno)
}
func removed(ref uint64) ntBytes { return ntMake(24, ntSourceRemoved, 64).u64(16, ref) }

func TestListOfFragments(t *testing.T) {
	part := 0
	f := &fakeControl{}
	f.answer = func(r ntMessage) []ntBytes {
		if r.kind() != ntGetUpdate || r.flags() != ntContinuation {
			t.Errorf("asked % x", []byte(r))
		}
		part++
		switch part {
		case 1:
			return []ntBytes{slices.Concat(flowBytes(1, 10, 0), flowBytes(2, 20, 0)), success(r.context(), ntContinuation)}
		case 2: // no room: the rest of the fragment and the end are lost
			return []ntBytes{flowBytes(3, 30, 0)}
		case 3:
			return []ntBytes{refusal(r.context(), ntENOBUFS)}
		case 4: // a short connection in between
			return []ntBytes{flowBytes(9, 90, ntClosing), removed(9), slices.Concat(flowBytes(4, 40, 0), success(r.context(), 0))}
		}
		return []ntBytes{success(r.context(), 0)}
	}
	c := newStatistics(f)
	var h heard
	if err := c.List(&h); err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, s := range h {
		got = append(got, s.Bytes.In)
	}
	if want := []uint64{10, 20, 30, 90, 40}; !slices.Equal(got, want) || !h[3].Closed || h[3].State != Closed || h[3].Ended != Normal {
		t.Fatalf("heard %v", got)
	}
	// All are gone, and the kernel had no room to say so.
	h = nil
	if err := c.List(&h); err != nil || len(h) != 0 || len(c.sources) != 0 || len(c.ids) != 0 {
		t.Fatal(err, h, c.sources)
	}
}

func TestRoundThatIsTakenOver(t *testing.T) {
	asked := 0
	f := &fakeControl{}
	f.answer = func(r ntMessage) []ntBytes {
		if asked++; asked == 1 {
			return []ntBytes{refusal(r.context(), ntEAGAIN)}
		}
		return []ntBytes{flowBytes(1, 1, 0), success(r.context(), 0)}
	}
	var h heard
	if err := newStatistics(f).List(&h); err != nil || len(h) != 1 || asked != 2 {
		t.Error(err, h, asked)
	}
	f.answer = func(r ntMessage) []ntBytes { return []ntBytes{refusal(r.context(), ntENOBUFS)} }
	if err := newStatistics(f).List(&h); err == nil {
		t.Error("no error although nothing was listed")
	}
	f.answer = func(r ntMessage) []ntBytes { return []ntBytes{refusal(r.context(), 22)} }
	if err := newStatistics(f).List(&h); !errors.Is(err, syscall.Errno(22)) {
		t.Error(err)
	}
}

// TestClosedBetweenLists also has a handover and a connection that nobody answered.
func TestClosedBetweenLists(t *testing.T) {
	flows := []ntBytes{flowBytes(1, 10, 0), flowBytes(2, 0, 0).u64(32+24, 0).u32(152+76, 2).u32(128, 0)}
	f := &fakeControl{answer: func(r ntMessage) (l []ntBytes) { return append(slices.Clone(flows), success(r.context(), 0)) }}
	c := newStatistics(f)
	var h heard
	if err := c.List(&h); err != nil {
		t.Fatal(err)
	}
	names := map[uint64]string{h[0].ID: "a", h[1].ID: "b"}
	h = nil
	for _, m := range []ntBytes{
		flowBytes(1, 15, ntClosing).u64(152, 900).u32(152+116, 99), removed(1),
		flowBytes(2, 0, ntClosing).u64(32+24, 0).u32(152+76, 0).u32(128, 0), removed(2), removed(77),
		flowBytes(3, 5, ntClosing), removed(3),
	} {
		f.queue = append(f.queue, m)
	}
	if err := c.drain(); err != nil {
		t.Fatal(err)
	}
	if got := h.named(names); got != "a! b! ?!" {
		t.Fatal(got)
	}
	if a := h[0]; a.Bytes.In != 15 || a.Unique != 900 || a.PID != 99 || a.Ended != Normal {
		t.Errorf("%+v", a)
	}
	if h[1].Ended != Refused || h[2].Ended != Normal {
		t.Errorf("%v %v", h[1].Ended, h[2].Ended)
	}
}

// TestProcessesThatAreLookedFor has a kernel that knows a process only after it was asked.
func TestProcessesThatAreLookedFor(t *testing.T) {
	asked := 0
	f := &fakeControl{}
	f.answer = func(r ntMessage) []ntBytes {
		asked++
		first, kernels := flowBytes(1, 10, 0), flowBytes(2, 20, 0).u64(152, 0).u32(152+116, 0)
		if asked == 1 {
			first.u64(152, 0).u32(152+116, 0)
		}
		return []ntBytes{first, kernels, flowBytes(3, 30, 0), success(r.context(), 0)}
	}
	c := newStatistics(f)
	var h heard
	if err := c.List(&h); err != nil {
		t.Fatal(err)
	}
	if asked != 3 || len(h) != 3 || h[0].Bytes.In != 30 || h[1].PID != 501 || h[2].PID != KernelPID {
		t.Errorf("asked %d times: %+v", asked, h)
	}
	for range 5 {
		h = nil
		if err := c.List(&h); err != nil || len(h) != 3 {
			t.Error(err, len(h))
		}
	}
	if asked != 3+5 {
		t.Errorf("asked %d times", asked)
	}
}

func TestSubscription(t *testing.T) {
	var asked []uint32
	errno := map[uint32]uint32{}
	f := &fakeControl{answer: func(r ntMessage) []ntBytes {
		p := le.Uint32(r[32:])
		asked = append(asked, p)
		if e := errno[p]; e != 0 {
			return []ntBytes{refusal(r.context(), e)}
		}
		return []ntBytes{success(r.context(), 0)}
	}}
	errno[8] = 2 // an old kernel
	if err := newStatistics(f).subscribe(); err != nil || !slices.Equal(asked, []uint32{2, 3, 4, 5, 8}) {
		t.Error(err, asked)
	}
	for _, p := range asked {
		errno[p] = 1
	}
	if err := newStatistics(f).subscribe(); !errors.Is(err, errWithheld) {
		t.Error(err)
	}
	f.fails = syscall.EPIPE
	if err := newStatistics(f).subscribe(); !errors.Is(err, syscall.EPIPE) {
		t.Error(err)
	}
}

func TestNumbersOfSockets(t *testing.T) {
	same := func(ref uint64) ntBytes { return flowBytes(ref, 1, 0).u64(152+16, 5000) }
	lists := [][]ntBytes{
		{flowBytes(1, 1, 0), same(2), same(3).addr(152+152, "1.2.3.4:80")},
		// Another recorder has other numbers, and sees later addresses and another process.
		{tcpBytes(71, tcpKernel, 344, 0).u64(152+16, 1001).u64(152, 5).addr(152+124, "10.0.0.9:1"), same(72), same(73).addr(152+152, "1.2.3.4:80")},
	}
	var ids [2][]uint64
	for i, l := range lists {
		var h heard
		f := &fakeControl{answer: func(r ntMessage) []ntBytes { return append(slices.Clone(l), success(r.context(), 0)) }}
		if err := newStatistics(f).List(&h); err != nil {
			t.Fatal(err)
		}
		for _, s := range h {
			ids[i] = append(ids[i], s.ID)
		}
	}
	if !slices.Equal(ids[0], ids[1]) || len(slices.Compact(slices.Sorted(slices.Values(ids[0])))) != 3 {
		t.Errorf("%x", ids)
	}
}

func TestListeners(t *testing.T) {
	listen := func(ref uint64, a string) ntBytes {
		return flowBytes(ref, 0, 0).u32(152+76, 1).addr(152+124, a).addr(152+152, "0.0.0.0:0")
	}
	flows := []ntBytes{listen(1, "0.0.0.0:443"), listen(2, "0.0.0.0:443"), listen(3, "[::]:22")}
	f := &fakeControl{answer: func(r ntMessage) []ntBytes { return append(slices.Clone(flows), success(r.context(), 0)) }}
	c := newStatistics(f)
	c.backlogs = func() map[netip.AddrPort][]Bytes {
		return map[netip.AddrPort][]Bytes{netip.MustParseAddrPort("0.0.0.0:443"): {{3, 128}, {4, 64}}}
	}
	var h heard
	if err := c.List(&h); err != nil {
		t.Fatal(err)
	}
	var got []Bytes
	for _, s := range h {
		got = append(got, Bytes{s.Received, s.Unsent})
	}
	if !reflect.DeepEqual(got, []Bytes{{3, 128}, {4, 64}, {}}) || h[2].Has&HasQueues != 0 {
		t.Error(got)
	}
	h = nil
	f.queue = append(f.queue, flowBytes(3, 0, ntClosing).u32(152+76, 0))
	if err := c.drain(); err != nil || h[0].State != Listen || h[0].Ended != Normal {
		t.Errorf("%v %+v", err, h)
	}
}

func TestNotice(t *testing.T) {
	for _, x := range []struct {
		uid  uint32
		size int
		want string
	}{{501, 344, ownUserOnly}, {502, 344, ""}, {0, 344, ""}, {501, 336, ""}} {
		f := &fakeControl{answer: func(r ntMessage) []ntBytes {
			return []ntBytes{tcpBytes(1, tcpKernel, x.size, 0), success(r.context(), 0)}
		}}
		c := newStatistics(f)
		c.uid = x.uid
		if err := c.List(&heard{}); err != nil || c.Notice() != x.want {
			t.Error(x, err, c.Notice())
		}
	}
}

// FuzzStatistics has a kernel that says anything.
func FuzzStatistics(f *testing.F) {
	f.Add([]byte(slices.Concat(tcpBytes(1, tcpKernel, 336, 0), udpBytes(2, udpUserland, 280, ntClosing), removed(1), success(2, 0))))
	f.Add([]byte(slices.Concat(flowBytes(1, 1, 0), flowBytes(1, 0, ntClosing), refusal(2, 55))))
	f.Add([]byte(tcpBytes(1, quicUserland, 400, 0)[:300]))
	f.Fuzz(func(t *testing.T, datagram []byte) {
		k := &fakeControl{}
		k.answer = func(r ntMessage) []ntBytes {
			k.queue = append(k.queue, datagram)
			return []ntBytes{success(r.context(), 0)}
		}
		c := newStatistics(k)
		h := hearing(func(s *Socket) {
			if s.State >= NumStates || s.Protocol >= NumProtocols || s.ID == 0 {
				t.Fatalf("%+v", s)
			}
		})
		for range 3 {
			c.List(h)
			if len(c.sources) != len(c.ids) {
				t.Fatalf("%d sources, %d numbers", len(c.sources), len(c.ids))
			}
		}
	})
}

type hearing func(*Socket)

func (h hearing) Hear(s *Socket) { h(s) }
