package proc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tachograph/sample/metric"
)

// coalitionKeys returns the keys of the rows of the latest reading.
func (r *fakeReader) coalitionKeys() string {
	var keys []string
	for _, in := range r.coalitionRows() {
		keys = append(keys, in.Key)
	}
	return strings.Join(keys, " ")
}

func (r *fakeReader) coalitionRows() []*metric.Instance {
	return r.frames[len(r.frames)-1].Block().Rows
}

func (r *fakeReader) coalition(key string) *metric.Instance {
	r.t.Helper()
	for _, in := range r.coalitionRows() {
		if in.Key == key {
			return in
		}
	}
	r.t.Fatalf("coalition %s has no row", key)
	return nil
}

func TestCoalitionValues(t *testing.T) {
	all := map[string]uint64{
		"tasks_started": 9, "tasks_exited": 6, "cpu_time": 300, "interrupt_wakeups": 12, "platform_idle_wakeups": 13, "bytesread": 14, "byteswritten": 15,
		"energy": 16, "logical_immediate_writes": 17, "logical_deferred_writes": 18, "logical_invalidated_writes": 19, "logical_metadata_writes": 20,
		"energy_billed_to_me": 21, "energy_billed_to_others": 22, "cpu_ptime": 30, "cpu_instructions": 24, "cpu_cycles": 25,
		"ane_mach_time": 60, "ane_energy_nj": 27, "phys_footprint": 28, "gpu_energy_nj": 29, "swapins": 31,
	}
	old := map[string]string{
		"coalition.cpu.time": "12500", "coalition.cpu.pcore_time": "1250", "coalition.cpu.instructions": "24", "coalition.cpu.cycles": "25",
		"coalition.wakeups.interrupt": "12", "coalition.wakeups.idle": "13", "coalition.io.read_bytes": "14", "coalition.io.write_bytes": "15",
		"coalition.io.logical.immediate": "17", "coalition.io.logical.deferred": "18", "coalition.io.logical.invalidated": "19", "coalition.io.logical.metadata": "20",
		"coalition.energy.cpu": "16", "coalition.energy.billed": "21", "coalition.energy.serviced": "22",
		"coalition.tasks.started": "9", "coalition.tasks.exited": "6", "coalition.tasks.living": "3",
	}
	since15 := map[string]string{"coalition.energy.gpu": "29", "coalition.energy.ane": "27", "coalition.ane_time": "2500", "coalition.memory.footprint": "28"}
	since26 := map[string]string{"coalition.memory.swapins": "31"}
	for size, release := range map[int]int{264: 10, 280: 12, 296: 14, 352: 15, 360: 26, 400: 27} {
		t.Run(fmt.Sprintf("%d bytes", size), func(t *testing.T) {
			m, r := newFakeMac(t, &macPerson{pid: 7, unique: 5, micros: someMicros, comm: "app", coalition: 71})
			m.coalitions, m.usageSize = []*macCoalition{{id: 71, values: all}}, size
			want := maps.Clone(old)
			for since, some := range map[int]map[string]string{15: since15, 26: since26} {
				for name, v := range some {
					if want[name] = v; release < since {
						want[name] = "!" + metric.Unsupported.String()
					}
				}
			}
			r.read()
			r.expect("71", want)
			for _, d := range r.frames[len(r.frames)-1].Block().Group.Metrics {
				if want[d.Name] == "" {
					t.Errorf("%s is not tested", d.Name)
				}
			}
		})
	}
}

func TestCoalitionsHaveRowsWhenTheirProcessesComeAndGo(t *testing.T) {
	app := &macPerson{pid: 7, unique: 5, micros: someMicros, comm: "app", coalition: 71}
	m, r := newFakeMac(t, app)
	run := map[string]uint64{"tasks_started": 1, "cpu_time": 3}
	idle, corpses := map[string]uint64{"tasks_started": 4, "tasks_exited": 4}, &macCoalition{id: 2, errno: syscall.EINVAL}
	m.coalitions = []*macCoalition{{id: 71, values: run}, {id: 80, values: idle}, corpses}
	step := func(what, want string) {
		t.Helper()
		if r.read(); r.coalitionKeys() != want {
			t.Errorf("%s: rows of %q, want %q", what, r.coalitionKeys(), want)
		}
	}
	step("the first reading", "71 80")
	step("nothing has happened", "71")
	idle["tasks_started"], idle["tasks_exited"] = 5, 5
	step("a process came and went in between", "71 80")
	step("nothing has happened", "71")
	if err := r.source.Refresh(); err != nil {
		t.Fatal(err)
	}
	step("an archive begins", "71 80")
	m.processes, run["tasks_exited"], run["cpu_time"] = nil, 1, 6
	step("the app has ended", "71")
	r.expect("71", map[string]string{"coalition.cpu.time": "250", "coalition.tasks.living": "0"})
	step("and left nothing", "")
	m.coalitions[1].errno = syscall.ESRCH
	idle["tasks_started"], idle["tasks_exited"] = 6, 6
	step("a coalition ends after the list was made", "")
	m.coalitions = m.coalitions[:1]
	step("only what is listed is there", "")
	if n := len(r.source.k.(*macKernel).coalitions.byID); n != 1 {
		t.Errorf("%d coalitions are remembered", n)
	}
}

