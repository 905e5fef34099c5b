package darwin

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tachograph/sample/catalog"
	"tachograph/sample/darwin/darwintest"
	"tachograph/sample/metric"
)

const moduleRoot = "../.."

// machine is the simulated Mac and the test program that runs on it.
type machine struct {
	darwintest.Mac
	program string
}

var built struct {
	sync.Once
	machine
	err error
}

// simulated builds the host and this package's test program for it, once for all tests.
func simulated(t *testing.T) machine {
	t.Helper()
	built.Do(func() {
		if built.Mac, built.err = darwintest.FindMac(moduleRoot); built.err != nil {
			return
		}
		built.program, built.err = built.Program("tachograph/sample/darwin.test")
	})
	darwintest.Need(t, built.err)
	return built.machine
}

func TestMain(m *testing.M) {
	// The tests wait at the same time for simulated seconds to pass, unless an emulated
	// processor has too much work for that.
	if arch := os.Getenv(darwintest.ArchVariable); arch == "" || arch == "amd64" {
		flag.Set("test.parallel", "8")
	}
	os.Exit(m.Run())
}

// cell is a value of a round, or the reason why there is none.
type cell struct{ value, absent string }

// recording is what the program printed.
type recording struct {
	lacking map[string]string // metric: why; present for every metric
	classes map[string]string
	widths  map[string]string
	rounds  []map[darwintest.Series]cell
	events  []string
	failed  []string
	labels  map[darwintest.Series]string // of instances, by domain and name
	clocks  []metric.Stamp               // two per round: its beginning and its end
	report  string                       // leaks and calls
}

type runOptions struct {
	rounds  int
	period  string
	refresh int
	only    string // classes; all if empty
	natural bool   // each class at its own interval
	look    bool   // sources look again after each round
	flags   []string
	flows   bool // connections are listed every five rounds
}

// cover samples a scenario in which it matters when each value was read. Rounds must fall
// into each phase, which is given by its first and last second.
func (m machine) cover(t *testing.T, scn string, o runOptions, phases ...[2]float64) *recording {
	t.Helper()
	r := m.run(t, scn, o)
	for _, phase := range phases {
		rounds := 0
		for round := range r.rounds {
			if r.during(round, phase[0], phase[1]) {
				rounds++
			}
		}
		if rounds == 0 {
			t.Fatalf("no round between %g s and %g s", phase[0], phase[1])
		}
	}
	return r
}

