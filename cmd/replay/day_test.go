package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// dayEnv names a directory that keeps the archive of a day between runs of the
// benchmarks; without it one is made for each run.
const dayEnv = "TACHO_REPLAY_DAY"

// aDay is the archive of 24 hours of a machine with 360 processes, processes
// every ten seconds and the rest every second: a dataset played again and
// again under the names that replay knows. fortyMinutes are the first of it.
var (
	aDay         = sync.OnceValues(func() (string, error) { return dayOf(os.Getenv(dayEnv), "day", 36, 1, 10) })
	fortyMinutes = sync.OnceValues(func() (string, error) { return dayOf(os.Getenv(dayEnv), "forty-minutes", 1, 1, 10) })
)

func dayOf(keep, name string, rounds, systemEvery, procEvery int) (string, error) {
	dir := keep
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "tacho-replay"); err != nil {
			return "", err
		}
		scratchDirs = append(scratchDirs, dir)
	}
	path := filepath.Join(dir, name+".tacho")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	// In a process of its own: what children are measured at must not include
	// what this one once needed.
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d %s", makeEnv, rounds, systemEvery, procEvery, path))
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
}

// makeEnv makes the test binary record a day, or an hour, and exit.
const makeEnv = "TACHO_REPLAY_MAKE"

func makeRecording(spec string) error {
	var rounds, systemEvery, procEvery int
	var path string
	if _, err := fmt.Sscanf(spec, "%d %d %d %s", &rounds, &systemEvery, &procEvery, &path); err != nil {
		return err
	}
	data, err := storetest.Find()
	if err != nil {
		return err
	}
	rep, err := storetest.NewRepeater(data, systemEvery, procEvery)
	if err != nil {
		return err
	}
	return record(rep, path, rounds, time.Duration(systemEvery)*time.Second, time.Duration(procEvery)*time.Second)
}

var scratchDirs []string

func record(rep *storetest.Repeater, path string, rounds int, fast, process time.Duration) error {
	dir, err := os.MkdirTemp(filepath.Dir(path), "work")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var w *recording.Writer
	var clock proof.Clock
	p := &player{descs: make(map[string]*metric.Desc), groups: make(map[*metric.Group]*played)}
	for range rounds {
		err := rep.Round(func(t *metric.Tick) error {
			now := p.play(t)
			clock.Set(now.At)
			if w == nil {
				w, err = recording.Create(recording.Options{Dir: dir, Host: metric.Host{ID: "workstation-a", Name: "workstation-a", OS: "Linux", Platform: "linux"},
					BootID: "b", TimeZone: "UTC", Intervals: metric.Intervals{metric.Fast: fast, metric.Process: process},
					Now: clock.Now})
				if err != nil {
					return err
				}
				if err := w.Append(p.static(now.At)); err != nil {
					return err
				}
			}
			return w.Append(now)
		})
		if err != nil {
			return err
		}
	}
	made, err := w.Rotate("the end")
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.Rename(made, path)
}

// player gives the dataset's metrics the names and units that the recorder
// uses.
type player struct {
	descs  map[string]*metric.Desc
	groups map[*metric.Group]*played
}

// played is a group under its new names.
type played struct {
	group  *metric.Group
	single bool
	factor []uint64
	total  *metric.Group // sums over the rows, or one of them
	sums   []int         // columns that the totals come from
}

// renames are the names and units of what the tests ask about, and what values
// are multiplied with to be in these units.
var renames = map[string]struct {
	name   string
	units  metric.Units
	factor uint64
	total  string // a metric without instances that sums this one up
}{
	"process.process.utime":        {"proc.psinfo.utime", metric.Milliseconds, 10, ""},
	"process.process.stime":        {"proc.psinfo.stime", metric.Milliseconds, 10, ""},
	"process.process.minflt":       {"proc.psinfo.minflt", metric.Counts, 1, ""},
	"process.process.majflt":       {"proc.psinfo.maj_flt", metric.Counts, 1, ""},
	"process.process.num_threads":  {"proc.psinfo.threads", metric.NoUnits, 1, ""},
	"process.process.vsize":        {"proc.memory.vmsize", metric.Bytes, 1, ""},
	"process.process.rss":          {"proc.memory.rss", metric.Kbytes, 4, ""},
	"process.process.read_bytes":   {"proc.io.read_bytes", metric.Bytes, 1, ""},
	"process.process.write_bytes":  {"proc.io.write_bytes", metric.Bytes, 1, ""},
	"cpu.cpu.user":                 {"kernel.percpu.cpu.user", metric.Milliseconds, 10, "kernel.all.cpu.user"},
	"cpu.cpu.nice":                 {"kernel.percpu.cpu.nice", metric.Milliseconds, 10, "kernel.all.cpu.nice"},
	"cpu.cpu.system":               {"kernel.percpu.cpu.sys", metric.Milliseconds, 10, "kernel.all.cpu.sys"},
	"cpu.cpu.idle":                 {"kernel.percpu.cpu.idle", metric.Milliseconds, 10, "kernel.all.cpu.idle"},
	"cpu.cpu.iowait":               {"kernel.percpu.cpu.wait.total", metric.Milliseconds, 10, "kernel.all.cpu.wait.total"},
	"disk.disk.sectors_read":       {"disk.dev.blkread", metric.Counts, 1, "disk.all.blkread"},
	"disk.disk.sectors_written":    {"disk.dev.blkwrite", metric.Counts, 1, "disk.all.blkwrite"},
	"disk.disk.ms_io":              {"disk.dev.avactive", metric.Milliseconds, 1, ""},
	"net.net.rx_bytes":             {"network.interface.in.bytes", metric.Bytes, 1, "network.all.in.bytes"},
	"net.net.tx_bytes":             {"network.interface.out.bytes", metric.Bytes, 1, "network.all.out.bytes"},
	"meminfo.meminfo.MemTotal":     {"mem.physmem", metric.Kbytes, 1, ""},
	"meminfo.meminfo.MemFree":      {"mem.util.free", metric.Kbytes, 1, ""},
	"meminfo.meminfo.MemAvailable": {"mem.util.available", metric.Kbytes, 1, ""},
	"filesystem.fs.bavail":         {"filesys.avail", metric.NoUnits, 1, ""},
	"filesystem.fs.bfree":          {"filesys.free", metric.NoUnits, 1, ""},
	"stat.stat.processes":          {"kernel.all.sysfork", metric.Counts, 1, ""},
	"stat.stat.ctxt":               {"kernel.all.pswitch", metric.Counts, 1, ""},
	"stat.stat.intr":               {"kernel.all.intr", metric.Counts, 1, ""},
}

