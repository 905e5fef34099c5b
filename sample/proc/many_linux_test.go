package proc

import (
	"fmt"
	"slices"
	"testing"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// partly reads with a clock that ends a sweep after a number of looks.
func (r *reader) partly(looks int) (events []metric.Event, read, of int) {
	r.t.Helper()
	now := r.now
	c := &sample.Context{Emit: func(e metric.Event) { events = append(events, e) }, Class: metric.Process}
	until := now.Awake + 1 + int64(looks)
	c.Enough = func() bool { return c.Now().Awake >= until }
	c.Now = func() metric.Stamp {
		s := now
		now.Awake++
		return s
	}
	s := r.sources[0]
	if err := s.Read(c, []*sample.Frame{r.frames["proc"], r.frames["procs"]}); err != nil {
		r.t.Fatal(err)
	}
	read, of = c.Part()
	return events, read, of
}

func TestSweepThatIsNotDoneGoesOnWhereItStopped(t *testing.T) {
	f := newFakeTree(t)
	const n = 200
	for i := range n {
		f.put(fakeProcess{pid: 1000 + i, ppid: 1000, comm: fmt.Sprintf("p%d", i), start: uint64(100 + i)})
	}
	r, _ := hearing(t, f)
	met := make(map[string]int)
	for tick := range 4 {
		if tick == 2 { // a process that was met ends, one that was not met ends, and one begins
			f.remove(1001)
			f.remove(1199)
			f.put(fakeProcess{pid: 1500, ppid: 1000, comm: "fresh", start: 10500})
		}
		ev, read, of := r.partly(2)
		if read != 64 || of != n && of != n-1 {
			t.Errorf("tick %d: %d of %d were read", tick, read, of)
		}
		for _, key := range r.rows("proc") {
			met[key]++
		}
		for _, e := range ev {
			if tick != 2 || e.Kind != metric.EventProcessExit || e.Key != "1001/101" {
				if tick != 3 || e.Kind != metric.EventProcessStart || e.Key != "1500/10500" {
					t.Errorf("tick %d: %s", tick, e.Text)
				}
			}
		}
		r.expect("procs", "", map[string]string{"proc.nprocs": map[bool]string{true: "199", false: "200"}[tick >= 2], "proc.unseen": "0"})
		r.pass(5)
	}
	for i := range n - 1 {
		if key := fmt.Sprintf("%d/%d", 1000+i, 100+i); met[key] == 0 {
			t.Errorf("%s has not been read in four sweeps", key)
		}
	}
	// All in time: after one sweep the order is the kernel's again.
	r.read("proc")
	r.read("proc")
	rows := r.rows("proc")
	if len(rows) != n-1 || !slices.IsSorted(rows[:n-2]) {
		t.Errorf("%d rows", len(rows))
	}
}

func TestThreadsThatAreNotDoneGoOnWhereTheyStopped(t *testing.T) {
	f := newFakeTree(t)
	const each = 150
	for _, pid := range []int{1000, 2000} {
		p := fakeProcess{pid: pid, comm: "many", start: 100, threads: each}
		f.put(p)
		for i := range each {
			f.write(fmt.Sprintf("proc/%d/task/%d/stat", pid, pid+i), p.stat(pid+i))
		}
	}
	r := openReader(t, Options{Root: f.root, ThreadPattern: "many"}, everything)
	r.now = metric.Stamp{Wall: 1_700_000_100e9, Awake: 100e9, Cont: 100e9}
	met := make(map[string]int)
	for range 8 {
		now := r.now
		c := &sample.Context{Class: metric.Thread, Emit: func(metric.Event) {}}
		until := now.Awake + 2
		c.Enough = func() bool { return c.Now().Awake >= until }
		c.Now = func() metric.Stamp {
			s := now
			now.Awake++
			return s
		}
		if err := r.sources[1].Read(c, []*sample.Frame{r.frames["thread"]}); err != nil {
			t.Fatal(err)
		}
		rows := r.rows("thread")
		if len(rows) != 64 && len(rows) != 128 {
			t.Errorf("%d threads at one tick", len(rows))
		}
		for _, key := range rows {
			met[key]++
		}
		r.pass(5)
	}
	if len(met) != 2*each {
		t.Errorf("%d threads were read, there are %d", len(met), 2*each)
	}
}

// While no process is born, the old listing is used. Ends of processes are noticed all the
// same.
func TestListingStandsWhileNobodyIsBorn(t *testing.T) {
	f := newFakeTree(t)
	for pid := 1000; pid < 1005; pid++ {
		f.put(fakeProcess{pid: pid, ppid: 1, comm: "p", start: uint64(pid)})
	}
	r := openReader(t, Options{Root: f.root}, everything)
	k := r.kernel()
	k.sees = true
	forks := 1000
	for i, step := range []struct {
		do         func()
		births     int // counted by the kernel
		rows, told int
	}{
		{func() {}, 0, 5, 0},
		// A count that has never moved is not trusted.
		{func() { f.put(fakeProcess{pid: 1005, ppid: 1, comm: "p", start: 9000}) }, 0, 6, 1},
		{func() { f.put(fakeProcess{pid: 1006, ppid: 1, comm: "p", start: 9001}) }, 1, 7, 1},
		{func() { f.put(fakeProcess{pid: 1007, ppid: 1, comm: "p", start: 9002}) }, 0, 7, 0}, // nobody looks for it
		{func() { f.remove(1001) }, 0, 6, 1},
		{func() {}, 0, 7, 1}, // a process is gone: listed again
		{func() {}, 0, 7, 0},
		{func() { f.put(fakeProcess{pid: 1008, ppid: 1, comm: "p", start: 9003}) }, 1, 8, 1},
		// A listing that was not read to its end is not used again.
		{func() { k.complete = false; f.put(fakeProcess{pid: 1009, ppid: 1, comm: "p", start: 9004}) }, 0, 9, 1},
	} {
		forks += step.births
		f.forks(forks)
		step.do()
		told := r.read("proc")
		if rows := r.rows("proc"); len(rows) != step.rows || len(told) != step.told {
			t.Errorf("step %d: %d rows, %d events; want %d, %d: %q", i, len(rows), len(told), step.rows, step.told, rows)
		}
		r.pass(5)
	}
}