// run samples a scenario.
func (m machine) run(t *testing.T, scn string, o runOptions) *recording {
	t.Helper()
	dir := t.TempDir()
	report, clock := filepath.Join(dir, "report"), filepath.Join(dir, "clock")
	if err := os.WriteFile(clock, make([]byte, 8), 0o644); err != nil {
		t.Fatal(err)
	}
	flags := append([]string{"--scenario", scn, "--leaks", "--stats", "--report", report, "--clock", clock}, o.flags...)
	cmd := m.Command(flags, m.program, "-test.run", "^TestDump$")
	cmd.Env = append(os.Environ(), "TACHO_DUMP_ROUNDS="+strconv.Itoa(o.rounds), "TACHO_DUMP_PERIOD="+o.period,
		"TACHO_DUMP_REFRESH="+strconv.Itoa(o.refresh), "TACHO_DUMP_ONLY="+o.only, "TACHO_DUMP_CLOCK="+clock)
	if o.natural {
		cmd.Env = append(cmd.Env, "TACHO_DUMP_NATURAL=1")
	}
	if o.flows {
		cmd.Env = append(cmd.Env, "TACHO_DUMP_FLOWS=1")
	}
	if o.look {
		cmd.Env = append(cmd.Env, "TACHO_DUMP_LOOK=1")
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", scn, err, errs.Bytes(), tail(out))
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	r := parseDump(out)
	r.report = string(text)
	if strings.Contains(r.report, "leaks: mach: 0 vm regions, 0 port references, 0 suspended threads\nleaks: cf: 0 references, io: 0 references, notify: 0 tokens") {
		return r
	}
	t.Errorf("%s: something was not released:\n%s", scn, r.report)
	return r
}

// laptopUptime is when the shipped laptop's scenario begins, in seconds awake.
const laptopUptime = 183600

// during reports whether a whole round was between two moments of the shipped laptop's time,
// with a little margin.
func (r *recording) during(round int, from, until float64) bool {
	at := func(i int) float64 { return float64(r.clocks[i].Awake)/1e9 - laptopUptime }
	return at(2*round) > from+0.01 && at(2*round+1) < until-0.01
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }

func parseDump(out []byte) *recording {
	r := &recording{labels: make(map[darwintest.Series]string), lacking: make(map[string]string), classes: make(map[string]string), widths: make(map[string]string)}
	for _, line := range strings.Split(string(out), "\n") {
		c := strings.Split(line, "\t")
		switch {
		case c[0] == "M" && len(c) == 6:
			r.lacking[c[1]], r.classes[c[1]], r.widths[c[1]] = c[5], c[3], c[4]
		case (c[0] == "V" || c[0] == "X") && len(c) >= 5:
			round, _ := strconv.Atoi(c[1])
			for len(r.rounds) <= round {
				r.rounds = append(r.rounds, make(map[darwintest.Series]cell))
			}
			x := cell{value: strings.Join(c[4:], "\t")}
			if c[0] == "X" {
				x = cell{absent: c[4]}
			}
			r.rounds[round][darwintest.Series{Metric: c[2], Instance: c[3]}] = x
		case c[0] == "T" && len(c) == 5:
			var at metric.Stamp
			for i, into := range []*int64{&at.Wall, &at.Awake, &at.Cont} {
				*into, _ = strconv.ParseInt(c[2+i], 10, 64)
			}
			r.clocks = append(r.clocks, at)
		case c[0] == "I" && len(c) == 6:
			r.labels[darwintest.Series{Metric: c[2], Instance: c[3]}] = c[5]
		case c[0] == "E":
			r.events = append(r.events, strings.Join(c[1:], " "))
		case c[0] == "F":
			r.failed = append(r.failed, strings.Join(c[1:], " "))
		}
	}
	return r
}

// suppliedByRecorder reports whether a row of the table is about the recorder itself, which
// supplies it on every platform.
func suppliedByRecorder(metric string) bool {
	return strings.HasPrefix(metric, "process.") || strings.HasPrefix(metric, "recorder.") ||
		metric == "platform" || metric == "sample_window_ms"
}

// suppliedByProcesses reports whether a row is read after the list of processes, because it says
// whose something is.
func suppliedByProcesses(metric string) bool {
	return slices.ContainsFunc([]string{"proc.", "system.report.", "network.traffic.", "network.persocket.", "network.listener."}, func(prefix string) bool {
		return strings.HasPrefix(metric, prefix)
	})
}

// judge compares a round with the values that the scenario defines.
func judge(t *testing.T, r *recording, round int, want *darwintest.Expectation) (checked int) {
	t.Helper()
	got := r.rounds[round]
	var wrong []string
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for s, v := range want.Values {
		if left, known := r.lacking[s.Metric]; known && strings.HasPrefix(left, "left out: ") {
			continue
		}
		switch x, ok := got[s]; {
		case !ok:
			complain("%s[%s] was not recorded; the scenario says %s (lacking: %q)", s.Metric, s.Instance, v, r.lacking[s.Metric])
		case x.value != v:
			complain("%s[%s] = %q (%s); the scenario says %q", s.Metric, s.Instance, x.value, x.absent, v)
		default:
			checked++
		}
	}
	for s, x := range got {
		if _, expected := want.Values[s]; !expected && !want.Free[s.Metric] && !suppliedByRecorder(s.Metric) && x.absent == "" {
			complain("%s[%s] = %q; the scenario does not have it", s.Metric, s.Instance, x.value)
		}
	}
	for metric := range want.Lacking {
		if why, known := r.lacking[metric]; why == "" && known {
			complain("%s is lacking in the scenario, but not marked so", metric)
		}
	}
	sort.Strings(wrong)
	for i, w := range wrong {
		if i == 40 {
			t.Errorf("and %d more", len(wrong)-i)
			break
		}
		t.Error(w)
	}
	return checked
}

func expects(want *darwintest.Expectation, metric string) bool {
	for s := range want.Values {
		if s.Metric == metric {
			return true
		}
	}
	return false
}

// TestOracle samples frozen scenarios, and expects exactly the values that the scenario
// defines.
func TestOracle(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	for _, name := range []string{"apple-laptop", "apple-m5", "intel-desktop", "mac-mini", "wraps", "lacking", "ordinary-user"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(moduleRoot, "testdata", "darwin", name+".scn")
			world, err := darwintest.Load(path, m.Shipped)
			if err != nil {
				t.Fatal(err)
			}
			want := world.Expect()
			r := m.run(t, path, runOptions{rounds: 1, period: "1s"})
			n := judge(t, r, 0, want)
			for _, metric := range world.Withheld() {
				if x := r.rounds[0][darwintest.Series{Metric: metric}]; x.absent != tcpWithheldReason {
					t.Errorf("%s = %q (%s), want it withheld", metric, x.value, x.absent)
				}
			}
			supported, lacking := 0, 0
			for _, d := range catalog.For(catalog.Darwin) {
				why, known := r.lacking[d.Name]
				switch {
				case d.Formula != "" || d.Indom == "process" || d.Indom == "thread" || d.Indom == "coalition" || suppliedByRecorder(d.Name) || suppliedByProcesses(d.Name):
				case !known:
					t.Errorf("no source knows %s", d.Name)
				case why == "":
					supported++
					if !want.Free[d.Name] && !expects(want, d.Name) && !slices.Contains(world.Withheld(), d.Name) {
						t.Errorf("the oracle has no opinion of %s", d.Name)
					}
				default:
					lacking++
				}
			}
			t.Logf("%d values as the scenario defines them; of the catalogue %d metrics supported, %d not on this Mac", n, supported, lacking)
		})
	}
}
