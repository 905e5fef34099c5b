package live

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	"tachograph/api/client"
	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/sample/metric"
	"tachograph/store/follow"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
	"tachograph/testdata/patience"
)

// A tail is a subscription in the background.
type tail struct {
	mu     sync.Mutex
	log    *log
	done   chan struct{}
	quit   chan struct{}
	err    error
	over   bool
	events int // that are waited for
}

func (r *rig) tail(req *tachographv1.SubscribeRequest) *tail {
	tl := &tail{log: newLog(), done: make(chan struct{}), quit: make(chan struct{})}
	go func() {
		defer close(tl.done)
		tl.err = r.subscribe(req, func(f *client.Frame) bool {
			tl.mu.Lock()
			defer tl.mu.Unlock()
			tl.log.add(f)
			return tl.over
		})
	}()
	return tl
}

// wait waits until the tail has been told all that was recorded.
func (tl *tail) wait(t testing.TB, r *rig) {
	t.Helper()
	patience.Until(t, "all is told", func() bool {
		tl.mu.Lock()
		defer tl.mu.Unlock()
		p, err := parseMark(tl.log.position)
		for c, at := range r.ticks {
			if at > p.Ticks[c] && (r.opt.Intervals[c] > 0) {
				return false
			}
		}
		return err == nil && tl.log.position != "" && len(tl.log.events) >= tl.events
	})
}

// end ends the tail with the next frame.
func (tl *tail) end(t testing.TB) *log {
	t.Helper()
	tl.mu.Lock()
	tl.over = true
	tl.mu.Unlock()
	patience.Until(t, "there is a frame to end with", func() bool {
		select {
		case <-tl.done:
			return true
		default:
			return false
		}
	})
	if tl.err != nil {
		t.Fatal(tl.err)
	}
	return tl.log
}

func everything() *tachographv1.SubscribeRequest {
	return &tachographv1.SubscribeRequest{ExactTimes: true, Events: true, ProcessEvents: true, Heartbeat: durationpb.New(100 * time.Millisecond)}
}

// machineRig records a machine; play records its seconds.
type machineRig struct {
	*rig
	m   *storetest.Machine
	n   int
	evs []string
}

func newMachineRig(t testing.TB, seed uint64) *machineRig {
	m := storetest.NewMachine(seed)
	return &machineRig{rig: newRig(t, m.Catalog(), m.Intervals(), m.Start), m: m}
}

func (r *machineRig) play(seconds int) {
	for range seconds {
		for _, tick := range r.m.Ticks(r.n) {
			r.append(tick)
		}
		if e, ok := r.m.Event(r.n); ok {
			r.event(e)
			r.evs = append(r.evs, fmt.Sprint(e.At.Cont, " ", e.Kind, " ", e.Text))
		}
		r.n++
	}
}

func (r *rig) rotate() {
	r.turned = true
	if _, err := r.w.Rotate("test"); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) restart(boot string) {
	r.turned = true
	r.close()
	r.opt.BootID = boot
	r.open()
}

// A subscriber is told each value of each tick as it is recorded, through
// rotations, restarts of the recorder and boots.
func TestSubscribersAreToldWhatIsRecorded(t *testing.T) {
	r := newMachineRig(t, 7)
	r.play(3)
	tl := r.tail(everything())
	tl.wait(t, r.rig)
	from := r.m.At(r.n).Wall
	events := len(r.evs)
	for k := range 12 {
		r.play(9)
		tl.wait(t, r.rig)
		switch k % 4 {
		case 1:
			r.rotate()
		case 2:
			r.restart(r.opt.BootID)
		case 3:
			r.restart(fmt.Sprint("boot ", k))
		}
	}
	r.play(5)
	tl.wait(t, r.rig)
	l := tl.end(t)
	l.compare(t, r.recorded(), from)
	if l.mergedN != 0 || l.left != 0 || len(l.lost) != 0 {
		t.Errorf("%d frames merged, %d events left out, lost: %q", l.mergedN, l.left, l.lost)
	}
	if want := r.evs[events:]; !slices.Equal(l.events, want) {
		t.Errorf("events %q\nwant %q", l.events, want)
	}
	if len(l.archives) != 7 {
		t.Errorf("told of %d archives", len(l.archives))
	}
	r.stop()
	settled(t)
}

// Who comes back with the position of any frame is told exactly what was recorded
// after it, and what is recorded from then on.
func TestResumeAtEveryFrame(t *testing.T) {
	r := newMachineRig(t, 8)
	r.play(3)
	tl := r.tail(everything())
	tl.wait(t, r.rig)
	for k := range 6 {
		r.play(7)
		tl.wait(t, r.rig)
		switch k {
		case 1:
			r.rotate()
		case 2:
			r.restart(r.opt.BootID)
		case 3:
			r.restart("another boot")
		}
	}
	first := tl.end(t)
	r.stop()
	r.serve() // positions hold for another server as well
	before := len(first.positions)
	for i := 0; i < before; i += proof.Pick(t, 9, 1) {
		req := everything()
		req.Position = first.positions[i]
		tl := r.tail(req)
		if i%4 == 0 {
			r.play(1) // meanwhile
		}
		tl.wait(t, r.rig)
		if i%4 == 1 {
			r.play(1) // afterwards
			tl.wait(t, r.rig)
		}
		l := tl.end(t)
		at, err := parseMark(first.positions[i])
		if err != nil {
			t.Fatal(err)
		}
		// What the position covers is not told again but in the snapshot.
		want := r.recorded()
		for c := range want {
			if _, ok := l.values[c]; !ok && (covered(r.m, at.Ticks, c) || first.archiveOf[at.Archive] > c.wall) {
				delete(want, c)
			}
		}
		l.compare(t, want, 0)
		if l.mergedN != 0 {
			t.Errorf("position %d: %d were merged", i, l.mergedN)
		}
		if n := len(l.events); n > len(r.evs) || !slices.Equal(l.events, r.evs[len(r.evs)-n:]) {
			t.Errorf("position %d: events %q of %q", i, l.events, r.evs)
		}
		if t.Failed() {
			t.Fatalf("position %d of %d: %s: %+v", i, before, first.positions[i], at)
		}
	}
	r.stop()
	settled(t)
}

