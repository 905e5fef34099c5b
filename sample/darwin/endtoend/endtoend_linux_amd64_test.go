package endtoend

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tachograph/sample/darwin/scenario"
)

const moduleRoot = "../../.."

// tools are the simulated Mac, the recorder that runs on it, and replay.
type tools struct{ host, shipped, recorder, replay string }

func build(t *testing.T) tools {
	t.Helper()
	dir := t.TempDir()
	var x tools
	var err error
	if x.host, x.shipped, err = scenario.Host(moduleRoot); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the simulated Mac is not here")
	} else if err != nil {
		t.Fatal(err)
	}
	x.recorder, x.replay = filepath.Join(dir, "recorder"), filepath.Join(dir, "replay")
	for out, env := range map[string][]string{x.recorder: {"GOOS=darwin", "GOARCH=amd64", "CGO_ENABLED=0"}, x.replay: nil} {
		cmd := exec.Command("go", "build", "-o", out, moduleRoot+"/cmd/"+filepath.Base(out))
		cmd.Env = append(os.Environ(), env...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	return x
}

// record runs the recorder on a scenario and returns its archive.
func (x tools) record(t *testing.T, scn, speed, length string) string {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "archive")
	report := filepath.Join(t.TempDir(), "report")
	cmd := exec.Command(x.host, "--scenario", scn, "--speed", speed, "--leaks", "--report", report,
		x.recorder, "run", "--archive", archive, "--for", length)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", scn, err, text)
	}
	leaks, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	const nothing = "leaks: mach: 0 vm regions, 0 port references, 0 suspended threads\nleaks: cf: 0 references, io: 0 references, notify: 0 tokens"
	if !strings.Contains(string(leaks), nothing) {
		t.Errorf("%s: something was not released:\n%s", scn, leaks)
	}
	return archive
}

// line is what replay prints of a value or of a metric.
type line struct {
	Metric      string
	Instance    string
	Value       any
	Reason      string
	Unsupported string
}

func (x tools) ask(t *testing.T, archive string, args ...string) []line {
	t.Helper()
	cmd := exec.Command(x.replay, append(args, "--archive", archive, "--format", "json")...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("replay %v: %v\n%s", args, err, errs.Bytes())
	}
	var list []line
	text := bufio.NewScanner(bytes.NewReader(out))
	text.Buffer(nil, 1<<20)
	for text.Scan() {
		var l line
		d := json.NewDecoder(bytes.NewReader(text.Bytes()))
		d.UseNumber()
		if err := d.Decode(&l); err != nil {
			t.Fatalf("replay %v: %q: %v", args, text.Text(), err)
		}
		list = append(list, l)
	}
	return list
}

// text is a value as it was printed.
func (l *line) text() string {
	switch v := l.Value.(type) {
	case json.Number:
		return v.String()
	case string:
		return v
	}
	return ""
}

// same reports whether a printed value is the expected one: equal digit by
// digit, but for the ways to write a fraction.
func same(got, want string) bool {
	if got == want {
		return true
	}
	if !strings.ContainsAny(got+want, ".e") {
		return false
	}
	g, err := strconv.ParseFloat(got, 64)
	w, err2 := strconv.ParseFloat(want, 64)
	return err == nil && err2 == nil && (g == w || float32(g) == float32(w) && strconv.FormatFloat(w, 'g', -1, 32) == want)
}

func TestEveryValueAsTheScenarioDefinesIt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs whole programs")
	}
	x := build(t)
	for _, name := range []string{"apple-laptop", "intel-desktop", "ordinary-user"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(moduleRoot, "testdata", "darwin", name+".scn")
			world, err := scenario.Load(path, x.shipped)
			if err != nil {
				t.Fatal(err)
			}
			want := world.Expect()
			archive := x.record(t, path, "10", "24s")
			leftOut := make(map[string]string)
			for _, m := range x.ask(t, archive, "metrics", "*") {
				leftOut[m.Metric] = m.Unsupported
			}
			present, wrong := make(map[scenario.Series]int), 0
			reasons := make(map[string]string)
			for _, l := range x.ask(t, archive, "values", "*") {
				s := scenario.Series{Metric: l.Metric, Instance: l.Instance}
				expected, known := want.Values[s]
				switch {
				case l.Value == nil:
					reasons[l.Metric] = l.Reason
				case known && !same(l.text(), expected):
					if wrong++; wrong < 30 {
						t.Errorf("%s[%s] was replayed as %s; the scenario says %s", l.Metric, l.Instance, l.text(), expected)
					}
				default:
					present[s]++
				}
			}
			checked, values := 0, 0
			for s, v := range want.Values {
				if why := leftOut[s.Metric]; why != "" {
					if !strings.HasPrefix(why, "left out: ") {
						t.Errorf("%s is not supported: %s", s.Metric, why)
					}
					continue
				}
				if present[s] == 0 {
					t.Errorf("%s[%s] is not in the archive (%s); the scenario says %s", s.Metric, s.Instance, reasons[s.Metric], v)
					continue
				}
				checked, values = checked+1, values+present[s]
			}
			for _, metric := range world.Withheld() {
				if !strings.HasPrefix(reasons[metric], "withheld by the kernel") {
					t.Errorf("%s: absent because of %q", metric, reasons[metric])
				}
			}
			t.Logf("%d series, %d values", checked, values)
			for metric, v := range world.Computed() {
				list := x.ask(t, archive, "values", metric)
				if len(list) == 0 {
					t.Errorf("%s cannot be computed", metric)
				}
				for _, l := range list {
					got, err := strconv.ParseFloat(l.text(), 64)
					if err != nil || math.Abs(got-v) > 1e-9*math.Abs(v) {
						t.Errorf("%s is computed as %q (%s); the scenario makes it %v", metric, l.text(), l.Reason, v)
					}
				}
			}
		})
	}
	t.Run("rates", func(t *testing.T) {
		t.Parallel()
		// Not frozen: the counters grow by their rates.
		archive := x.record(t, filepath.Join(x.shipped, "macbook-m.scn"), "5", "24s")
		for expression, rate := range map[string]float64{
			"rate(disk.dev.read)":                          110,
			"rate(network.interface.in.bytes[en0])":        350000,
			"rate(kernel.all.cpu.user)":                    (4*9 + 14 + 8 + 4 + 3) * 10 / 1000.0,
			"disk.dev.await":                               (30e6 + 12e6) / (110 + 60.0),
			"rate(mem.pages.faults)":                       11800,
			"rate(disk.apfs.container.bytes_read)":         1802240,
			"network.interface.in.bytes[en0] / 9812334411": 1,
		} {
			values := 0
			for _, l := range x.ask(t, archive, "values", expression, "--step", "20s") {
				if l.Value == nil {
					continue
				}
				values++
				got, err := strconv.ParseFloat(l.text(), 64)
				if err != nil || math.Abs(got-rate) > 0.03*rate {
					t.Errorf("%s = %q, want %v", expression, l.text(), rate)
				}
			}
			if values == 0 {
				t.Errorf("%s has no value", expression)
			}
		}
	})
}
