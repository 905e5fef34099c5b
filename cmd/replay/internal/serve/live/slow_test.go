package live

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"tachograph/api/client"
	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/store/storetest/proof"
	"tachograph/testdata/patience"
)

// A gate is a client that takes a message when it is opened.
type gate struct {
	mu     sync.Mutex
	dec    client.Decoder
	log    *log
	opened chan struct{}
}

func (g *gate) send(ctx context.Context) func(*tachographv1.SubscribeResponse) error {
	return func(m *tachographv1.SubscribeResponse) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-g.opened:
		}
		f, err := g.dec.Add(proto.Clone(m).(*tachographv1.SubscribeResponse))
		if err != nil {
			return err
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if f != nil {
			g.log.add(f)
		}
		return nil
	}
}

// Who is slow makes nobody wait, takes no memory, is told how things stand by the
// next frame, and how much was merged; all else it gets by its position.
func TestSlowSubscribers(t *testing.T) {
	r := newMachineRig(t, 11)
	r.play(2)
	quick := r.tail(everything())
	quick.wait(t, r.rig)
	g := &gate{log: newLog(), opened: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.pub.Stream(ctx, everything(), g.send(ctx)) }()
	g.opened <- struct{}{} // the snapshot
	ticks := 0
	for k := range 40 {
		r.play(10)
		quick.wait(t, r.rig)
		if k == 0 {
			ticks = 0
		}
		ticks += 10 + 2 + 1 // fast, process, polled
	}
	if q := quick.end(t); q.mergedN != 0 || q.left != 0 {
		t.Errorf("the quick one has %d merged and %d left out", q.mergedN, q.left)
	}
	close(g.opened)
	patience.Until(t, "all is told", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		p, err := parseMark(g.log.position)
		for c, at := range r.ticks {
			if at > p.Ticks[c] {
				return false
			}
		}
		return err == nil
	})
	cancel()
	<-ended
	// Of what was not merged each value was told, and at the end all stand as they
	// were recorded.
	want := r.recorded()
	wrong := 0
	for c, v := range g.log.values {
		if want[c] != v {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d values are wrong", wrong, len(g.log.values))
	}
	last := 0
	for c := range want {
		if c.wall >= r.m.At(r.n-5).Wall {
			if _, ok := g.log.values[c]; !ok && c.metric[:9] == "test.proc" {
				last++
			}
		}
	}
	if last > 0 {
		t.Errorf("%d values of the end are not known", last)
	}
	told := g.log.frames - 1 + g.log.mergedN
	if g.log.mergedN < 300 || told < ticks || told > ticks+80 {
		t.Errorf("%d frames, %d merged: of %d ticks", g.log.frames, g.log.mergedN, ticks)
	}
	if g.log.left+len(g.log.events) != len(r.evs) {
		t.Errorf("%d events left out and %d told, of %d", g.log.left, len(g.log.events), len(r.evs))
	}
	r.stop()
	settled(t)
}

// There are only so many subscribers, one more is told to come later, and all are
// told when the server stops.
func TestLimitAndStop(t *testing.T) {
	r := newMachineRig(t, 12)
	r.pub.Most = 3
	r.play(2)
	var ends []chan error
	for range 3 {
		svc, hangUp := r.dial()
		defer hangUp()
		stream, err := svc.Subscribe(t.Context(), connect.NewRequest(everything()))
		if err != nil || !stream.Receive() {
			t.Fatal(err, stream.Err())
		}
		end := make(chan error, 1)
		ends = append(ends, end)
		go func() {
			defer stream.Close()
			for stream.Receive() {
			}
			end <- stream.Err()
		}()
	}
	svc, hangUp := r.dial()
	defer hangUp()
	stream, err := svc.Subscribe(t.Context(), connect.NewRequest(everything()))
	if err == nil {
		if stream.Receive() {
			t.Error("a fourth is let in")
		}
		err = stream.Err()
		stream.Close()
	}
	if connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Error(err)
	}
	r.halt()
	for _, end := range ends {
		if err := <-end; connect.CodeOf(err) != connect.CodeUnavailable {
			t.Error("stopped with", err)
		}
	}
	r.stop()
	settled(t)
}