// covered reports whether a value was read before clocks.
func covered(m *storetest.Machine, ticks [metric.NumClasses]int64, c cell) bool {
	class := metric.Fast
	switch c.metric[:9] {
	case "test.limi":
		class = metric.Polled
	case "test.proc":
		class = metric.Process
	}
	return c.wall-m.Start.Wall <= ticks[class]-m.Start.Cont+1e6
}

// Worlds are told as they are recorded, whatever they do to clocks, names,
// instances and types.
func TestWorldsAreToldAsTheyAreRecorded(t *testing.T) {
	for seed := range uint64(proof.Pick(t, 6, 40)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			descs := worldDescs(seed)
			var intervals metric.Intervals
			intervals[metric.Class(seed%5)] = time.Second
			intervals[metric.Static] = time.Second // which descriptions of worlds say
			r := newRig(t, descs, intervals, metric.Stamp{Wall: 1700000000e9, Cont: 1e9, Awake: 1e9})
			w, rnd := storetest.NewWorld(seed), rand.New(rand.NewPCG(seed, 3))
			r.append(w.Tick())
			tl := r.tail(everything())
			patience.Until(t, "it is told how things stand", func() bool { tl.mu.Lock(); defer tl.mu.Unlock(); return tl.log.frames > 0 })
			for n := range 60 {
				tick := w.Tick()
				for len(tick.Blocks) == 0 {
					tick = w.Tick()
				}
				r.append(tick)
				if n%10 == 9 {
					tl.wait(t, r)
				}
				if rnd.IntN(20) == 0 {
					r.rotate()
				}
			}
			tl.wait(t, r)
			l := tl.end(t)
			l.compare(t, r.recorded(), 1)
			if l.mergedN != 0 {
				t.Errorf("%d merged", l.mergedN)
			}
			// And once more out of the archive, from the first frame on.
			req := everything()
			req.Position = l.positions[0]
			again := r.tail(req)
			again.wait(t, r)
			got := again.end(t)
			got.compare(t, r.recorded(), 1)
			r.stop()
		})
	}
	settled(t)
}

// What a request asks for that cannot be is refused with its code.
func TestRefusals(t *testing.T) {
	r := newMachineRig(t, 9)
	r.play(2)
	svc, hangUp := r.dial()
	defer hangUp()
	for name, c := range map[string]struct {
		req  *tachographv1.SubscribeRequest
		code connect.Code
	}{
		"no position":         {&tachographv1.SubscribeRequest{Position: "x"}, connect.CodeInvalidArgument},
		"a long position":     {&tachographv1.SubscribeRequest{Position: string(make([]byte, 5000))}, connect.CodeInvalidArgument},
		"an archive not here": {&tachographv1.SubscribeRequest{Position: follow.Position{Archive: "00112233445566778899aabbccddeeff"}.String()}, connect.CodeOutOfRange},
		"too often":           {&tachographv1.SubscribeRequest{Interval: durationpb.New(time.Millisecond)}, connect.CodeInvalidArgument},
		"processes too often": {&tachographv1.SubscribeRequest{Interval: durationpb.New(time.Second), Selection: &tachographv1.Selection{Metrics: []string{"test.proc"}}}, connect.CodeInvalidArgument},
		"less than nothing":   {&tachographv1.SubscribeRequest{Interval: durationpb.New(-time.Second)}, connect.CodeInvalidArgument},
		"no time":             {&tachographv1.SubscribeRequest{Interval: &durationpb.Duration{Seconds: 1, Nanos: -1}}, connect.CodeInvalidArgument},
		"heartbeats":          {&tachographv1.SubscribeRequest{Heartbeat: durationpb.New(1)}, connect.CodeInvalidArgument},
		"nothing of the name": {&tachographv1.SubscribeRequest{Selection: &tachographv1.Selection{Metrics: []string{"no.such"}}}, connect.CodeNotFound},
		"no pattern":          {&tachographv1.SubscribeRequest{Selection: &tachographv1.Selection{Metrics: []string{"/(/"}}}, connect.CodeNotFound},
	} {
		stream, err := svc.Subscribe(t.Context(), connect.NewRequest(c.req))
		if err == nil {
			if stream.Receive() {
				t.Errorf("%s: answered", name)
			}
			err = stream.Err()
			stream.Close()
		}
		if connect.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}
