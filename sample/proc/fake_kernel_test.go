package proc

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/owner"
)

// person is a process of a fakeKernel.
type person struct {
	pid            int32
	start, cpu     uint64
	zombie, secret bool
	// The totals that the kernel reports at the end; 0 is no report.
	last    uint64
	threads []uint64
}

// fakeKernel is a kernel of either kind: it identifies processes when it lists them, as on
// macOS, or only when it reads each, as on Linux.
type fakeKernel struct {
	*census[*person]
	fromList bool
	people   []*person
	fails    error
	columns  []supply[process[*person]]
	loads    map[string]int
	met      int
	order    []int32 // pids in the order in which they were met
	early    int     // reads of one process before all were met
	purpose  purpose
	execs    map[int32]string // new names, by pid
	lives    map[uint64]uint64
}

func (k *fakeKernel) parts() []supply[process[*person]] { return k.columns }

func (k *fakeKernel) reading(p *process[*person]) *process[*person] { return p }
func (k *fakeKernel) foundBy(*process[*person], owner.Field) string { return "the list" }
func (k *fakeKernel) prepare(f purpose)                             { k.purpose = f }

func (k *fakeKernel) list(c *sample.Context, now metric.Stamp) error {
	if k.fails != nil {
		return k.fails
	}
	k.table.begin()
	k.listing = k.listing[:0]
	for _, who := range k.people {
		k.listing = append(k.listing, who.pid)
		if k.fromList {
			k.visit(c, who, now)
		} else if p := k.table.lookup(who.pid); p != nil && p.start == who.start {
			k.table.list(p)
		}
	}
	slices.Sort(k.listing)
	k.table.end()
	for _, p := range k.table.gone {
		p.final = p.platform.last != 0
	}
	return nil
}

func (k *fakeKernel) visit(c *sample.Context, who *person, now metric.Stamp) *process[*person] {
	p := k.table.lookup(who.pid)
	if p == nil || p.start != who.start {
		p = k.table.add(who.pid, who.start, fmt.Sprintf("%d/%d", who.pid, who.start))
		p.rename(fmt.Sprintf("p%d", who.pid))
		p.describe(facts{})
		if !k.table.first() && (k.opened || k.fromList) {
			emit(c, startEvent(p.instance, p.name, now))
		}
	}
	k.table.meet(p)
	if name, ok := k.execs[p.pid]; ok {
		p.executed, p.was = true, p.name
		p.rename(name)
		delete(k.execs, p.pid)
	}
	p.platform, p.cpu, p.threads, p.final = who, who.cpu, len(who.threads), who.zombie && who.last != 0
	return p
}

// person returns the process with a pid.
func (k *fakeKernel) person(pid int32) *person {
	return k.people[slices.IndexFunc(k.people, func(who *person) bool { return who.pid == pid })]
}

func (k *fakeKernel) meet(c *sample.Context, pid int32, now metric.Stamp) *process[*person] {
	k.met++
	k.order = append(k.order, pid)
	k.early = k.loads["usage"]
	for _, who := range k.people {
		if who.pid == pid {
			return k.visit(c, who, now)
		}
	}
	return nil
}

func (k *fakeKernel) walked(*sample.Context, int, metric.Stamp) {}
func (k *fakeKernel) letGo(*sample.Context, metric.Stamp)       {}
func (k *fakeKernel) findHolders(*sample.Context, metric.Stamp) { k.findNamed() }
func (k *fakeKernel) count(*process[*person])                   { k.counts.add('S') }
func (k *fakeKernel) unchanged(*process[*person], uint64) bool  { return false }
func (k *fakeKernel) zombie(p *process[*person]) bool           { return p.platform.zombie }
func (k *fakeKernel) refuses(p *process[*person]) bool          { return p.platform.secret }
func (k *fakeKernel) release(*process[*person])                 {}
func (k *fakeKernel) readArgs(*process[*person])                {}
func (k *fakeKernel) refresh()                                  {}
func (k *fakeKernel) close() error                              { return nil }
func (k *fakeKernel) fillTotals(p *process[*person], row cells) {
	row.set("proc.psinfo.utime", p.platform.last)
}
func (k *fakeKernel) threadIDs(p *process[*person], ids []uint64) []uint64 {
	return append(ids, p.platform.threads...)
}

func (k *fakeKernel) ending(_ *process[*person], now metric.Stamp) ending { return ending{at: now} }

func (k *fakeKernel) readThread(_ *process[*person], id uint64, into *uint64) (start uint64, name []byte, ok bool) {
	*into = id * 10
	return k.lives[id], []byte("t"), true
}

