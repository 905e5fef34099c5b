//go:build linux && amd64

package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tachograph/cmd/recorder/service"
	"tachograph/sample/darwin/darwintest"
	"tachograph/testdata/built"
	"tachograph/testdata/patience"
)

const moduleRoot = "../../.."

// archiveDir is where the recorder writes, as the simulated Mac sees it.
const archiveDir = "/Library/Archives"

// programs are what the tests run: the simulated Mac, the recorder for macOS
// and replay for this machine.
type programs struct {
	darwintest.Mac
	recorder, replay string
}

// findMac is FindMac, once for all tests.
var findMac = sync.OnceValues(func() (darwintest.Mac, error) { return darwintest.FindMac(moduleRoot) })

// warm runs the recorder once: its first start is slow, and would be in a scenario
// whose time passes.
var warm sync.Once

// simulated are the programs.
func simulated(t testing.TB) programs {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs whole programs")
	}
	mac, err := findMac()
	darwintest.Need(t, err)
	recorder, err := built.Package(built.Target{OS: "darwin", Arch: mac.Arch}, "tachograph/cmd/recorder")
	if err != nil {
		t.Fatal(err)
	}
	p := programs{mac, recorder, built.Program(t, "replay")}
	warm.Do(func() { err = p.Command([]string{"--root", t.TempDir()}, p.recorder, "version").Run() })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMain(m *testing.M) {
	// The tests wait more than they work.
	flag.Parse()
	flag.Set("test.parallel", "6")
	os.Exit(m.Run())
}

// long reports whether the long forms of tests are wanted.
func long() bool { return os.Getenv("TACHO_LONG") != "" }

// session is a Mac on which the recorder runs, perhaps several times.
type session struct {
	t        testing.TB
	p        programs
	root     string // what the Mac has below /Library
	scenario string
	speed    float64 // how much faster than time the Mac lives; 0: no faster
	env      []string
	flags    []string // more of the simulated Mac
	config   string   // TOML; empty: none
	log      bytes.Buffer
	report   string // of the last run
}

// mac begins a session on the Mac of a scenario in testdata.
func mac(t testing.TB, name string) *session {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(moduleRoot, "testdata", "darwin", name))
	if err != nil {
		t.Fatal(err)
	}
	return &session{t: t, p: simulated(t), root: t.TempDir(), scenario: path}
}

// laptop begins a session on the shipped laptop, changed by statements.
func laptop(t testing.TB, statements string) *session {
	t.Helper()
	return machine(t, "include \"macbook-m.scn\"\n"+statements)
}

// machine begins a session on the Mac that a scenario describes.
func machine(t testing.TB, text string) *session {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.scn")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return &session{t: t, p: simulated(t), root: t.TempDir(), scenario: path}
}

// pace is a speed at which a Mac can live on this machine: what is late because of
// other work weighs more the faster it is.
func pace(speed float64) float64 { return max(slowest(speed), speed/patience.Late()) }

// slowest is the pace below which a test would take many minutes.
func slowest(speed float64) float64 { return max(0.5, speed/20) }

// start prepares a run of the recorder with arguments.
func (s *session) start(args ...string) *exec.Cmd {
	s.t.Helper()
	s.report = filepath.Join(s.root, "report")
	os.Remove(s.report)
	flags := []string{"--scenario", s.scenario, "--root", s.root, "--leaks", "--stats", "--report", s.report, "--speed", strconv.FormatFloat(cmp.Or(s.speed, 1), 'f', 2, 64)}
	flags = append(flags, s.flags...)
	if s.config != "" {
		dir := filepath.Join(s.root, "Library")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "recorder.toml"), []byte(s.config), 0o600); err != nil {
			s.t.Fatal(err)
		}
		args = append(slices.Clone(args), "--config", "/Library/recorder.toml")
	}
	cmd := s.p.Command(flags, s.p.recorder, args...)
	cmd.Env = append(append(os.Environ(), "TZ=UTC"), s.env...)
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	return cmd
}

