package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/manual"
	"tachograph/config"
	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/platform"
)

var update = flag.Bool("update", false, "write the golden files anew")

// machine is a made-up machine with two disks.
type machine struct {
	groups []*metric.Group
	n      uint64
}

func newMachine() *machine {
	return &machine{groups: []*metric.Group{
		{Name: "host", Metrics: []*metric.Desc{
			{Name: "host.name", Type: metric.String, Sem: metric.Discrete, Class: metric.Static, Help: "what the machine is called", Source: "uname"},
			{Name: "host.fans", Type: metric.U32, Sem: metric.Instant, Class: metric.Polled, Help: "how many fans turn", Source: "the fans", Unsupported: "it has no fans"},
			{Name: "host.switches", PMID: metric.NewPMID(60, 0, 13), Type: metric.U64, Sem: metric.Counter, Units: metric.Counts, Class: metric.Fast,
				Help: "context switches", LongHelp: strings.Repeat("A switch is a change from one process to another on a processor. ", 3), Source: "/proc/stat ctxt", Width: 32},
		}},
		{Name: "disk", Indom: "disk", Metrics: []*metric.Desc{
			{Name: "disk.read_bytes", Type: metric.U64, Sem: metric.Counter, Units: metric.Kbytes, Indom: "disk", Class: metric.Fast, Help: "bytes read", Source: "/proc/diskstats"},
			{Name: "disk.time", Type: metric.U64, Sem: metric.Counter, Units: metric.Milliseconds, Indom: "disk", Class: metric.Polled, Help: "busy time", Source: "/proc/diskstats"},
			{Name: "disk.load", Type: metric.F64, Sem: metric.Instant, Indom: "disk", Class: metric.Polled, Help: "queue length", Source: "/proc/diskstats"},
		}},
	}}
}

func (m *machine) Name() string            { return "machine" }
func (m *machine) Groups() []*metric.Group { return m.groups }
func (m *machine) Refresh() error          { return nil }
func (m *machine) Close() error            { return nil }
func (m *machine) Read(c *sample.Context, frames []*sample.Frame) error {
	m.n++
	at := metric.Stamp{Cont: int64(m.n) * 2e9, Awake: 1, Wall: 1}
	for _, f := range frames {
		f.Reset(at)
		if f.Full().Indom == metric.NoIndom {
			row := f.Row(nil)
			f.SetString(row, 0, `a "quoted" name`)
			f.SetUint(row, 2, 1<<63+m.n*1000)
			continue
		}
		for i, name := range []string{"sda", "sdb"} {
			row := f.Row(&metric.Instance{Key: name, Name: name})
			f.SetUint(row, 0, m.n*4000000*uint64(i+1))
			f.SetUint(row, 1, m.n*250)
			if i == 0 {
				f.SetFloat(row, 2, 0.5)
			} else {
				f.SetMissing(row, 2, metric.Permission)
			}
		}
	}
	return nil
}

// runRecorder runs a command line on the made-up machine.
func runRecorder(t *testing.T, args ...string) (out, errs string, status int) {
	t.Helper()
	var o, e bytes.Buffer
	a := &app{
		out: toPeople(&o), err: toPeople(&e), now: platform.Now,
		sources: func(platform.Options) ([]sample.Source, error) { return []sample.Source{newMachine()}, nil },
		catalog: func() []*metric.Desc {
			return []*metric.Desc{
				{Name: "smc.temperature", Type: metric.F32, Sem: metric.Instant, Class: metric.Polled, Help: "temperature", Unsupported: "Linux has no SMC"},
				{Name: "disk.share", Type: metric.F64, Sem: metric.Instant, Indom: "disk", Class: metric.Polled, Help: "share", Formula: "rate(disk.time) / 1000"},
				{Name: "smc.fever", Type: metric.F64, Sem: metric.Instant, Class: metric.Polled, Help: "fever", Formula: "smc.temperature - 37"},
			}
		},
	}
	status = a.run(args)
	return o.String(), e.String(), status
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func TestPrintedForms(t *testing.T) {
	place := t.TempDir()
	file := filepath.Join(place, "tachograph.toml")
	text := "[archive]\ndir = \"" + place + "\"\nrotate = \"off\"\n[[rule]]\nmatch = \"disk.time\"\nclass = \"fast\"\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
	}{
		{"probe.txt", []string{"probe", "--wait", "1ms"}},
		{"probe.json", []string{"probe", "--wait", "1ms", "--json"}},
		{"metrics.txt", []string{"metrics", "disk", "host", "smc"}},
		{"metrics.json", []string{"metrics", "--json", "host.switches", "smc.*"}},
		{"describe.txt", []string{"metrics", "--describe", "host.switches", "disk.share"}},
		{"check.txt", []string{"check", "--config", file}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, errs, status := runRecorder(t, tc.args...)
			if status != cli.Yes || errs != "" {
				t.Errorf("%v: status %d, %s", tc.args, status, errs)
			}
			golden(t, tc.name, strings.NewReplacer(file, "FILE", place, "/").Replace(out))
		})
	}
}

