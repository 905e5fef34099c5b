package demand

import (
	"context"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
)

var ctx = context.Background()

func expect(t *testing.T, got map[string]string, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOnlyWhatIsWantedIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := desc("a", metric.Fast), desc("b", metric.Fast), diskDesc("c", metric.Fast)
		m, other := newMachine("m", a, b, c), newMachine("other", desc("x", metric.Fast))
		r := open(t, Options{}, m, other)
		expect(t, values(t, r.Read(ctx, []*metric.Desc{b})), map[string]string{"b": "101"})
		if _, wanted := m.did(); !slices.Equal(wanted, []string{"b"}) {
			t.Errorf("read %q", wanted)
		}
		time.Sleep(time.Second)
		expect(t, values(t, r.Read(ctx, []*metric.Desc{c, a})), map[string]string{"a": "200", "c": "200"})
		if reads, wanted := m.did(); reads != 2 || len(wanted) != 2 {
			t.Errorf("%d readings, the last of %q: two groups of a source are read in one", reads, wanted)
		}
		if reads, _ := other.did(); reads != 0 {
			t.Error("a source was read of which nothing is wanted")
		}
	})
}

func TestValuesAreSharedWhileTheyAreYoung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast, polled, static := desc("fast", metric.Fast), desc("polled", metric.Polled), desc("static", metric.Static)
		m := newMachine("m", fast, polled, static)
		r := open(t, Options{}, m)
		all := []*metric.Desc{fast, polled, static}
		expect(t, values(t, r.Read(ctx, all)), map[string]string{"fast": "100", "polled": "101", "static": "102"})
		time.Sleep(50 * time.Millisecond)
		expect(t, values(t, r.Read(ctx, all)), map[string]string{"fast": "100", "polled": "101", "static": "102"})
		if reads, _ := m.did(); reads != 1 {
			t.Errorf("%d readings within the shortest interval", reads)
		}
		// A client that wants less gets the same reading.
		expect(t, values(t, r.Read(ctx, all[:1])), map[string]string{"fast": "100", "polled": "101", "static": "102"})
		time.Sleep(50 * time.Millisecond)
		expect(t, values(t, r.Read(ctx, all)), map[string]string{"fast": "200", "polled": "101", "static": "102"})
		if _, wanted := m.did(); !slices.Equal(wanted, []string{"fast"}) {
			t.Errorf("%q was read again", wanted)
		}
		time.Sleep(980 * time.Millisecond)
		expect(t, values(t, r.Read(ctx, all)), map[string]string{"fast": "300", "polled": "301", "static": "102"})
		time.Sleep(time.Minute)
		expect(t, values(t, r.Read(ctx, all)), map[string]string{"fast": "400", "polled": "401", "static": "402"})
	})
}

// A returned block does not change, whatever is read later.
func TestBlocksDoNotChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := diskDesc("a", metric.Fast), diskDesc("b", metric.Fast)
		r := open(t, Options{}, newMachine("m", a, b))
		first := r.Read(ctx, []*metric.Desc{a, b})
		for range 5 {
			time.Sleep(time.Second)
			r.Read(ctx, []*metric.Desc{b})
			time.Sleep(time.Second)
			r.Read(ctx, []*metric.Desc{a, b})
		}
		expect(t, values(t, first), map[string]string{"a": "100", "b": "101"})
		if in := first.Blocks[0].Rows[1]; in.Key != "sdb" {
			t.Errorf("the second instance is %+v", in)
		}
	})
}

func TestManyAskAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := desc("a", metric.Fast), desc("b", metric.Fast)
		m := newMachine("m", a, b)
		m.takes = 30 * time.Millisecond
		r := open(t, Options{}, m)
		var clients sync.WaitGroup
		for range 100 {
			clients.Go(func() {
				for range 10 {
					if got := values(t, r.Read(ctx, []*metric.Desc{a, b})); len(got) != 2 || got["a"] == "timed out" {
						t.Errorf("got %v", got)
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		clients.Wait()
		if reads, _ := m.did(); m.most != 1 || reads > 30 {
			t.Errorf("%d readings, %d at once", reads, m.most)
		}
	})
}

// A source that hangs costs the others nothing, is read by one goroutine only, and is used
// again when it answers.
func TestHungSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := newMachine("hung", desc("h", metric.Fast))
		hung.hangs = make(chan struct{})
		var want []*metric.Desc
		ms := []*machine{hung}
		for _, name := range []string{"a", "b", "c"} {
			ms = append(ms, newMachine(name, desc(name, metric.Fast)))
		}
		for _, m := range ms {
			want = append(want, m.groups[0].Metrics[0])
		}
		r := open(t, Options{}, ms...)
		began := time.Now()
		expect(t, values(t, r.Read(ctx, want)), map[string]string{"h": "timed out", "a": "100", "b": "100", "c": "100"})
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("a fetch took %s", took)
		}
		time.Sleep(time.Second)
		for range 5 {
			began = time.Now()
			if got := values(t, r.Read(ctx, want)); got["h"] != "timed out" || got["a"] == "timed out" {
				t.Errorf("got %v", got)
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("%s were waited for what is known to hang", took)
			}
			time.Sleep(time.Second)
		}
		if reads, _ := hung.did(); reads != 1 {
			t.Errorf("what hangs was read %d times", reads)
		}
		close(hung.hangs)
		synctest.Wait()
		// The source is trusted again only after some time.
		if got := values(t, r.Read(ctx, want[:1])); got["h"] != "100" {
			t.Errorf("what came late is %v", got)
		}
		time.Sleep(time.Second)
		if got := values(t, r.Read(ctx, want[:1])); got["h"] != "timed out" {
			t.Errorf("soon after: %v", got)
		}
		time.Sleep(firstBackOff)
		if got := values(t, r.Read(ctx, want[:1])); got["h"] != "200" {
			t.Errorf("later: %v", got)
		}
	})
}

// A client that stops waiting says nothing about the source.
func TestImpatientClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine("m", desc("a", metric.Fast))
		m.takes = 1500 * time.Millisecond
		r := open(t, Options{}, m)
		soon, cancel := context.WithCancel(ctx)
		time.AfterFunc(1200*time.Millisecond, cancel)
		expect(t, values(t, r.Read(soon, m.groups[0].Metrics)), map[string]string{"a": "timed out"})
		// The next client waits for the rest of the same reading.
		began := time.Now()
		expect(t, values(t, r.Read(ctx, m.groups[0].Metrics)), map[string]string{"a": "100"})
		if took := time.Since(began); took != 300*time.Millisecond {
			t.Errorf("it took %s", took)
		}
	})
}

func TestWhyThereAreNoValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, d := desc("a", metric.Fast), diskDesc("d", metric.Fast)
		none := desc("none", metric.Fast)
		none.Unsupported = "this machine has no such thing"
		m := newMachine("m", a, d, none)
		r := open(t, Options{}, m)
		all := []*metric.Desc{a, d, none, desc("stranger", metric.Fast)}
		expect(t, values(t, r.Read(ctx, all)), map[string]string{"a": "100", "d": "100", "none": "unsupported", "stranger": "not read"})
		m.fails = fs.ErrPermission
		time.Sleep(time.Second)
		got := r.Read(ctx, all[:2])
		expect(t, values(t, got), map[string]string{"a": "permission denied", "d": "permission denied"})
		for _, b := range got.Blocks {
			if b.Group.Indom == "disk" && len(b.Rows) != 2 {
				t.Errorf("%d of the instances that are known", len(b.Rows))
			}
		}
	})
}

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dear, cheap := newMachine("dear", desc("d", metric.Process)), newMachine("cheap", desc("c", metric.Fast))
		dear.takes = 100 * time.Millisecond
		r := open(t, Options{MaxCPU: 0.01}, dear, cheap)
		want := []*metric.Desc{dear.groups[0].Metrics[0], cheap.groups[0].Metrics[0]}
		for range 600 {
			if got := values(t, r.Read(ctx, want)); got["d"] == "timed out" {
				t.Fatalf("got %v", got)
			}
			time.Sleep(time.Second)
		}
		ran := 600.0 + 600*0.1
		spent, _ := dear.did()
		if most := 0.01*ran/0.1 + 10; float64(spent) > most || spent < 30 {
			t.Errorf("%d readings of 100 ms each in %.0f s, with a budget for %.0f", spent, ran, most)
		}
		if reads, _ := cheap.did(); reads != 600 {
			t.Errorf("what costs nothing was read %d times of 600", reads)
		}
		// A client that asks rarely gets new values each time.
		before, _ := dear.did()
		for range 10 {
			time.Sleep(time.Minute)
			r.Read(ctx, want)
		}
		if after, _ := dear.did(); after != before+10 {
			t.Errorf("%d readings for 10 who asked once a minute", after-before)
		}
	})
}

func TestWhatComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, same := desc("battery", metric.Polled), desc("same", metric.Polled)
		old.Unsupported = "there is no battery"
		now := desc("battery", metric.Polled)
		m := newMachine("power", old, same)
		m.next = []*metric.Group{{Name: "power", Metrics: []*metric.Desc{now, desc("same", metric.Polled)}}}
		var changes atomic.Int32
		r := open(t, Options{Changed: func() { changes.Add(1) }}, m)
		r.Start()
		expect(t, values(t, r.Read(ctx, []*metric.Desc{old, same})), map[string]string{"battery": "unsupported", "same": "101"})
		time.Sleep(time.Minute)
		m.again.Store(true)
		time.Sleep(2 * time.Minute)
		if n := changes.Load(); n != 1 {
			t.Errorf("%d changes were told", n)
		}
		expect(t, values(t, r.Read(ctx, []*metric.Desc{now})), map[string]string{"battery": "200"})
		// A client that still uses the old metrics gets no values, and never a wrong one.
		expect(t, values(t, r.Read(ctx, []*metric.Desc{old, same})), map[string]string{"battery": "unsupported", "same": "not read"})
		if err := r.Close(); err != nil || !m.closed {
			t.Errorf("closed: %v, %v", m.closed, err)
		}
	})
}

// Look may hang, as Read may.
func TestHungLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, other := newMachine("m", desc("a", metric.Fast)), newMachine("other", desc("b", metric.Fast))
		m.look = make(chan struct{})
		r := open(t, Options{}, m, other)
		r.Start()
		time.Sleep(10 * time.Second)
		want := []*metric.Desc{m.groups[0].Metrics[0], other.groups[0].Metrics[0]}
		for i, most := range []time.Duration{2 * time.Second, 0, 0} {
			began := time.Now()
			if got := values(t, r.Read(ctx, want)); got["a"] != "timed out" || got["b"] == "timed out" {
				t.Errorf("the %dth time: %v", i, got)
			}
			if took := time.Since(began); took > most {
				t.Errorf("the %dth fetch waited %s", i, took)
			}
			time.Sleep(time.Second)
		}
		close(m.look)
		time.Sleep(2 * firstBackOff)
		if got := values(t, r.Read(ctx, want)); got["a"] != "100" {
			t.Errorf("when it answers again: %v", got)
		}
	})
}

func TestInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dear, d := diskDesc("dear", metric.Costly), diskDesc("d", metric.Fast)
		m := newMachine("m", dear, d, desc("a", metric.Fast))
		r := open(t, Options{}, m)
		list, err := r.Instances(ctx, "disk")
		if err != nil || len(list) != 2 {
			t.Errorf("%v, %v", list, err)
		}
		if _, wanted := m.did(); !slices.Equal(wanted, []string{"d"}) {
			t.Errorf("%q was read for it", wanted)
		}
		if list, err := r.Instances(ctx, "fan"); err != nil || list != nil {
			t.Errorf("%v, %v", list, err)
		}
		m.hangs = make(chan struct{})
		time.Sleep(time.Second)
		if list, err := r.Instances(ctx, "disk"); err == nil {
			t.Errorf("%v of what hangs", list)
		}
		close(m.hangs)
	})
}

// A reading that was young when a client asked is used for the answer, even if later
// readings, for the rest of the question or for others, have displaced it meanwhile.
func TestWhatWasFoundIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ds []*metric.Desc
		want := make(map[string]string)
		for i := range 3 * keep {
			ds = append(ds, desc(string(rune('a'+i)), metric.Polled))
		}
		r := open(t, Options{}, newMachine("m", ds...))
		for _, d := range ds[:2*keep] {
			maps.Copy(want, values(t, r.Read(ctx, []*metric.Desc{d})))
		}
		got := values(t, r.Read(ctx, ds))
		if len(got) != len(ds) {
			t.Errorf("of %d metrics %v have values", len(ds), got)
		}
		for _, d := range ds[keep : 2*keep] { // the others were displaced before
			if got[d.Name] != want[d.Name] {
				t.Errorf("%s is %s, and was read as %s in this moment", d.Name, got[d.Name], want[d.Name])
			}
		}
	})
}