// record runs the recorder for so long, in simulated time.
func (s *session) record(length string) {
	s.t.Helper()
	if err := s.start("run", "--archive", archiveDir, "--for", length).Run(); err != nil {
		s.t.Fatalf("%v\n%s", err, s.said())
	}
	s.checkLeaks()
}

// recordFrom records at a speed, and more slowly again should this machine be so
// busy that the first values came only after a moment of the scenario, or readings
// very late.
func (s *session) recordFrom(speed float64, length string, moment float64) {
	s.t.Helper()
	for s.speed = pace(speed); ; {
		s.record(length)
		st, err := service.ReadStatus(s.dir())
		if err != nil {
			s.t.Fatal(err)
		}
		late := 0.0
		for _, c := range st.Classes {
			late = max(late, c.MaxLateSeconds)
		}
		rows := s.rows("values", "kernel.all.cpu.user")
		inTime := len(rows) > 1 && rows[1].at(s.t) < moment
		s.t.Logf("%s at %.1f times the speed of time: readings were late by %.3f s at most", length, s.speed, late)
		if inTime && (late < tolerable || s.speed == slowest(speed)) {
			return
		}
		if s.speed == slowest(speed) {
			s.t.Fatal("this machine is too busy to simulate another one")
		}
		if err := os.RemoveAll(s.dir()); err != nil {
			s.t.Fatal(err)
		}
		// What is late by so much in a scenario is late by less the slower that passes.
		slower := min(max(late/tolerable, 2), 8)
		s.speed = max(s.speed/slower, slowest(speed))
	}
}

// tolerable is how late a reading may be, in seconds of the scenario, before it is
// recorded again.
const tolerable = 0.2

func (s *session) said() string {
	b := s.log.Bytes()
	return string(b[max(0, len(b)-4000):])
}

// dir is the archives' directory, as this machine sees it.
func (s *session) dir() string { return filepath.Join(s.root, archiveDir) }

const noLeaks = "leaks: mach: 0 vm regions, 0 port references, 0 suspended threads\nleaks: cf: 0 references, io: 0 references, notify: 0 tokens"

// checkLeaks expects that the last run has given back everything.
func (s *session) checkLeaks() {
	s.t.Helper()
	text, err := os.ReadFile(s.report)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.said())
	}
	if !strings.Contains(string(text), noLeaks) {
		s.t.Errorf("something was not released:\n%s", text)
	}
}

var callLine = regexp.MustCompile(`(?m)^stats: +(\d+) (\S+)$`)

// calls counts the calls of the last run, by name.
func (s *session) calls() map[string]int {
	text, err := os.ReadFile(s.report)
	if err != nil {
		s.t.Fatal(err)
	}
	n := make(map[string]int)
	for _, m := range callLine.FindAllStringSubmatch(string(text), -1) {
		n[m[2]], _ = strconv.Atoi(m[1])
	}
	return n
}

// replay asks archives.
func (s *session) replay(archives []string, args ...string) string {
	s.t.Helper()
	args = append(args, "--utc")
	for _, path := range archives {
		args = append(args, "--archive", path)
	}
	cmd := exec.Command(s.p.replay, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("replay %v: %v: %s", args, err, errs.Bytes())
	}
	return string(out)
}

// row is a line of replay's answers in JSON.
type row map[string]any

func (r row) text(column string) string {
	switch v := r[column].(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// rows asks the archives for lines of JSON.
func (s *session) rows(args ...string) []row { return s.rowsOf([]string{s.dir()}, args...) }

func (s *session) rowsOf(archives []string, args ...string) []row {
	s.t.Helper()
	var rows []row
	lines := json.NewDecoder(strings.NewReader(s.replay(archives, append(args, "--format", "json")...)))
	lines.UseNumber()
	for lines.More() {
		var r row
		if err := lines.Decode(&r); err != nil {
			s.t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}