func TestProbeJSONKeepsNumbersExact(t *testing.T) {
	out, _, _ := runRecorder(t, "probe", "--json", "--wait", "1ms", "host.switches")
	var o struct{ Value json.Number }
	if err := json.Unmarshal([]byte(out), &o); err != nil || o.Value != "9223372036854777808" {
		t.Errorf("%s: %v", out, err)
	}
}

func TestPrintDefaultIsTheExampleFile(t *testing.T) {
	out, _, status := runRecorder(t, "check", "--print-default")
	if status != cli.Yes || out != config.DefaultText {
		t.Errorf("status %d, %q", status, out)
	}
}

func TestMistakesAreOneSentenceAndAStatus(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	unknown := write("unknown.toml", "[archive]\n\nplace = \"/x\"\n")
	fast := write("fast.toml", "[[rule]]\nmatch = \"host.name\"\nclass = \"fast\"\n")
	for _, tc := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"nonsense"}, cli.Failed, `recorder: unknown command "nonsense" for "recorder"`},
		{[]string{"probe", "--nonsense"}, cli.Failed, "recorder: unknown flag: --nonsense (see recorder probe --help)"},
		{[]string{"check", "extra"}, cli.Failed, `recorder: recorder check takes no arguments, but got "extra" (see recorder check --help)`},
		{[]string{"probe", "--wait", "1ms", "a["}, cli.Failed, `recorder: "a[" is not a pattern of metric names (write disk.dev.* or disk)`},
		{[]string{"probe", "--wait", "1ms", "smc"}, cli.Failed, "recorder: smc.temperature cannot be read here: Linux has no SMC"},
		{[]string{"probe", "--wait", "1ms", "smc.fever"}, cli.Failed, "recorder: smc.fever cannot be read here: this machine does not have what it is computed from"},
		{[]string{"probe", "--wait", "1ms", "none"}, cli.Failed, "recorder: no metric matches none (recorder metrics lists them all)"},
		{[]string{"metrics", "none"}, cli.Failed, "recorder: no metric matches none (recorder metrics lists them all)"},
		{[]string{"check", "--config", unknown}, cli.No, "recorder: " + unknown + ":3: archive.place is not a key of the configuration"},
		{[]string{"check", "--config", fast}, cli.No, "recorder: " + fast + ":1: rule.0 reads host.name every 1s, but it is static: it cannot change while the machine runs, and is read once an archive"},
		{[]string{"check", "--config", dir + "/absent"}, cli.Failed, "recorder: the configuration cannot be read: open " + dir + "/absent: no such file or directory"},
		{[]string{"status", "--archive", dir}, cli.No, "recorder: no recorder has written to " + dir + ": `sudo recorder install` has one record here, and --archive DIR says where another one does"},
		{[]string{"rotate", "--archive", dir}, cli.Failed, "recorder: no recorder writes to " + dir},
		{[]string{"stat"}, cli.Failed, `recorder: unknown command "stat" for "recorder"; did you mean start, status, stop`},
		{[]string{"statsu"}, cli.Failed, `recorder: unknown command "statsu" for "recorder"; did you mean status`},
		{[]string{"metrics", "disk.tiem"}, cli.Failed, "recorder: no metric matches disk.tiem; did you mean disk.time? (recorder metrics lists them all)"},
		{[]string{"run", "--for", "-5s"}, cli.Failed, "recorder: --for -5s: a recording cannot end before it begins (without --for it ends when it is told to)"},
		{[]string{"probe", "--wait", "-5s"}, cli.Failed, "recorder: --wait -5s: the second reading cannot come before the first"},
		{[]string{"help", "statsu"}, cli.Failed, "recorder: there is no help about statsu; did you mean status?"},
		{[]string{"man"}, cli.Failed, "recorder: man takes one argument, the directory to write to"},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			out, errs, status := runRecorder(t, tc.args...)
			if status != tc.status || errs != tc.want+"\n" || out != "" {
				t.Errorf("status %d, want %d\nsaid %q\nwant %q\nout %q", status, tc.status, errs, tc.want+"\n", out)
			}
		})
	}
}