func TestCoalitionsAreNamedAfterTheirOldestMember(t *testing.T) {
	helper := &macPerson{pid: 6, unique: 9, micros: someMicros + 5, comm: "Helper", coalition: 71}
	app := &macPerson{pid: 7, unique: 5, micros: someMicros, comm: "xpcproxy", coalition: 71}
	m, r := newFakeMac(t, helper, app)
	values := map[string]uint64{"tasks_started": 2}
	m.coalitions = []*macCoalition{{id: 71, values: values}, {id: 73, values: values}}
	expect := func(key, name string, labels ...metric.Label) {
		t.Helper()
		in := r.coalition(key)
		if in.Name != name || !slices.Equal(in.Labels, append([]metric.Label{{Name: "id", Value: key}}, labels...)) {
			t.Errorf("coalition %s is %q, %v", key, in.Name, in.Labels)
		}
	}
	r.read()
	expect("71", "xpcproxy")
	expect("73", "coalition 73") // no process of it was met
	app.comm = "app"             // it called exec
	r.read()
	expect("71", "app")
	p := r.source.table.lookup(7)
	p.instance.Labels = append(p.instance.Labels, metric.Label{Name: "service", Value: "com.example"}, metric.Label{Name: "session", Value: "3 of anna"})
	p.instance.Rev++
	r.read()
	expect("71", "com.example", metric.Label{Name: "service", Value: "com.example"})
	p.instance.Labels = append(p.instance.Labels, metric.Label{Name: "app", Value: "An App"})
	p.instance.Rev++
	r.read()
	named := []metric.Label{{Name: "app", Value: "An App"}, {Name: "service", Value: "com.example"}}
	expect("71", "An App", named...)
	rev := r.coalition("71").Rev
	m.processes = m.processes[:1]
	r.read()
	if expect("71", "An App", named...); r.coalition("71").Rev != rev {
		t.Error("another revision of an instance that has not changed")
	}
	// What a coalition had used at its beginning is known only if it began under our eyes.
	m.processes = append(m.processes, &macPerson{pid: 8, unique: 10, micros: someMicros + 7, comm: "new", coalition: 75})
	m.coalitions = append(m.coalitions, &macCoalition{id: 75, values: values})
	r.read()
	expect("75", "new", metric.Label{Name: "start", Value: r.source.table.lookup(8).instance.Label("start")})
}

// Where nothing has ever used energy, the processor does not count it. Where something has, zero
// is a value.
func TestCoalitionEnergy(t *testing.T) {
	m, r := newFakeMac(t, &macPerson{pid: 7, unique: 5, micros: someMicros, coalition: 71}, &macPerson{pid: 8, unique: 6, micros: someMicros, coalition: 73})
	a, b := map[string]uint64{"tasks_started": 1}, map[string]uint64{"tasks_started": 1}
	m.coalitions = []*macCoalition{{id: 71, values: a}, {id: 73, values: b}}
	names := []string{"coalition.energy.cpu", "coalition.energy.gpu", "coalition.energy.ane", "coalition.cpu.instructions"}
	expect := func(key string, want ...string) {
		t.Helper()
		for i, name := range names {
			r.expect(key, map[string]string{name: want[i]})
		}
	}
	absent := "!" + noCounter.String()
	r.read()
	expect("71", absent, absent, absent, absent)
	b["energy"], b["gpu_energy_nj"] = 50, 60
	r.read()
	expect("71", "0", "0", "0", absent)
	expect("73", "50", "60", "0", absent)
	// Ten seconds of CPU time without any energy: it is not counted any more. The graphics
	// processor may rest.
	b["cpu_time"] += 11 * 24_000_000
	r.read()
	r.read()
	still := "!" + standsStill.String()
	expect("73", still, "60", "0", absent)
	b["energy"] = 51
	r.read()
	r.read()
	expect("73", "51", "60", "0", absent)
}

func TestCoalitionsThatAreNotTold(t *testing.T) {
	m, r := newFakeMac(t, &macPerson{pid: 7, unique: 5, micros: someMicros, coalition: 71})
	m.coalitions = []*macCoalition{{id: 71, values: map[string]uint64{"tasks_started": 1}}}
	r.read()
	for _, f := range r.frames {
		f.Freeze()
	}
	m.unlistable = syscall.EPERM
	r.read()
	r.expect("71", map[string]string{"coalition.cpu.time": "!" + metric.Permission.String()})
	if got := r.source.Notice(); !strings.Contains(got, "coalitions cannot be listed") {
		t.Errorf("notice %q", got)
	}
	m.unlistable, m.coalitions[0].errno = 0, syscall.EPERM
	r.read()
	r.expect("71", map[string]string{"coalition.cpu.time": "!" + metric.Permission.String()})
	if got := r.source.Notice(); got != "" {
		t.Errorf("notice %q", got)
	}
}

func TestCoalitionsTakeOneCallEach(t *testing.T) {
	const n = 2000 // more than the first buffer has room for
	m, r := newFakeMac(t)
	for i := range uint64(n) {
		m.processes = append(m.processes, &macPerson{pid: int32(100 + i), unique: i + 1, micros: someMicros, comm: "p", path: "/bin/p", coalition: 3 + 2*i})
		m.coalitions = append(m.coalitions, &macCoalition{id: 3 + 2*i, values: map[string]uint64{"tasks_started": 1}})
	}
	r.frames = r.frames[len(r.frames)-1:]
	for range 3 {
		r.read()
	}
	if got := len(r.coalitionRows()); got != n {
		t.Fatalf("%d rows", got)
	}
	clear(m.calls)
	r.read()
	if m.calls["coalitions"] != 1 || m.calls["coalition usage"] != n || m.calls["coalition"] != 0 || m.calls["usage"] != 0 {
		t.Errorf("calls %v", m.calls)
	}
	m.coalitions, m.processes = m.coalitions[:300], m.processes[:300]
	r.read()
	r.read()
	if got := testing.AllocsPerRun(5, func() { r.read() }); got > 8 {
		t.Errorf("a reading of 300 coalitions allocates %v times", got)
	}
}
