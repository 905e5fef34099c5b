package proc

import (
	"maps"
	"testing"

	"tachograph/sample"
	"tachograph/sample/metric"
)

func TestMacSweepThatIsNotDoneGoesOnWhereItStopped(t *testing.T) {
	var people []*macPerson
	const n = 100
	for i := range n {
		people = append(people, &macPerson{pid: int32(i + 1), unique: uint64(i + 1), micros: someMicros, comm: "p", user: 5})
	}
	m, r := newFakeMac(t, people...)
	met := make(map[string]int)
	for tick := range 4 {
		now := r.now
		c := &sample.Context{Class: metric.Process, Emit: func(e metric.Event) { t.Error(e.Text) }}
		until := now.Awake + 3
		c.Enough = func() bool { return c.Now().Awake >= until }
		c.Now = func() metric.Stamp {
			s := now
			now.Awake++
			return s
		}
		m.calls["task"] = 0
		if err := r.source.Read(c, r.frames); err != nil {
			t.Fatal(err)
		}
		if read, of := c.Part(); read != 64 || of != n || m.calls["task"] != 64 {
			t.Errorf("tick %d: %d of %d, %d calls", tick, read, of, m.calls["task"])
		}
		for _, in := range r.frames[0].Block().Rows {
			met[in.Key]++
		}
		if got := r.cell("", "proc.nprocs"); got != "100" {
			t.Errorf("%s processes", got)
		}
	}
	if len(met) != n {
		t.Errorf("%d of %d processes were read in four sweeps", len(met), n)
	}
}

// Two thousand processes take five times the calls of four hundred, in the first sweep and later,
// the lists of processes and coalitions are fetched once, and only services are asked for their
// signatures. TestMacCrowd also counts the calls that this fake does not.
func TestMacCallsGrowWithTheProcesses(t *testing.T) {
	const sweeps = 4
	count := func(n int) (calls [sweeps]map[string]int) {
		var people []*macPerson
		for i := range n {
			people = append(people, &macPerson{pid: int32(i + 1), unique: uint64(i + 1), micros: someMicros, comm: "p", user: 5})
		}
		m, r := newFakeMac(t, people...)
		for i := range calls {
			clear(m.calls)
			r.read()
			calls[i] = maps.Clone(m.calls)
			for _, p := range people {
				p.user += 1_000_000 // all of them run
			}
		}
		return calls
	}
	few, many := count(400), count(2000)
	for i := range few {
		if few[i]["list"] != 1 || many[i]["list"] != 1 {
			t.Errorf("sweep %d: the list was fetched %d and %d times", i, few[i]["list"], many[i]["list"])
		}
		for _, name := range []string{"signing", "coalitions"} {
			if few[i][name] != many[i][name] {
				t.Errorf("sweep %d: %d and %d %s calls", i, few[i][name], many[i][name], name)
			}
		}
		for _, calls := range []map[string]int{few[i], many[i]} {
			for _, name := range []string{"list", "signing", "coalitions"} {
				delete(calls, name)
			}
		}
		for name := range many[i] {
			if many[i][name] != 5*few[i][name] {
				t.Errorf("sweep %d: %d %s calls for 2,000 processes, %d for 400", i, many[i][name], name, few[i][name])
			}
		}
		if many[i]["task"] != 2000 {
			t.Errorf("sweep %d: %d of 2,000 processes were read", i, many[i]["task"])
		}
	}
}

// The costly sweep may be the first to meet the zombie. The last totals then still belong in
// the rows of the other class.
func TestMacFinalTotalsWhoeverMeetsTheZombie(t *testing.T) {
	job := &macPerson{pid: 50, unique: 7, micros: someMicros, comm: "job", user: 24, begin: 3}
	m, r := newFakeMac(t, &macPerson{pid: 1, unique: 1, micros: someMicros}, job)
	open := func(class metric.Class) (frames []*sample.Frame) {
		for _, g := range r.source.Groups() {
			if f := sample.NewFrame(g, func(d *metric.Desc) bool { return d.Class == class }); f != nil {
				frames = append(frames, f)
			}
		}
		return frames
	}
	usual, costly := open(metric.Process), open(metric.Costly)
	r.frames = usual
	r.read()
	job.stat, job.user = 5, 48_000_000 // a zombie
	usage := make([]byte, 512)
	m.usage(job, usage)
	m.events = append(m.events, macEvent{pid: 50, known: true, status: 3 << 8, at: r.now, usage: usage})
	r.frames = costly
	if e := findEvent(r.read(), metric.EventProcessExit, "7"); e == nil {
		t.Fatal("no event")
	}
	m.processes = m.processes[:1]
	r.frames = usual
	r.read()
	if got := r.cell("7", "proc.psinfo.utime"); got != "2000000000" {
		t.Errorf("the last CPU time is %q", got)
	}
	r.read()
	if got := r.keys(); len(got) != 1 {
		t.Errorf("rows %q", got)
	}
}