func TestManualPagesAndCompletions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	if _, errs, status := runRecorder(t, "man", dir); status != cli.Yes {
		t.Fatal(errs)
	}
	for name, want := range map[string]string{
		"recorder.1": ".SS \"probe", "replay.1": ".SS \"diff", "tachograph.toml.5": "keep_for = \"30d\"", "tachograph-expressions.7": "delta(x)",
		"tachograph-archive.5": ".SH ", "tachograph-journal.5": ".SH ",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Contains(text, []byte(want)) {
			t.Errorf("%s: %v", name, err)
		}
		if groff, lost := exec.LookPath("groff"); lost == nil {
			if out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", filepath.Join(dir, name)).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("groff does not like %s: %v %s", name, err, out)
			}
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if out, errs, status := runRecorder(t, "completion", shell); status != cli.Yes || len(out) < 1000 {
			t.Errorf("completion %s: status %d %s", shell, status, errs)
		}
	}
}

func TestVersionBothWays(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if out, errs, status := runRecorder(t, args...); status != cli.Yes || !strings.HasPrefix(out, "recorder ") {
			t.Errorf("%v: status %d %s%s", args, status, out, errs)
		}
	}
}

// Help fits a terminal of 80 columns, of every command.
func TestHelpFits(t *testing.T) {
	t.Setenv("HOME", "/home/ana") // which stands in it
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	for c := range manual.Commands(newApp(io.Discard, io.Discard).root()) {
		out, _, _ := runRecorder(t, strings.Fields(strings.TrimPrefix(c.CommandPath(), "recorder")+" --help")...)
		for line := range strings.Lines(out) {
			if utf8.RuneCountInString(line) > 81 {
				t.Errorf("%s --help: %q", c.CommandPath(), line)
			}
		}
	}
}

// people is a source of one process.
type people struct{ machine }

func newPeople() *people {
	return &people{machine{groups: []*metric.Group{{Name: "proc", Indom: "process", Metrics: []*metric.Desc{
		{Name: "proc.time", Type: metric.U64, Sem: metric.Counter, Indom: "process", Class: metric.Process, Help: "time", Source: "/proc/PID/stat"},
		{Name: "proc.size", Type: metric.U64, Sem: metric.Instant, Indom: "process", Class: metric.Process, Help: "size", Source: "/proc/PID/stat"},
		{Name: "proc.share", Type: metric.F64, Sem: metric.Instant, Indom: "process", Class: metric.Process, Help: "share", Source: "/proc/PID/stat"},
	}}}}}
}

func (*people) Name() string { return "people" }

// probe prints what the machine has, and what each process has when it is asked.
func TestProbeLeavesProcessesOut(t *testing.T) {
	of := func(args ...string) (machine, process bool) {
		var o bytes.Buffer
		a := newApp(&o, io.Discard)
		a.catalog = func() []*metric.Desc { return nil }
		a.sources = func(platform.Options) ([]sample.Source, error) {
			return []sample.Source{newMachine(), newPeople()}, nil
		}
		a.run(append([]string{"probe", "--wait", "1ms"}, args...))
		return strings.Contains(o.String(), "host.switches"), strings.Contains(o.String(), "proc.time")
	}
	for _, c := range []struct {
		args             []string
		machine, process bool
	}{
		{nil, true, false}, {[]string{"--json"}, true, false}, {[]string{"--processes"}, true, true}, {[]string{"proc"}, false, true}, {[]string{"*"}, true, true},
	} {
		if machine, process := of(c.args...); machine != c.machine || process != c.process {
			t.Errorf("%v prints metrics of the machine %v, of processes %v", c.args, machine, process)
		}
	}
}
