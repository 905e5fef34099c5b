package proc

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/sample"
	"tachograph/sample/darwin"
	"tachograph/sample/metric"
	"tachograph/sample/proc/cmdline"
	"tachograph/sample/socket"
)

// TestDump is the half of the oracle tests that runs as a darwin program. It reads the
// sources at given instants of the scenario and prints the result, one JSON object for each
// instant. The other half starts it, and knows what the result must be. The simulated clocks
// follow a number in the file TACHO_PROC_CLOCK, which TestDump writes. Without that file
// they follow this machine's clock.
func TestDump(t *testing.T) {
	instants := os.Getenv("TACHO_PROC_AT")
	if instants == "" {
		t.Skip("only on behalf of the oracle tests")
	}
	opt := Options{ThreadPattern: os.Getenv("TACHO_PROC_THREADS"), Network: socket.Options{Key: []byte("key"), Named: 50}}
	opt.ThreadTopN, _ = strconv.Atoi(os.Getenv("TACHO_PROC_TOP"))
	if mode := os.Getenv("TACHO_PROC_ARGS"); mode != "" {
		var err error
		if opt.Args, err = cmdline.ParseMode(mode); err != nil {
			t.Fatal(err)
		}
	}
	classes := os.Getenv("TACHO_PROC_CLASSES")
	sources, err := Sources(opt)
	if err != nil {
		t.Fatal(err)
	}
	frames := make(map[sample.Source][]*sample.Frame)
	for _, s := range sources {
		for _, g := range s.Groups() {
			f := sample.NewFrame(g, func(d *metric.Desc) bool { return classes == "" || strings.Contains(classes, d.Class.String()) })
			if f != nil {
				frames[s] = append(frames[s], f)
			}
		}
	}
	awaitJobs(sources[0])
	clock := openClock(t, sources[0])
	out := json.NewEncoder(os.Stdout)
	for _, text := range strings.Fields(instants) {
		at, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		clock.until(at)
		if err := out.Encode(dumpRound(t, sources, frames)); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range sources {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// awaitJobs has the jobs of launchd read before the first sweep.
func awaitJobs(s sample.Source) {
	jobs := s.(*processes[macProcess, macReading]).k.(*macKernel).calls.(*darwinCalls).jobs
	jobs.look(darwin.Now())
	for jobs.reading.Load() {
		runtime.Gosched()
	}
}

// clock controls the simulated clocks.
type clock struct {
	t     *testing.T
	file  *os.File
	watch *exitWatch
	told  time.Duration
}

func openClock(t *testing.T, s sample.Source) *clock {
	name := os.Getenv("TACHO_PROC_CLOCK")
	if name == "" {
		return &clock{t: t}
	}
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	watch, _ := s.(*processes[macProcess, macReading]).k.(*macKernel).watch.(*exitWatch)
	return &clock{t: t, file: file, watch: watch}
}

// until lets time pass in steps. After each step the watch has seen what happened in it. A
// little time passes by itself.
func (c *clock) until(at float64) {
	for scenarioTime(darwin.Now()) < at {
		c.told += clockStep
		if _, err := c.file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(c.told)), 0); err != nil {
			c.t.Fatal(err)
		}
		c.watch.catchUp()
	}
}

// scenarioTime returns the time of the scenario at a reading of the awake clock.
func scenarioTime(at metric.Stamp) float64 { return float64(at.Awake)/1e9 - bootedBefore }

func dumpRound(t *testing.T, sources []sample.Source, frames map[sample.Source][]*sample.Frame) dumpedRound {
	r := dumpedRound{Rows: make(map[string]map[string]string), Instances: make(map[string]*metric.Instance)}
	c := &sample.Context{Now: darwin.Now, Emit: func(e metric.Event) {
		r.Events = append(r.Events, dumpedEvent{e, scenarioTime(e.At)})
	}}
	for _, s := range sources {
		before := darwin.Now().Awake
		if err := s.Read(c, frames[s]); err != nil {
			t.Error(err)
		}
		r.Took += float64(darwin.Now().Awake-before) / 1e9
		for _, f := range frames[s] {
			b := f.Block()
			for row, in := range b.Rows {
				key := b.Group.Name
				if in != nil {
					key = in.Key
					if b.Group.Indom == "coalition" {
						key = "coalition " + key // processes have such numbers too
					}
					copied := *in
					r.Instances[key] = &copied
				}
				if r.Rows[key] != nil && in != nil {
					t.Errorf("instance %s has two rows in one reading", key)
				}
				cells := make(map[string]string)
				for col, d := range b.Group.Metrics {
					v := b.Cols[col].At(d.Type, row)
					if cells[d.Name] = v.String(); v.Miss != metric.Present {
						cells[d.Name] = "!" + v.Miss.String()
					}
				}
				r.Rows[key] = cells
			}
		}
	}
	return r
}
