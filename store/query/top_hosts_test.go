package query_test

import (
	"math"
	"strings"
	"testing"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

func parse(t *testing.T, scripts ...string) *querytest.Archive {
	t.Helper()
	var parts []*querytest.Part
	for _, s := range scripts {
		list, err := querytest.Parse(strings.NewReader(s))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, list...)
	}
	return querytest.New(parts...)
}

const linuxBox = `host box id=L platform=linux
interval process 5s
metric proc.psinfo.utime u64 counter process process millisec
metric proc.memory.rss u64 instant process process Kbyte
metric proc.memory.vmhwm u64 instant process process Kbyte
metric proc.memory.footprint u64 instant process costly Kbyte
metric proc.energy.cpu u64 counter process process nanojoule
  unsupported Linux does not account energy per process
`

const macBook = `host mac id=M platform=macos
interval process 5s
metric proc.psinfo.utime u64 counter process process millisec
metric proc.memory.rss u64 instant process process Kbyte
metric proc.memory.footprint u64 instant process process byte
metric proc.memory.footprint_max u64 instant process process byte
metric proc.energy.billed u64 counter process process nanojoule
metric proc.energy.cpu u64 counter process process nanojoule
`

// Peaks are the kernel's where they surely fell into the window.
func TestTopByMemoryTakesTheKernelsPeak(t *testing.T) {
	a := parse(t, "start 2026-11-20T03:00:00Z\n"+linuxBox+`instance process 1 000001 old start=2026-11-20T02:00:00Z
instance process 2 000002 grown start=2026-11-20T02:00:00Z
instance process 3 000003 young start=2026-11-20T03:00:32Z
instance process 4 000004 again start=2026-11-20T02:00:00Z
boot b1 -1h
every 5s 0s 30s process
  proc.psinfo.utime[1] rate=1
  proc.psinfo.utime[2] rate=1
  proc.psinfo.utime[4] rate=1
  proc.memory.rss[1] 1000
  proc.memory.vmhwm[1] 9000
  proc.memory.rss[2] 1000
  proc.memory.vmhwm[2] 2000
  proc.memory.rss[4] 1000
  proc.memory.vmhwm[4] 9000
every 5s 35s 60s process
  proc.psinfo.utime[1] rate=1
  proc.psinfo.utime[2] rate=1
  proc.psinfo.utime[3] rate=1
  proc.psinfo.utime[4] rate=1
  proc.memory.rss[1] 1500
  proc.memory.vmhwm[1] 9000
  proc.memory.rss[2] 1500
  proc.memory.vmhwm[2] 5000
  proc.memory.rss[3] 500
  proc.memory.vmhwm[3] 7000
  proc.memory.rss[4] 1200
  proc.memory.vmhwm[4] 1200
`)
	start := a.Archives()[0].From
	at := func(s int64) int64 { return start + s*second }
	for _, c := range []struct {
		name     string
		from, to int64
		want     map[string]float64 // Kbyte
	}{
		{"the whole recording", 0, 60, map[string]float64{"old": 1500, "grown": 5000, "young": 7000, "again": 1200}},
		{"from where it rose", 20, 60, map[string]float64{"old": 1500, "grown": 5000, "young": 7000, "again": 1200}},
		{"after it rose", 45, 60, map[string]float64{"old": 1500, "grown": 1500, "young": 500, "again": 1200}},
		{"before it rose", 0, 30, map[string]float64{"old": 1000, "grown": 1000, "again": 1000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := query.Top(a, query.Window{From: at(c.from), To: at(c.to)}, query.ByMemory, query.PerProcess, 0)
			if err != nil {
				t.Fatal(err)
			}
			got := make(map[string]float64)
			for _, x := range r.Consumers {
				got[x.Name] = x.Peak / 1024
			}
			for name, want := range c.want {
				if got[name] != want {
					t.Errorf("%s peaked at %v, want %v", name, got[name], want)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("peaks %v, want %v", got, c.want)
			}
		})
	}
}

// Several hosts are each summed up by themselves, whichever archive is last.
func TestTopOfSeveralHosts(t *testing.T) {
	linux := linuxBox + `instance process 1 000001 worker start=2026-11-20T02:00:00Z
boot b1 -1h
every 5s 0s 100s process
  proc.psinfo.utime[1] rate=500
  proc.memory.rss[1] 3000
  proc.memory.vmhwm[1] 3000
  proc.memory.footprint[1] 100
`
	mac := macBook + `instance process 1 000001 Safari start=2026-11-20T02:00:00Z
boot b1 -1h
every 5s 0s 200s process
  proc.psinfo.utime[1] rate=500
  proc.memory.rss[1] 1000
  proc.memory.footprint[1] 4096000
  proc.memory.footprint_max[1] 8192000
  proc.energy.billed[1] rate=1000000000
  proc.energy.cpu[1] rate=3000000000
`
	early, late := "start 2026-11-20T03:00:00Z\n", "start 2026-11-20T05:00:00Z\n"
	for name, a := range map[string]*querytest.Archive{
		"the mac last": parse(t, early+linux, late+mac), "the mac first": parse(t, early+mac, late+linux),
	} {
		t.Run(name, func(t *testing.T) {
			for _, by := range []query.By{query.ByMemory, query.ByCPU, query.ByEnergy} {
				r, err := query.Top(a, query.Window{}, by, query.PerProcess, 0)
				if err != nil {
					t.Fatal(err)
				}
				seen := 0
				for _, c := range r.Consumers {
					switch c.Name {
					case "Safari":
						if c.Peak != 4096000 || math.Abs(c.Gains[query.Energy]-600) > 1e-6 {
							t.Errorf("by %s: Safari held %v bytes and took %v J", by, c.Peak, c.Gains[query.Energy])
						}
					case "worker":
						if c.Peak != 3000*1024 || c.Gains[query.Energy] == c.Gains[query.Energy] {
							t.Errorf("by %s: worker held %v bytes and took %v J", by, c.Peak, c.Gains[query.Energy])
						}
					}
					if cpu := r.CPU(c); math.Abs(cpu-0.5) > 1e-6 {
						t.Errorf("by %s: %s used %v of a core, want half of one", by, c.Name, cpu)
					}
					seen++
				}
				if want := map[query.By]int{query.ByEnergy: 1}[by]; want != 0 && seen != want || want == 0 && seen != 2 {
					t.Errorf("by %s: %d processes", by, seen)
				}
			}
			list := query.Processes(a, query.Window{}, a.Archives()[1].To, nil)
			for _, p := range list {
				if want := map[string]float64{"Safari": 4096000, "worker": 3000 * 1024}[p.Name]; p.Memory() != want {
					t.Errorf("ps: %s holds %v, want %v", p.Name, p.Memory(), want)
				}
			}
		})
	}
}

// Where processes are first read long after the rest, as in what other recorders
// made, those that are there at the first reading did not all begin in between.
func TestTopWhereProcessesAreReadLate(t *testing.T) {
	a := parse(t, "start 2026-11-20T03:00:00Z\n"+linuxBox+`metric kernel.all.load f32 instant - fast
interval fast 1s
instance process 1 000001 old
instance process 2 000002 young
boot b1 -1h
every 1s 0s 60s fast
  kernel.all.load 1
tick process 20s
  proc.psinfo.utime[1] 3600000
tick process 25s
  proc.psinfo.utime[1] 3600100
tick process 30s
  proc.psinfo.utime[1] 3600300
  proc.psinfo.utime[2] 70
`)
	r, err := query.Top(a, query.Window{}, query.ByCPU, query.PerProcess, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"old": 0.3, "young": 0.07}
	if len(r.Consumers) != len(want) {
		t.Errorf("%d processes, want %d", len(r.Consumers), len(want))
	}
	for _, c := range r.Consumers {
		if got := c.CPUTime(); math.Abs(got-want[c.Name]) > 1e-9 {
			t.Errorf("%s used %v s, want %v", c.Name, got, want[c.Name])
		}
	}
}
