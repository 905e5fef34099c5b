package perfetto

import (
	"bytes"
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/export"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

func described(t *testing.T, name string) query.Archive {
	t.Helper()
	parts, err := querytest.Load(filepath.Join("../../../testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return querytest.New(parts...)
}

func traceOf(t *testing.T, r *export.Request) ([]byte, *export.Report) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.pftrace")
	report, err := Format.Write(context.Background(), r, export.Target{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if report.Bytes != int64(len(raw)) {
		t.Errorf("the report says %d bytes of %d", report.Bytes, len(raw))
	}
	return raw, report
}

var recordings = []string{"mac.txt", "asleep.txt", "fleet.txt", "long.txt"}

// What counters are at each instant is what replay rates answers for the interval
// that it is in.
func TestCounters(t *testing.T) {
	for _, name := range recordings {
		for _, step := range []time.Duration{0, time.Minute} {
			t.Run(name+" "+step.String(), func(t *testing.T) {
				a := described(t, name)
				r := &export.Request{Archive: a, Step: &step}
				raw, _ := traceOf(t, r)
				tr := readBack(t, raw)
				compared := 0
				hosts := map[string]string{}
				for _, h := range a.Hosts() {
					hosts[h.ID] = h.Name
				}
				for _, d := range r.Wanted() {
					if d.Type == metric.String || d.Indom == "process" || d.Indom == "thread" {
						continue
					}
					compared += sameAsRates(t, a, tr, d, step)
				}
				if compared == 0 {
					t.Error("nothing was compared")
				}
			})
		}
	}
}

func sameAsRates(t *testing.T, a query.Archive, tr *readTrace, d *metric.Desc, step time.Duration) (compared int) {
	t.Helper()
	q := query.Request{Metrics: []string{d.Name}, Mode: query.Shown, Step: int64(step)}
	breaks := map[string][]query.Break{}
	for s, err := range query.Read(a, q) {
		if err != nil {
			t.Fatal(err)
		}
		path := append([]string{s.Archive.Host.Name}, families(d.Name)...)
		if s.Instance != nil {
			path = append(append(path, d.Name), s.Instance.Name)
		} else {
			path = append(path, d.Name[strings.LastIndexByte(d.Name, '.')+1:])
		}
		if _, ok := breaks[s.Archive.Host.ID]; !ok {
			breaks[s.Archive.Host.ID] = query.Breaks(a, query.Window{Hosts: []string{s.Archive.Host.ID}})
		}
		k := tr.find(path...)
		for i, wall := range s.Wall {
			v := s.Value(i)
			if v.Miss != metric.Present {
				continue
			}
			if k == nil {
				t.Errorf("%q has no track", path)
				return compared
			}
			at := wall // a level begins there
			switch {
			case step > 0:
				begin, end := q.StepAt(wall)
				at = (begin + end) / 2
			case s.Rate && i == 0:
				continue
			case s.Rate:
				at = wall - 1
			}
			if at < tr.wall || asleep(breaks[s.Archive.Host.ID], at) {
				continue
			}
			if got := k.at(at - tr.wall); got != v.Number() {
				if d.Class == metric.Static || math.IsNaN(got) && i == len(s.Wall)-1 {
					continue // it ends there
				}
				t.Errorf("%q at %s is %v, and replay rates says %v", path, time.Unix(0, at).UTC(), got, v.Number())
				return compared
			}
			compared++
		}
	}
	return compared
}

func asleep(breaks []query.Break, at int64) bool {
	for _, b := range breaks {
		if b.From <= at && at <= b.To {
			return true
		}
	}
	return false
}

func families(name string) (list []string) {
	for i, r := range name {
		if r == '.' {
			list = append(list, name[:i])
		}
	}
	return list
}

// Between what was recorded there is nothing: no counter has a value while the
// machine slept, and a slice says that it did.
func TestSleep(t *testing.T) {
	a := described(t, "asleep.txt")
	step := time.Duration(0)
	raw, _ := traceOf(t, &export.Request{Archive: a, Step: &step})
	tr := readBack(t, raw)
	var slept query.Break
	for _, b := range query.Breaks(a, query.Window{}) {
		if b.Length() > slept.Length() {
			slept = b
		}
	}
	if slept.Length() < time.Minute {
		t.Fatal("the recording has no sleep")
	}
	found := false
	for _, k := range tr.tracks {
		if k.name == "recording" {
			for _, s := range k.slices {
				found = found || s.name == string(slept.Kind) && s.from == slept.From-tr.wall && s.to == slept.To-tr.wall
			}
		}
		if v := k.at((slept.From+slept.To)/2 - tr.wall); len(k.points) > 0 && !math.IsNaN(v) {
			t.Errorf("%s is %v while the machine slept", k.name, v)
		}
	}
	if !found {
		t.Errorf("no slice says that it slept from %d to %d", slept.From-tr.wall, slept.To-tr.wall)
	}
}

// Processes have slices as long as they lived, and tracks of their own even where
// another had the pid.
func TestProcesses(t *testing.T) {
	for _, file := range []string{"mac.txt", "renamed.txt", "commands.txt"} {
		a := described(t, file)
		step := time.Duration(0)
		raw, report := traceOf(t, &export.Request{Archive: a, Step: &step})
		tr := readBack(t, raw)
		lives := 0
		for l := range a.Lives("process", 0, 0) {
			lives++
			name := query.ProcessName(l.Instance)
			ok := false
			for _, k := range tr.tracks {
				for _, s := range k.slices {
					ok = ok || strings.HasPrefix(s.name, name) && k.name == name && k.pid == int64(query.ProcessID(l.Instance)) && s.from+tr.wall <= l.From && s.to+tr.wall >= l.To-int64(time.Minute)
				}
			}
			if !ok {
				t.Errorf("%s: %s lived from %d to %d, which no slice says", file, name, l.From, l.To)
			}
		}
		if int64(lives) > report.Rows || lives == 0 {
			t.Errorf("%s: %d processes, and %d slices and instants", file, lives, report.Rows)
		}
	}
}

// A process's counters are what was recorded of it: its memory from when it was read, and
// its processor time over the interval in which it was used.
func TestProcessCounters(t *testing.T) {
	for _, file := range []string{"mac.txt", "renamed.txt", "commands.txt"} {
		a := described(t, file)
		step := time.Duration(0)
		raw, _ := traceOf(t, &export.Request{Archive: a, Step: &step})
		tr := readBack(t, raw)
		breaks := query.Breaks(a, query.Window{})
		track := func(in *metric.Instance, label string) *readTrack {
			for _, k := range tr.tracks {
				if p := tr.tracks[k.parent]; p != nil && k.name == label && p.pid == int64(query.ProcessID(in)) && p.name == query.ProcessName(in) {
					return k
				}
			}
			return nil
		}
		memory, processor := 0, 0
		for run := range a.Select(store.Selection{Metrics: []string{"proc.memory.rss"}}) {
			k := track(run.Instance, "memory")
			for i, wall := range run.Wall {
				if v := run.At(i); v.Miss != metric.Present || asleep(breaks, wall) || k == nil {
					continue
				} else if got := k.at(wall - tr.wall); got != v.Number() {
					t.Errorf("%s: the memory of %s at %d is %v, and %v was recorded", file, run.Instance.Name, wall, got, v.Number())
				}
				memory++
			}
		}
		// Of what both counters tell of an interval.
		used := map[[2]string]map[int64]float64{}
		for _, name := range []string{"proc.psinfo.utime", "proc.psinfo.stime"} {
			d := a.Lookup(name)
			if d == nil {
				continue
			}
			factor, err := d.Units.Factor(metric.Seconds)
			if err != nil {
				t.Fatal(err)
			}
			for run := range a.Select(store.Selection{Metrics: []string{name}}) {
				at := [2]string{run.Archive.BootID + run.Instance.Key, name}
				if used[at] == nil {
					used[at] = map[int64]float64{}
				}
				for i, wall := range run.Wall {
					if v := run.At(i); v.Miss == metric.Present {
						used[at][wall] = v.Number() * factor
					}
				}
			}
		}
		for run := range a.Select(store.Selection{Metrics: []string{"proc.psinfo.utime"}}) {
			k := track(run.Instance, "cpu")
			user, system := used[[2]string{run.Archive.BootID + run.Instance.Key, "proc.psinfo.utime"}], used[[2]string{run.Archive.BootID + run.Instance.Key, "proc.psinfo.stime"}]
			for i := 1; i < len(run.Wall); i++ {
				from, to := run.Wall[i-1], run.Wall[i]
				u0, a0 := user[from]
				u1, a1 := user[to]
				s0, a2 := system[from]
				s1, a3 := system[to]
				if !(a0 && a1 && a2 && a3) || k == nil || asleep(breaks, from) || asleep(breaks, to-1) {
					continue
				}
				want := (u1 - u0 + s1 - s0) / (float64(run.Cont[i]-run.Cont[i-1]) / 1e9)
				if got := k.at(to - 1 - tr.wall); math.Abs(got-want) > 1e-9*math.Max(1, want) {
					t.Errorf("%s: %s used %v of a processor until %d, and the trace says %v", file, run.Instance.Name, want, to, got)
				}
				processor++
			}
		}
		if file == "mac.txt" && (memory < 1000 || processor < 1000) || file == "commands.txt" && processor < 10 {
			t.Errorf("%s: %d readings of memory and %d intervals were compared", file, memory, processor)
		}
	}
}

// protoc reads a trace by the schema, and knows each field of it.
func TestProtoc(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("protoc is not installed")
	}
	step := time.Duration(0)
	raw, report := traceOf(t, &export.Request{Archive: described(t, "mac.txt"), Step: &step})
	cmd := exec.Command(protoc, "--proto_path=testdata", "--decode=perfetto.protos.Trace", "trace.proto")
	cmd.Stdin = bytes.NewReader(raw)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if unknown := regexp.MustCompile(`(?m)^\s*\d+[:{ ].*$`).FindString(string(out)); unknown != "" {
		t.Errorf("a field that the schema lacks: %s", unknown)
	}
	if n := int64(strings.Count(string(out), "type: TYPE_COUNTER")); n < report.Values {
		t.Errorf("%d counters of %d", n, report.Values)
	}
	for _, want := range []string{"TYPE_SLICE_BEGIN", "TYPE_INSTANT", "primary_trace_clock: 6", "process_name:", `unit_name: "Kbyte"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("protoc finds no %s", want)
		}
	}
}

func TestStepFor(t *testing.T) {
	for length, want := range map[time.Duration]time.Duration{
		10 * time.Minute: 0, 2000 * time.Second: 0, time.Hour: 2 * time.Second, 24 * time.Hour: time.Minute, 30 * 24 * time.Hour: 30 * time.Minute, 40 * 365 * 24 * time.Hour: 8 * 24 * time.Hour,
	} {
		if got := stepFor(0, int64(length)); got != want {
			t.Errorf("%s has steps of %s, not %s", length, got, want)
		}
	}
}

// Names are strangers': what is written is UTF-8 that does nothing, and short.
func TestShown(t *testing.T) {
	for _, s := range []string{"\x1b]0;x\a", "a\xffb", strings.Repeat("é", 1000), "\u202e"} {
		if got := shown(s); len(got) > longestName+3 || strings.ContainsAny(got, "\x1b\a\u202e") || !bytes.Equal([]byte(got), bytes.ToValidUTF8([]byte(got), nil)) {
			t.Errorf("%q is shown as %q", s, got)
		}
	}
}

// A trace that nobody waits for ends.
func TestEnds(t *testing.T) {
	ctx, end := context.WithCancel(context.Background())
	end()
	path := filepath.Join(t.TempDir(), "t.pftrace")
	if _, err := Format.Write(ctx, &export.Request{Archive: described(t, "mac.txt")}, export.Target{Path: path}); err == nil {
		t.Error("it was written")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("there is a file")
	}
}