// Nothing is left of subscribers that came and went: no goroutine, descriptor or
// memory.
func TestNothingIsLeftOfSubscribers(t *testing.T) {
	r := newMachineRig(t, 13)
	r.play(5)
	keep := r.tail(everything())
	keep.wait(t, r.rig)
	visit := func(n int) {
		for i := range n {
			ctx, cancel := context.WithCancel(t.Context())
			req := everything()
			if i%3 == 1 {
				req.Interval = durationpb.New(time.Second)
			}
			if i%3 == 2 {
				keep.mu.Lock()
				req.Position = keep.log.positions[0]
				keep.mu.Unlock()
			}
			n, most := 0, 1
			if i%3 == 2 {
				most = 3
			}
			_ = r.pub.Stream(ctx, req, func(*tachographv1.SubscribeResponse) error {
				if n++; n == most {
					cancel()
					return ctx.Err()
				}
				return nil
			})
			cancel()
		}
	}
	visit(20)
	// They come in rounds. What counts is how many bytes more there are at least after one:
	// whatever else this process has kept need not be little.
	const rounds, each = 4, 15
	before, files := measured(), descriptors(t)
	least := int64(math.MaxInt64)
	for range rounds {
		visit(proof.Pick(t, each, 10*each))
		now := measured()
		least, before = min(least, now-before), now
	}
	patience.Until(t, "no descriptors are left", func() bool { return descriptors(t) <= files })
	if t.Logf("after each round there are at least %d bytes more", least); least > each<<14 {
		t.Error("something is left of each")
	}
	keep.end(t)
	r.stop()
	settled(t)
}

func measured() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// descriptors is how many files this process has open; 0 where that cannot be
// told.
func descriptors(t testing.TB) int {
	t.Helper()
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if list, err := os.ReadDir(dir); err == nil {
			return len(list)
		}
	}
	return 0
}

// Whatever is asked for is answered with frames that make sense or refused, and
// nothing fails or stays behind.
func FuzzSubscribe(f *testing.F) {
	good, err := proto.Marshal(everything())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	for _, req := range []*tachographv1.SubscribeRequest{
		{Selection: &tachographv1.Selection{Metrics: []string{"test.*", "/x/", ""}, Categories: []string{"vm.pages"}, Instances: []string{"*"}}},
		{Interval: &durationpb.Duration{Seconds: -1 << 40, Nanos: 5}, Position: "1abc.7"},
		{Position: "1EEsB7BFfdLosAQAc_LWn1tylJ8f1wLgHmZOs5x0.8000000003"},
	} {
		b, err := proto.Marshal(req)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	r := newMachineRig(f, 14)
	r.play(12)
	position := ""
	_ = r.pub.Stream(f.Context(), everything(), func(m *tachographv1.SubscribeResponse) error {
		position = m.Position
		return fmt.Errorf("enough")
	})
	req := everything()
	req.Position = position
	if b, err := proto.Marshal(req); err == nil {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var req tachographv1.SubscribeRequest
		if proto.Unmarshal(b, &req) != nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience.Stretch(5*time.Second))
		defer cancel()
		var dec client.Decoder
		err := r.pub.Stream(ctx, &req, func(m *tachographv1.SubscribeResponse) error {
			f, err := dec.Add(proto.Clone(m).(*tachographv1.SubscribeResponse))
			if err != nil {
				t.Fatalf("%v: %v", &req, err)
			}
			if f != nil && !f.CatchingUp {
				return context.Canceled
			}
			return nil
		})
		if err == nil || connect.CodeOf(err) == connect.CodeInternal {
			t.Fatalf("%v ended with %v", &req, err)
		}
	})
}
