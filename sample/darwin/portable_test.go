package darwin

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/sample"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

// tables returns the tables of every source whose rows are bound by the catalogue alone.
// Making a table fails on a row that it does not understand.
func tables() map[string]*rows.Table {
	client, clientCalls := nfsRows("client")
	server, serverCalls := nfsRows("server")
	each, all := interfaceRows("interface", "interface"), interfaceRows("network", metric.NoIndom)
	ts := map[string]*rows.Table{
		"memory": memoryRows(), "kernel": kernelRows(), "scalars": scalarRows(), "tcp": tcpRows(), "file systems": filesysRows(),
		"nfs client": client, "nfs client calls": clientCalls, "nfs server": server, "nfs server calls": serverCalls,
		"interfaces": each, "network": all.Totals(),
	}
	for _, d := range domains {
		ts[d.group] = d.rows()
	}
	return ts
}

// Every struct that the rows name has the members that they name, on both processors.
func TestRowsNameWhatThereIs(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		for name, table := range tables() {
			t.Run(arch+" "+name, func(t *testing.T) {
				if len(table.Group.Metrics) == 0 {
					t.Error("no rows")
				}
				table.Members(arch, append(wordsWithoutQuestion(table), "pagesize", uptimeWord)...)
			})
		}
	}
	tcpCountsOf(tcpconnRows())
	for _, table := range registryTables() {
		if len(table.Group.Metrics) == 0 {
			t.Errorf("no rows of %s", table.Group.Name)
		}
	}
	facts := tcpFactRows()
	for col, want := range map[string]int64{"network.tcp.rtoalgorithm": 4, "network.tcp.rtomax": 64_000, "network.tcp.maxconn": -1} {
		i := slices.IndexFunc(facts.Group.Metrics, func(d *metric.Desc) bool { return d.Name == col })
		if v := facts.Value(i, 0, nil); int64(v.Bits) != want {
			t.Errorf("%s is %d, want %d", col, int64(v.Bits), want)
		}
	}
}

// registryTables are the tables whose words are keys. Only on a Mac can a wrong key be
// noticed.
func registryTables() []*rows.Table {
	disks := diskRows()
	percpu, cpu := cpuRows()
	cpuAnswerOf(percpu)
	cpuAnswerOf(cpu)
	containers, volumes := apfsRows()
	battery, charge := batteryRows()
	return []*rows.Table{disks.each, disks.all, disks.parts, containers, volumes, battery, charge, gpuRows(), percpu, cpu}
}

func wordsWithoutQuestion(t *rows.Table) (words []string) {
	for _, l := range t.Leaves {
		if l.Question == "" {
			words = append(words, l.Word)
		}
	}
	return words
}

// filled fills the only row of a table's frame and returns its cells by metric.
func filled(t *rows.Table, a rows.Answers) map[string]metric.Value {
	f := sample.NewFrame(t.Group, func(*metric.Desc) bool { return true })
	f.Reset(metric.Stamp{})
	t.Fill(f, f.Row(nil), 0, a)
	cells := make(map[string]metric.Value)
	for i, d := range f.Block().Group.Metrics {
		cells[d.Name] = f.Block().Cols[i].At(d.Type, 0)
	}
	return cells
}

// put writes a member of a struct.
func put(b []byte, structName, name string, v uint64) {
	f := decode.Find(structName, name, "amd64")
	for i := range f.Size {
		b[f.Off+i] = byte(v >> (8 * i))
	}
}

// The answer of an older kernel is shorter. Values that it has are recorded, others are
// absent.
func TestMemoryOfAnOlderKernel(t *testing.T) {
	table := memoryRows()
	p := pagesOf(table, "amd64")
	p.size, p.Short, p.Answer = 16384, metric.Unsupported, make([]byte, 96)
	put(p.Answer, "vm_statistics64", "free_count", 1000)
	put(p.Answer, "vm_statistics64", "faults", 1<<40)
	cells := filled(table, &p)
	for name, want := range map[string]metric.Value{
		"mem.freemem":      {Type: metric.U64, Bits: 16000},
		"mem.pages.faults": {Type: metric.U64, Bits: 1 << 40},
		"mem.compressions": {Type: metric.U64, Miss: metric.Unsupported},
		"mem.util.used":    {Type: metric.U64, Miss: metric.Unsupported},
	} {
		t.Run(name, func(t *testing.T) {
			if v := cells[name]; v.Bits != want.Bits || v.Miss != want.Miss {
				t.Errorf("%d (%s), want %d (%s)", v.Bits, v.Miss, want.Bits, want.Miss)
			}
		})
	}
}

