package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/recorder/service"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/testdata/patience"

	"tachograph/testdata/built"
)

// TestMain lets the test binary stand in for the recorder, so that signals and
// exit statuses are real.
func TestMain(m *testing.M) {
	if os.Getenv("TACHOGRAPH_TEST_RECORDER") != "" {
		mb, _ := strconv.Atoi(os.Getenv(mappedEnv))
		mapStacks(mb)
		main()
	}
	// The tests wait more than they work.
	flag.Parse()
	flag.Set("test.parallel", "6")
	os.Exit(m.Run())
}

// process is a recorder that runs.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	dir  string
	done chan struct{}
	mu   sync.Mutex
	log  bytes.Buffer
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = recorderEnv()
	return cmd
}

// recorderEnv is the environment in which the test binary is the recorder.
func recorderEnv() []string { return append(os.Environ(), "TACHOGRAPH_TEST_RECORDER=1") }

// often are intervals for who only needs some readings.
const often = "[classes]\nfast = \"100ms\"\n"

// configFile is a file with a configuration.
func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tachograph.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// start starts a recorder on dir, with a configuration, and waits for its first ticks.
func start(t *testing.T, dir, config string, env ...string) *process {
	t.Helper()
	p := launch(t, command("run", "--archive", dir, "--config", config), env...)
	p.dir = dir
	p.await("the first values are there", func() bool { return p.valuesOf("kernel.all.cpu.user") > 0 })
	return p
}

// launch starts what ends with the test.
func launch(t *testing.T, cmd *exec.Cmd, env ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, done: make(chan struct{})}
	cmd.Stderr = p
	cmd.Env = append(cmd.Env, env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { cmd.Wait(); close(p.done) }()
	t.Cleanup(func() { cmd.Process.Kill(); <-p.done })
	return p
}

// await waits until ok, or fails when the process ends.
func (p *process) await(what string, ok func() bool) {
	p.t.Helper()
	defer func() {
		if p.t.Failed() {
			p.t.Logf("it said: %s", p.said())
		}
	}()
	// Reading archives again and again takes the recorder's processor.
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	patience.Until(p.t, what, func() bool {
		if ok() {
			return true
		}
		select {
		case <-p.done:
			p.t.Fatalf("waited until %s, but it ended", what)
		case <-look.C:
		}
		return false
	})
}

// valuesOf counts the values of a metric in all archives, read while they are
// being written.
func (p *process) valuesOf(name string) int { return len(walls(p.dir, name)) }

func walls(dir, name string) []int64 {
	r, err := store.Open(dir)
	if err != nil {
		return nil
	}
	defer r.Close()
	var out []int64
	for run := range r.Select(store.Selection{Metrics: []string{name}}) {
		out = append(out, run.Wall...)
	}
	return out
}

func events(dir string, kinds ...metric.EventKind) (out []metric.Event) {
	r, err := store.Open(dir)
	if err != nil {
		return nil
	}
	defer r.Close()
	for e := range r.Events(0, 0, kinds...) {
		out = append(out, e.Event)
	}
	return out
}

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// end sends a signal that ends it.
func (p *process) end(sig syscall.Signal) {
	p.t.Helper()
	p.signal(sig)
	patience.Until(p.t, "it has ended", func() bool {
		select {
		case <-p.done:
			return true
		default:
			return false
		}
	})
}

func TestSignalsEndItWithEverythingStored(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir := t.TempDir()
		p := start(t, dir, configFile(t, often))
		// The second that it may take is proved on a fake clock; here the
		// machine may be busy.
		p.end(sig)
		if code := p.cmd.ProcessState.ExitCode(); code != cli.Yes {
			t.Errorf("%v: status %d: %s", sig, code, p.said())
		}
		if strings.Contains(p.said(), "goroutine ") || !strings.Contains(p.said(), "stopped, everything is stored") {
			t.Errorf("%v: it said %s", sig, p.said())
		}
		if n := len(events(dir, metric.EventStart, metric.EventStop)); n != 2 {
			t.Errorf("%v: %d start and stop events", sig, n)
		}
		st, err := service.ReadStatus(dir)
		if err != nil || !st.Stopped {
			t.Errorf("%v: status %+v, %v", sig, st, err)
		}
	}
}

func TestKillLosesNothingAndIsTold(t *testing.T) {
	t.Parallel()
	dir, config := t.TempDir(), configFile(t, often)
	p := start(t, dir, config)
	p.await("there are three ticks", func() bool { return p.valuesOf("kernel.all.cpu.user") >= 3 })
	p.end(syscall.SIGKILL)
	before := walls(dir, "kernel.all.cpu.user")
	q := start(t, dir, config)
	q.await("there are more", func() bool { return q.valuesOf("kernel.all.cpu.user") > len(before) })
	q.end(syscall.SIGTERM)
	after := walls(dir, "kernel.all.cpu.user")
	for i, w := range before {
		if after[i] != w {
			t.Fatalf("tick %d was lost", i)
		}
	}
	if gaps := events(dir, metric.EventGap); len(gaps) != 1 {
		t.Errorf("gaps: %+v", gaps)
	}
}