// prefixes name the rest after the parts of the machine they belong to.
var prefixes = [][2]string{
	{"process.process.", "proc.other."}, {"cpu.cpu.", "kernel.percpu.cpu."}, {"disk.disk.", "disk.dev."}, {"net.net.", "network.interface."},
	{"meminfo.meminfo.", "mem.util."}, {"vmstat.vmstat.", "mem.vmstat."}, {"netstat.netstat.", "network."}, {"loadavg.loadavg.", "kernel.all.load."},
	{"stat.stat.", "kernel.all.stat."}, {"filesystem.fs.", "filesys."}, {"pressure.pressure.", "kernel.all.pressure."},
}

var singles = map[string]bool{"meminfo": true, "vmstat": true, "netstat": true, "loadavg": true, "stat": true}

func (p *player) group(g *metric.Group) *played {
	if out := p.groups[g]; out != nil {
		return out
	}
	out := &played{group: &metric.Group{Name: g.Name, Indom: g.Indom}, single: singles[g.Name], total: &metric.Group{Name: g.Name + " total"}}
	if out.single {
		out.group.Indom = metric.NoIndom
	}
	for i, d := range g.Metrics {
		c := *d
		c.Indom = out.group.Indom
		factor := uint64(1)
		if r, ok := renames[d.Name]; ok {
			c.Name, c.Units, factor = r.name, r.units, r.factor
			if r.total != "" {
				sum := c
				sum.Name, sum.Indom = r.total, metric.NoIndom
				out.total.Metrics = append(out.total.Metrics, &sum)
				out.sums = append(out.sums, i)
			}
		} else {
			for _, pre := range prefixes {
				if rest, ok := strings.CutPrefix(d.Name, pre[0]); ok {
					c.Name = pre[1] + rest
				}
			}
		}
		c.Help = "Test value " + c.Name
		out.factor = append(out.factor, factor)
		out.group.Metrics = append(out.group.Metrics, &c)
	}
	p.groups[g] = out
	return out
}

func (p *player) play(t *metric.Tick) *metric.Tick {
	now := &metric.Tick{Class: t.Class, At: t.At}
	for _, b := range t.Blocks {
		g := p.group(b.Group)
		for c := range b.Cols {
			if f := g.factor[c]; f != 1 {
				for i := range b.Cols[c].Bits {
					b.Cols[c].Bits[i] *= f
				}
			}
		}
		rows := b.Rows
		if g.single {
			rows = []*metric.Instance{nil}
		}
		now.Blocks = append(now.Blocks, &metric.Block{Group: g.group, At: b.At, Rows: rows, Cols: b.Cols})
		if len(g.sums) > 0 {
			now.Blocks = append(now.Blocks, g.totals(b))
		}
	}
	return now
}

// totals sums the rows up; of the processors one row is the total already.
func (g *played) totals(b *metric.Block) *metric.Block {
	out := &metric.Block{Group: g.total, At: b.At, Rows: []*metric.Instance{nil}}
	for _, c := range g.sums {
		var sum uint64
		for i, in := range b.Rows {
			if b.Group.Name != "cpu" || in.Name == "cpu" {
				sum += b.Cols[c].Bits[i]
			}
		}
		out.Cols = append(out.Cols, metric.Column{Bits: []uint64{sum}})
	}
	return out
}

func (p *player) static(at metric.Stamp) *metric.Tick {
	d := &metric.Desc{Name: "hinv.ncpu", Type: metric.U32, Sem: metric.Discrete, Class: metric.Static, Help: "Processors"}
	g := &metric.Group{Name: "hinv", Metrics: []*metric.Desc{d}}
	return &metric.Tick{Class: metric.Static, At: at, Blocks: []*metric.Block{{Group: g, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{2}}}}}}
}

// needDay skips where the dataset is not at hand.
func needDay(tb testing.TB, make func() (string, error)) string {
	tb.Helper()
	if _, err := storetest.Find(); err != nil {
		tb.Skip("there is no dataset (TACHO_DATASET names one)")
	}
	path, err := make()
	if err != nil {
		tb.Fatal(fmt.Errorf("a recorded day: %w", err))
	}
	return path
}