func TestFreshness(t *testing.T) {
	var r freshness
	ms := func(n int64) int64 { return n * int64(time.Millisecond) }
	for _, step := range []struct {
		at     int64
		answer string
		stale  bool
	}{
		{ms(0), "a", false},
		{ms(1000), "a", true},  // may be the kernel's cached answer
		{ms(1010), "a", false}, // cannot be cached: it was received 1 s ago
		{ms(2000), "a", false}, // cannot be cached: the machine is idle
		{ms(2500), "b", false},
		{ms(2600), "b", true},
		{ms(3600), "c", false},
	} {
		t.Run(fmt.Sprintf("%q at %d ms", step.answer, step.at/int64(time.Millisecond)), func(t *testing.T) {
			if got := r.stale([]byte(step.answer), step.at, step.at+ms(10)); got != step.stale {
				t.Errorf("stale %v", got)
			}
		})
	}
}

func TestTruePageSize(t *testing.T) {
	const gb = 1 << 30
	for _, c := range []struct{ told, pages, memory, want uint64 }{
		{16384, 16 * gb / 16384, 16 * gb, 16384},
		{4096, 32 * gb / 4096, 32 * gb, 4096},
		{4096, 16 * gb / 16384, 16 * gb, 16384}, // translated
		{4096, 0, 16 * gb, 4096},                // not given: believe the other
		{4096, 500, 16 * gb, 4096},
	} {
		t.Run(fmt.Sprintf("told %d, %d pages, %d bytes", c.told, c.pages, c.memory), func(t *testing.T) {
			if got := truePageSize(c.told, c.pages, c.memory); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestTicksAreWidened(t *testing.T) {
	var cpu cpuTicks
	cpu.add([len(cpuStates)]uint32{math.MaxUint32 - 1, 5, 0, 0})
	cpu.add([len(cpuStates)]uint32{3, 6, 0, 0})
	if want := (stateTicks{math.MaxUint32 + 4, 6, 0, 0}); cpu.total != want {
		t.Errorf("ticks %v", cpu.total)
	}
	// The kernel's idle time steps back. That is not a wrap, and there is no gain until it
	// reaches the old value.
	for _, idle := range []uint32{1000, 999, 998, 1000, 1007} {
		cpu.add([len(cpuStates)]uint32{3, 6, idle, 0})
	}
	if idle := cpu.total[slices.Index(cpuStates[:], "CPU_STATE_IDLE")]; idle != 1007 {
		t.Errorf("idle ticks %d, want 1007", idle)
	}
}

func TestCoreKinds(t *testing.T) {
	levels := []cluster{{"Performance", 2}, {"Efficiency", 3}}
	if got := coreKinds(levels, 5); !slices.Equal(got, []string{"Efficiency", "Efficiency", "Efficiency", "Performance", "Performance"}) {
		t.Errorf("kinds %q", got)
	}
	for _, c := range []struct {
		letters string
		levels  []cluster
		want    string
	}{
		{"EPE", nil, "Efficiency Performance Efficiency"},
		{"EPE", levels, "Efficiency Performance Efficiency"}, // the levels belong to another machine
		{"EEPP", []cluster{{"Performance", 2}, {"Efficiency", 2}}, "Efficiency Efficiency Performance Performance"},
		{"EEEPP", []cluster{{"Super", 2}, {"Efficiency", 3}}, "Efficiency Efficiency Efficiency Super Super"},
		{"EEEPP", []cluster{{"Super", 2}, {"Performance", 3}}, "Performance Performance Performance Super Super"},
		{"MMMPP", []cluster{{"Super", 2}, {"Performance", 3}}, "Performance Performance Performance Super Super"},
		{"EMMPPP", []cluster{{"Super", 3}, {"Performance", 2}, {"Efficiency", 1}}, "Efficiency Performance Performance Super Super Super"},
		{"EMMPP", []cluster{{"Super", 2}, {"Performance", 2}, {"Efficiency", 1}}, "Efficiency|cluster M|cluster M|Performance|Performance"},
		{"EQ", nil, "Efficiency|cluster Q"},
	} {
		t.Run(fmt.Sprint(c.letters, c.levels), func(t *testing.T) {
			letters := make(map[int]byte)
			for i := range c.letters {
				letters[i] = c.letters[i]
			}
			want := strings.Fields(c.want)
			if strings.Contains(c.want, "|") {
				want = strings.Split(c.want, "|")
			}
			if got := treeKinds(letters, c.levels, len(c.letters)); !slices.Equal(got, want) {
				t.Errorf("kinds by the device tree %q, want %q", got, want)
			}
		})
	}
	if treeKinds(map[int]byte{0: 'E'}, nil, 2) != nil || treeKinds(nil, nil, 1) != nil {
		t.Error("a device tree that leaves out a processor labels nothing")
	}
	if coreKinds(levels, 4) != nil || coreKinds(nil, 4) != nil {
		t.Error("levels that do not add up label nothing")
	}
}

// Each family of processors has its sensors under its own keys.
func TestSensorKeys(t *testing.T) {
	keys := make(map[string]rows.Row)
	for _, r := range smcRows(metric.NoIndom) {
		keys[r.Name] = r
	}
	for brand, want := range map[string][2]string{
		"Apple M1":         {"Tp01", "Tg05"},
		"Apple M2 Max":     {"Tp01", "Tg0f"},
		"Apple M3 Pro":     {"Tf04", "Tf14"},
		"Apple M4":         {"Tp01", "Tg0G"},
		"Apple M5 Max":     {"Tp00", "Tg0U"},
		"Apple M7":         {},
		"Apple A18 Pro":    {},
		"Intel(R) Core M5": {"TC0D", "TG0D"},
		"":                 {"TC0D", "TG0D"},
	} {
		t.Run(brand, func(t *testing.T) {
			var got [2]string
			for i, name := range []string{"thermal.cpu.die", "thermal.gpu.die"} {
				list := smcKeys(keys[name], brand)
				if len(list) > 0 {
					got[i] = list[0]
				}
				for _, key := range list {
					if intels := key[:2] == "TC" || key[:2] == "TG"; intels == strings.HasPrefix(brand, "Apple ") {
						t.Errorf("%s is tried for %s", key, name)
					}
				}
			}
			if got != want {
				t.Errorf("keys %v, want %v", got, want)
			}
			if len(smcKeys(keys["thermal.ambient"], brand)) != 4 {
				t.Error("a key that is the same everywhere depends on the processor")
			}
		})
	}
	for row, c := range map[string]struct{ no, yes []float64 }{
		"thermal.cpu.die": {[]float64{0, 6.7, -3, 131, math.NaN(), math.Inf(1)}, []float64{10, 45.5, 105}},
		"thermal.gpu.die": {[]float64{1, 2}, []float64{44}},
		"thermal.ambient": {[]float64{0, -60, 200, math.NaN()}, []float64{-20, 6.7, 45}},
	} {
		for want, list := range map[bool][]float64{false: c.no, true: c.yes} {
			for _, v := range list {
				if sane(keys[row], v) != want {
					t.Errorf("%s of %v is believed: %v", row, v, !want)
				}
			}
		}
	}
	for _, rs := range [][]rows.Row{smcRows(metric.NoIndom), smcRows("fan")} {
		for _, r := range rs {
			for _, key := range append(smcKeys(r, "Apple M1"), fanKeys(r, 1)...) {
				if len(strings.ReplaceAll(key, "<n>", "1")) != 4 && key[0] != '<' {
					t.Errorf("%s: key %q", r.Name, key)
				}
			}
		}
	}
}

func TestRunningTotal(t *testing.T) {
	for _, c := range []struct {
		name     string
		counter  *metric.Desc
		readings []uint64
		want     uint64
	}{
		{"seen for the first time", &counter64, []uint64{100}, 100},
		{"counts on", &counter64, []uint64{100, 150}, 150},
		{"begins again", &counter64, []uint64{150, 20}, 170},
		{"falls by eleven bytes", &counter64, []uint64{9_800_000_000, 9_799_999_989, 9_800_000_000, 9_800_000_005}, 9_800_000_005},
		{"wraps at 32 bits", &counter32, []uint64{math.MaxUint32, 9}, math.MaxUint32 + 10},
		{"a reset, not a wrap", &counter32, []uint64{1000, 3}, 1003},
		{"falls a little at the top of 32 bits", &counter32, []uint64{math.MaxUint32 - 5, math.MaxUint32 - 16}, math.MaxUint32 - 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			var total runningTotal
			var prev uint64
			for _, now := range c.readings {
				total.gained(&prev, now, c.counter)
			}
			if total.sum != c.want {
				t.Errorf("total %d, want %d", total.sum, c.want)
			}
		})
	}
}

// of holds the values of words, some of which may be missing.
type of struct {
	*rows.Table
	words map[string]int64
}

func (a of) Leaf(i int) rows.Value {
	v, ok := a.words[a.Leaves[i].Word]
	if !ok {
		return rows.Value{Miss: metric.Unsupported}
	}
	return rows.Value{Bits: uint64(v)}
}

func TestBatteryTemperature(t *testing.T) {
	table, _ := batteryRows()
	for _, c := range []struct {
		words map[string]int64
		want  float32
		miss  metric.Reason
	}{
		{map[string]int64{"Temperature": 2998}, 26.65, metric.Present},
		{map[string]int64{"Temperature": 3141}, 40.95, metric.Present},
		{map[string]int64{"VirtualTemperature": 2659, "Temperature": 2998}, 26.59, metric.Present},
		{map[string]int64{"VirtualTemperature": 0, "Temperature": 2731}, 0, metric.Present},
		{map[string]int64{"VirtualTemperature": -450}, -4.5, metric.Present},
		{map[string]int64{"VirtualTemperature": 29980, "Temperature": 2998}, 26.65, metric.Present}, // not a temperature
		{map[string]int64{"VirtualTemperature": 29980, "Temperature": 0}, 0, rows.Implausible},
		{map[string]int64{"VirtualTemperature": 29980}, 0, rows.Implausible},
		{map[string]int64{"Temperature": 0}, 0, rows.Implausible},
		{map[string]int64{"Temperature": math.MaxInt64}, 0, rows.Implausible},
		{map[string]int64{"Temperature": math.MinInt64}, 0, rows.Implausible},
		{nil, 0, metric.Unsupported},
	} {
		t.Run(fmt.Sprint(c.words), func(t *testing.T) {
			got := filled(table, of{table, c.words})["power.battery.temperature"]
			if got.Miss != c.miss || got.Miss == metric.Present && float32(got.Number()) != c.want {
				t.Errorf("%v (%s), want %v (%s)", got, got.Miss, c.want, c.miss)
			}
		})
	}
}

func TestBatteryCapacity(t *testing.T) {
	battery, charge := batteryRows()
	for _, c := range []struct {
		table  *rows.Table
		words  map[string]int64
		metric string
		want   string
	}{
		{battery, map[string]int64{"AppleRawMaxCapacity": 4402, "MaxCapacity": 100, "DesignCapacity": 4563}, "power.battery.health", "96"},
		{battery, map[string]int64{"AppleRawMaxCapacity": 5000, "DesignCapacity": 4563}, "power.battery.health", "100"},
		{battery, map[string]int64{"MaxCapacity": 6000, "DesignCapacity": 6000}, "power.battery.health", "100"},
		{battery, map[string]int64{"MaxCapacity": 100, "DesignCapacity": 6000}, "power.battery.health", ""},
		{battery, map[string]int64{"AppleRawMaxCapacity": 4402}, "power.battery.health", ""},
		{battery, map[string]int64{"MaxCapacity": 6000}, "power.battery.capacity.max", "6000"},
		{battery, map[string]int64{"MaxCapacity": 100}, "power.battery.capacity.max", ""},
		{battery, map[string]int64{"Amperage": 64924}, "power.battery.amperage", "-612"},
		{battery, map[string]int64{"AppleRawCurrentCapacity": 57, "CurrentCapacity": 84}, "power.battery.capacity.now", "57"},
		{battery, map[string]int64{"CurrentCapacity": 84}, "power.battery.capacity.now", ""},
		{battery, map[string]int64{"CurrentCapacity": 5012}, "power.battery.capacity.now", "5012"},
		{battery, map[string]int64{"AccumulatedSystemLoad": 1508591581}, "power.system.energy", "1508591581000000"},
		{charge, map[string]int64{"Current Capacity": 84, "Max Capacity": 100}, "power.battery.charge", "84"},
		{charge, map[string]int64{"Current Capacity": 3000, "Max Capacity": 6000}, "power.battery.charge", "50"},
		{charge, map[string]int64{"Current Capacity": 84}, "power.battery.charge", "84"},
		{charge, map[string]int64{"Max Capacity": 100}, "power.battery.charge", ""},
	} {
		t.Run(fmt.Sprint(c.metric, c.words), func(t *testing.T) {
			if got := filled(c.table, of{c.table, c.words})[c.metric]; got.String() != c.want {
				t.Errorf("%q (%s), want %q", got, got.Miss, c.want)
			}
		})
	}
}

func TestBattery(t *testing.T) {
	for raw, want := range map[int64]int64{1210: 1210, -612: -612, 64924: -612, 4294966684: -612, 32767: 32767, 70000: 70000} {
		t.Run(fmt.Sprint("a current of ", raw), func(t *testing.T) {
			if got := widened(raw); got != want {
				t.Errorf("is %d, want %d", got, want)
			}
		})
	}
	for _, c := range []struct {
		charging, onBattery bool
		toFull, toEmpty     int64
		want                int64
		why                 metric.Reason
	}{
		{false, true, 0, 322, 322, metric.Present},
		{true, false, 45, 0, 45, metric.Present},
		{false, true, 0, -1, 0, timeUnknown},
		{true, false, -1, 0, 0, timeUnknown},
		{true, false, 65535, 0, 0, timeUnknown},
		{false, false, 0, 0, 0, timeNone},
	} {
		t.Run(fmt.Sprintf("charging %v, on battery %v, %d to full, %d to empty", c.charging, c.onBattery, c.toFull, c.toEmpty), func(t *testing.T) {
			if got, why := remaining(c.charging, c.onBattery, c.toFull, c.toEmpty); got != c.want || why != c.why {
				t.Errorf("%d (%s), want %d (%s)", got, why, c.want, c.why)
			}
		})
	}
	if h, ok := health(4402, 4563); !ok || h != 96 {
		t.Errorf("health %d, %v", h, ok)
	}
	if h, ok := health(5000, 4563); !ok || h != 100 {
		t.Errorf("a new battery's health %d, %v", h, ok)
	}
	if _, ok := health(100, 0); ok {
		t.Error("health without a design capacity")
	}
	if percent(84, 100) != 84 || percent(3000, 6000) != 50 || percent(-1, 0) != 0 {
		t.Error("charge")
	}
}

func TestFilesystemNumbers(t *testing.T) {
	table := filesysRows()
	rec := rows.Struct{Members: table.Members("amd64"), Answer: make([]byte, 2168)}
	for name, v := range map[string]uint64{"f_bsize": 512, "f_blocks": 1000, "f_bfree": 250, "f_bavail": 200, "f_files": 10, "f_ffree": 20} {
		put(rec.Answer, "statfs", name, v)
	}
	check := func(want map[string]float64) {
		t.Helper()
		cells := filled(table, &rec)
		for name, v := range want {
			if got := cells[name]; got.Number() != v {
				t.Errorf("%s is %v (%s), want %v", name, got.Number(), got.Miss, v)
			}
		}
	}
	check(map[string]float64{"filesys.capacity": 500, "filesys.used": 375, "filesys.free": 125, "filesys.avail": 100, "filesys.usedfiles": 0, "filesys.full": 100 * 750.0 / 950})
	rec.Answer = make([]byte, 2168)
	put(rec.Answer, "statfs", "f_bsize", 512)
	put(rec.Answer, "statfs", "f_bfree", 5)
	check(map[string]float64{"filesys.used": 0, "filesys.full": 0})
}

func TestTCPRefused(t *testing.T) {
	zeros, some := make([]byte, 992), append(make([]byte, 991), 1)
	type answer struct{ some, known bool }
	yes, no, part, nothing := answer{true, true}, answer{false, true}, answer{true, false}, answer{}
	for _, c := range []struct {
		answer      []byte
		gate, root  bool
		established answer
		want        string
	}{
		{some, true, false, yes, ""},
		{some, false, false, nothing, ""},
		{zeros, true, false, no, tcpWithheldReason},
		{zeros, true, true, no, ""},
		{zeros, true, true, yes, tcpWithheldByZero},
		{zeros, false, false, yes, tcpWithheldByZero},
		{zeros, false, false, no, ""},
		{zeros, false, false, part, tcpWithheldByZero},
		{zeros, false, false, nothing, tcpUnprovenZero},
		{zeros, true, true, nothing, tcpUnprovenZero},
	} {
		t.Run(fmt.Sprintf("zeros %v, gate %v, root %v, established %v", allZero(c.answer), c.gate, c.root, c.established), func(t *testing.T) {
			if got := tcpRefused(c.answer, c.gate, c.root, func() (bool, bool) { return c.established.some, c.established.known }); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestLoginCounts(t *testing.T) {
	record := func(kind uint16, user string) []byte {
		b := make([]byte, 640)
		copy(b, user)
		binary.LittleEndian.PutUint16(b[decode.UtType.Off:], kind)
		return b
	}
	var n loginCounts
	n.add(record(utUserProcess, "ana"))
	n.add(record(utUserProcess, "root"))
	n.add(record(utUserProcess, ""))
	n.add(record(utLoginProcess, "LOGIN"))
	n.add(record(2, "reboot"))
	n.add(record(8, "ana"))
	n.add(nil)
	if n != (loginCounts{users: 2, roots: 1, sessions: 3}) {
		t.Errorf("counts %+v", n)
	}
}

func TestOmissions(t *testing.T) {
	for name, want := range map[string]bool{
		"kern.prng.pool_3.sample_count": true, "kern.prng": false, "kern.procname": true, "kern.procname2": false, "kern.ostype": false,
	} {
		t.Run(name, func(t *testing.T) {
			if got := omitted(name) != ""; got != want {
				t.Errorf("omitted: %v", got)
			}
		})
	}
}

func TestReasons(t *testing.T) {
	if reasonFor(syscall.EPERM) != metric.Permission || reasonFor(syscall.ENOENT) != metric.Unsupported {
		t.Error("errno")
	}
	if r := reasonFor(errors.New("sysctl kern.x: input/output error")); r.String() != "sysctl kern.x: input/output error" {
		t.Errorf("reason %q", r)
	}
}

func TestPlistString(t *testing.T) {
	plist := []byte(`<?xml version="1.0"?><plist><dict>
	<key>ProductName</key>
	<string>macOS</string>
	<key>ProductVersion</key><string>15.5</string>
	<key>Odd</key><integer>3</integer>
	<key>Cut</key><string>never`)
	for key, want := range map[string]string{"ProductName": "macOS", "ProductVersion": "15.5", "Odd": "", "Cut": "", "Missing": ""} {
		t.Run(key, func(t *testing.T) {
			if got := plistString(plist, key); got != want {
				t.Errorf("is %q, want %q", got, want)
			}
		})
	}
}

func FuzzPlistString(f *testing.F) {
	f.Add([]byte("<key>a</key><string>b</string>"), "a")
	f.Fuzz(func(t *testing.T, plist []byte, key string) { plistString(plist, key) })
}

// Every column must accept answers of any length.
func FuzzColumns(f *testing.F) {
	f.Add(make([]byte, 200), uint64(16384))
	all, members := tables(), make(map[string][]rows.Member)
	for name, table := range all {
		members[name] = table.Members("arm64", append(wordsWithoutQuestion(table), "pagesize", uptimeWord)...)
	}
	f.Fuzz(func(t *testing.T, answer []byte, pageSize uint64) {
		for name, table := range all {
			a := pages{rows.Struct{Members: members[name], Answer: answer}, pageSize}
			for col, d := range table.Group.Metrics {
				if d.Type != metric.String {
					table.Value(col, 0, &a)
				}
			}
		}
	})
}