// An archive whose beginning is damaged while it is written is set aside; the
// recorder loses nothing of what it has not stored yet, and can be stopped.
func TestDamageDoesNotKeepItFromStopping(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, configFile(t, often))
	p.await("there are three ticks", func() bool { return p.valuesOf("kernel.all.cpu.user") >= 3 })
	before := walls(dir, "kernel.all.cpu.user")
	live, err := filepath.Glob(filepath.Join(dir, "*.live"))
	if err != nil || len(live) != 1 {
		t.Fatalf("archives being written: %v, %v", live, err)
	}
	f, err := os.OpenFile(live[0], os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte("damage! "), 1024), 0); err != nil {
		t.Fatal(err)
	}
	p.end(syscall.SIGTERM)
	if code := p.cmd.ProcessState.ExitCode(); code != cli.Yes {
		t.Errorf("status %d: %s", code, p.said())
	}
	if _, err := os.Stat(live[0] + ".damaged"); err != nil || !strings.Contains(p.said(), "damaged while it was being written") {
		t.Errorf("%v: it said %s", err, p.said())
	}
	after := walls(dir, "kernel.all.cpu.user")
	if len(after) < len(before) || !slices.Equal(after[:len(before)], before) {
		t.Errorf("of the ticks at %v are left those at %v", before, after)
	}
	st, err := service.ReadStatus(dir)
	if err != nil || len(st.Archive.SetAside) != 1 {
		t.Errorf("status %+v, %v", st.Archive, err)
	}
}

// Whatever does not answer, stopping ends.
func TestStoppingIsBounded(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	never := make(chan error)
	err := endWithin(ctx, func() time.Duration { return time.Millisecond }, func() error { return <-never })
	if err == nil || !strings.Contains(err.Error(), "the next start takes over") {
		t.Errorf("stopping: %v", err)
	}
}

func TestHangupReloadsAndUser1Rotates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "tachograph.toml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("[classes]\nfast = \"300ms\"\n")
	p := start(t, dir, file)
	write("[classes]\nfast = \"200ms\"\nfsat = \"1s\"\n")
	p.signal(syscall.SIGHUP)
	p.await("it complains", func() bool {
		return strings.Contains(p.said(), file+":3: classes.fsat is not a key of the configuration; did you mean classes.fast?")
	})
	said, status := try(t, "reload", "--archive", dir)
	if status == cli.Yes || !strings.HasPrefix(said, "recorder: the old configuration stays in force: "+file+":3: classes.fsat is not a key") {
		t.Errorf("reload of a bad configuration: status %d: %s", status, said)
	}
	var refused bytes.Buffer
	asked := command("status", "--archive", dir)
	asked.Stdout = &refused
	if err := asked.Run(); asked.ProcessState.ExitCode() != cli.No || !strings.Contains(refused.String(), "REFUSED: the old configuration stays in force: "+file+":3:") {
		t.Errorf("status after a refusal: %v: %s", err, refused.String())
	}
	write("[classes]\nfast = \"100ms\"\n")
	if said, status := try(t, "reload", "--archive", dir); status != cli.Yes || said != "" {
		t.Errorf("reload: status %d: %s", status, said)
	}
	p.await("it has changed", func() bool { return len(events(dir, metric.EventConfig)) == 1 })
	n := p.valuesOf("kernel.all.cpu.user")
	p.await("it ticks faster", func() bool { return p.valuesOf("kernel.all.cpu.user") > n+3 })

	var out bytes.Buffer
	cmd := command("rotate", "--archive", dir)
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("rotate: %v", err)
	}
	finished := strings.TrimSpace(out.String())
	if info, err := os.Stat(finished); err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(finished, ".tacho") {
		t.Errorf("the finished archive %q: %v", finished, err)
	}
	static := "hinv.ncpu"
	p.await("static metrics are in the new archive", func() bool { return p.valuesOf(static) >= 2 })

	out.Reset()
	cmd = command("status", "--archive", dir, "--json")
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		t.Errorf("status of a healthy recorder: %v: %s", err, out.String())
	}
	var r service.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || !r.Healthy || !r.Running || r.Status.PID != p.cmd.Process.Pid || r.Status.LastRotation.Path != finished {
		t.Errorf("status: %v %s", err, out.String())
	}
	p.signal(statusSignal)
	p.await("the status line is there", func() bool { return regexp.MustCompile(` overruns?, cpu `).MatchString(p.said()) })
	p.end(syscall.SIGTERM)

	// Reload and rotation lost no tick. A busy machine may delay one for some
	// seconds, and an event tells of those that the recorder missed.
	const stumble = 5 * time.Second
	at, missed := walls(dir, "kernel.all.cpu.user"), events(dir, metric.EventOverrun)
	told := func(from, to int64) bool {
		return slices.ContainsFunc(missed, func(e metric.Event) bool {
			s, _ := strconv.ParseFloat(e.Label("seconds"), 64)
			return e.Label("fast") != "" && e.At.Wall >= from && e.At.Wall-int64(s*1e9) <= to
		})
	}
	for i := 1; i < len(at); i++ {
		if gap := time.Duration(at[i] - at[i-1]); gap > stumble && !told(at[i-1], at[i]) {
			t.Errorf("ticks %d and %d are %v apart", i-1, i, gap)
		}
	}
	cmd = command("status", "--archive", dir)
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != cli.No {
		t.Errorf("status of a stopped recorder: %v", err)
	}
}

func TestSecondRecorderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir, configFile(t, often))
	said, status := try(t, "run", "--archive", dir, "--for", "5s")
	if status != cli.Failed || !strings.Contains(said, "another recorder writes to it (process ") || strings.Count(said, "\n") != 1 {
		t.Errorf("status %d: %s", status, said)
	}
	p.end(syscall.SIGTERM)
}

// try runs a command line that is bound to end and returns what it said.
func try(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.CommandContext(patience.Context(t, time.Minute), os.Args[0], args...)
	cmd.Env = recorderEnv()
	cmd.Stderr = &errs
	cmd.Run()
	if strings.Contains(errs.String(), "goroutine ") {
		t.Errorf("%v: a stack trace: %s", args, errs.String())
	}
	return errs.String(), cmd.ProcessState.ExitCode()
}

func TestBadPlacesAreOneSentence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	os.WriteFile(file, []byte("x"), 0o600)
	open := filepath.Join(dir, "open")
	os.Mkdir(open, 0o700)
	os.Chmod(open, 0o777)
	link := filepath.Join(dir, "link")
	target := filepath.Join(dir, "target")
	os.Mkdir(target, 0o700)
	os.Symlink(target, link)
	for _, tc := range []struct{ dir, want string }{
		{file, "is not a directory"},
		{filepath.Join(file, "x"), "not a directory"},
		{open, "everybody may write"},
		{link, "symbolic link"},
	} {
		t.Run(tc.want, func(t *testing.T) {
			said, status := try(t, "run", "--archive", tc.dir, "--for", "1s")
			if status != cli.Failed || !strings.Contains(said, tc.want) || strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "recorder: ") {
				t.Errorf("%s: status %d: %s", tc.dir, status, said)
			}
		})
	}
	if said, status := try(t, "run", "--log-format", "xml"); status != cli.Failed || said != "recorder: --log-format is text or json\n" {
		t.Errorf("status %d: %s", status, said)
	}
}

func TestJSONLogAndLength(t *testing.T) {
	t.Parallel()
	dir, began := t.TempDir(), time.Now()
	said, status := try(t, "run", "--archive", dir, "--config", configFile(t, often), "--for", "1500ms", "--log-format", "json")
	took := time.Since(began)
	if status != cli.Yes {
		t.Fatalf("status %d: %s", status, said)
	}
	for line := range strings.Lines(said) {
		var o struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &o); err != nil || o.Msg == "" {
			t.Errorf("line %q: %v", line, err)
		}
	}
	if took < 1500*time.Millisecond {
		t.Errorf("it recorded for %v at most, not for 1.5 s", took)
	}
	// A busy machine lets it miss ticks, which it counts itself: those up to the last one
	// that it made are all there, and it made none beyond its time.
	ticks, missed := walls(dir, "kernel.all.cpu.user"), 0
	for _, e := range events(dir, metric.EventOverrun) {
		m, _ := strconv.Atoi(e.Label("fast"))
		missed += m
	}
	stopped := events(dir, metric.EventStart, metric.EventStop)
	if len(stopped) != 2 || len(ticks) == 0 {
		t.Fatalf("its beginning and its end: %+v, with %d ticks", stopped, len(ticks))
	}
	const every = int64(100 * time.Millisecond)
	made, length := int(math.Round(float64(ticks[len(ticks)-1]-ticks[0])/float64(every)))+1, stopped[1].At.Cont-stopped[0].At.Cont
	if n := len(ticks) + missed; n < made-1 || n > int(length/every)+2 {
		t.Errorf("%d ticks and %d missed, of %d up to the last one in %v", len(ticks), missed, made, time.Duration(length))
	}
}

// Whoever may not write or read the usual directory learns what to do.
func TestNoPermissionSaysWhatToDo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root") // who can become somebody else
	}
	t.Parallel()
	// Where everybody may run it.
	dir, err := os.MkdirTemp("", "recorder")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "recorder")
	built.Copy(t, os.Args[0], program)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for sub, want := range map[string]string{
		"run":    "choose another directory (--archive DIR), or use sudo to record as root in ",
		"status": "run the same with sudo, or as a member of the group",
		"reload": "run the same with sudo, or as a member of the group",
	} {
		cmd := exec.Command(program, sub, "--archive", t.TempDir())
		cmd.Dir = "/"
		cmd.Env = append(os.Environ(), "TACHOGRAPH_TEST_RECORDER=1", "HOME=/nonexistent")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		said, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() == cli.Yes || !strings.HasPrefix(string(said), "recorder: no permission to ") || !strings.Contains(string(said), want) {
			t.Errorf("%s: %v: %s", sub, cmd.ProcessState, said)
		}
	}
}