// shapes runs a test on a kernel of each kind, with a number of processes.
func shapes(t *testing.T, people int, test func(t *testing.T, k *fakeKernel, r *fakeRun)) {
	for _, fromList := range []bool{false, true} {
		t.Run(map[bool]string{false: "met in the walk", true: "met in the list"}[fromList], func(t *testing.T) {
			k := &fakeKernel{census: newCensus[*person](Options{}, "secrets"), fromList: fromList,
				loads: make(map[string]int), execs: make(map[int32]string), lives: make(map[uint64]uint64)}
			for i := range people {
				k.people = append(k.people, &person{pid: int32(i + 1), start: uint64(i + 1), cpu: uint64(10 * i)})
			}
			slices.Reverse(k.people)
			k.columns = []supply[process[*person]]{
				{load: k.load("list"), columns: []column[process[*person]]{
					{name: "proc.psinfo.pid", number: func(p *process[*person]) uint64 { return uint64(p.pid) }},
					{name: "proc.psinfo.cmd", text: func(p *process[*person]) string { return p.name }},
					{name: "proc.psinfo.sname", text: func(p *process[*person]) string { return "S" }},
				}, lasting: func(_ *process[*person], d *metric.Desc) bool { return lasting(d) }},
				{load: k.load("usage"), columns: []column[process[*person]]{
					{name: "proc.psinfo.utime", number: func(p *process[*person]) uint64 { return p.cpu }},
					{name: "proc.psinfo.stime", number: func(p *process[*person]) uint64 { return p.cpu },
						missing: func(p *process[*person]) metric.Reason {
							if p.cpu == 0 {
								return metric.Unsupported
							}
							return metric.Present
						}},
				}},
				{load: k.load("descriptors"), columns: []column[process[*person]]{
					{name: "proc.fd.count", number: func(*process[*person]) uint64 { return 3 }},
					{name: "proc.net.tcp_count", number: func(*process[*person]) uint64 { return 1 }},
					{name: "proc.net.udp_count", number: func(*process[*person]) uint64 { return 2 }},
				}},
			}
			on := catalog.Linux
			if fromList {
				on = catalog.Darwin
			}
			s := newProcesses(on, k, k.census)
			threads := newThreads(on, s, k, []column[thread[*person, uint64]]{
				{name: "thread.tid", number: func(t *thread[*person, uint64]) uint64 { return t.id }},
				{name: "thread.utime", number: func(t *thread[*person, uint64]) uint64 { return t.platform }},
			})
			test(t, k, &fakeRun{t: t, source: s, threads: threads, now: metric.Stamp{Wall: 1e18, Awake: 90e9, Cont: 100e9}})
		})
	}
}

// load refuses to read a secret process, except for what everybody may know.
func (k *fakeKernel) load(what string) func(p *process[*person]) metric.Reason {
	return func(p *process[*person]) metric.Reason {
		k.loads[what]++
		if p.platform.secret && what != "list" {
			return metric.Permission
		}
		return metric.Present
	}
}

// fakeRun reads the sources on a fakeKernel.
type fakeRun struct {
	t       *testing.T
	source  *processes[*person, process[*person]]
	threads sample.Source
	now     metric.Stamp
	frames  []*sample.Frame
	part    [2]int // of the last reading: rows read, rows in all
}

// read reads a source for a class, and returns the texts of its events. It stops after looks
// readings of the clock, unless looks is 0.
func (r *fakeRun) read(s sample.Source, class metric.Class, looks int64) (told []string, err error) {
	r.now.Wall, r.now.Awake, r.now.Cont = r.now.Wall+5e9, r.now.Awake+5e9, r.now.Cont+5e9
	now := r.now
	c := &sample.Context{Class: class, Emit: func(e metric.Event) { told = append(told, e.Text) }}
	c.Now = func() metric.Stamp {
		now.Awake++
		return now
	}
	if looks > 0 {
		until := now.Awake + 2 + looks
		c.Enough = func() bool { return c.Now().Awake >= until }
	}
	r.frames = nil
	for _, g := range s.Groups() {
		if f := sample.NewFrame(g, func(d *metric.Desc) bool { return d.Class == class }); f != nil {
			r.frames = append(r.frames, f)
		}
	}
	err = s.Read(c, r.frames)
	r.part[0], r.part[1] = c.Part()
	return told, err
}

// expect reads all processes, and compares the texts of the events.
func (r *fakeRun) expect(class metric.Class, told ...string) {
	r.t.Helper()
	if got, err := r.read(r.source, class, 0); err != nil || !slices.Equal(got, told) {
		r.t.Errorf("told %q, %v; want %q", got, err, told)
	}
}

// rows returns the cells of the metrics, by instance.
func (r *fakeRun) rows(metrics ...string) map[string]string {
	rows := make(map[string]string)
	for _, f := range r.frames {
		b := f.Block()
		for row, in := range b.Rows {
			for _, name := range metrics {
				col := slices.IndexFunc(b.Group.Metrics, func(d *metric.Desc) bool { return d.Name == name })
				if col < 0 {
					continue
				}
				key := ""
				if in != nil {
					key = in.Key
				}
				v := b.Cols[col].At(b.Group.Metrics[col].Type, row)
				cell := v.String()
				if v.Miss != metric.Present {
					cell = "!" + v.Miss.String()
				}
				if rows[key] != "" {
					cell = rows[key] + " " + cell
				}
				rows[key] = cell
			}
		}
	}
	return rows
}

var errList = errors.New("no list today")
