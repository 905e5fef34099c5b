package redact

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/sample/darwin/darwintest"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/rewrite"
	"tachograph/testdata/built"
	"tachograph/testdata/patience"
)

const moduleRoot = "../../../.."

// secret is in every name that must not be found again.
const secret = "zaphod"

// questions are those whose answers tell everything that an archive holds.
var questions = [][]string{
	{"info"}, {"events", "--kind", "*"}, {"ps"}, {"ps", "--tree"}, {"metrics", "--all"}, {"values", "*"}, {"top", "-n", "0"}, {"at", "end"}, {"summary"}, {"threads"},
}

// answers are what replay says about an archive, and the archive itself.
func answers(t *testing.T, replay, archive string) string {
	t.Helper()
	var b bytes.Buffer
	for _, q := range questions {
		cmd := exec.Command(replay, append(q, "--format", "json", "--archive", archive)...)
		out, _ := cmd.CombinedOutput() // not all have an answer to everything
		fmt.Fprintf(&b, "replay %s\n%s\n", strings.Join(q, " "), out)
	}
	raw, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(raw)
	// And what is packed, as it was before.
	r, err := store.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range r.Archives() {
		fmt.Fprintf(&b, "\n%+v\n", *in)
	}
	texts := make(map[string]bool)
	instances := make(map[*metric.Instance]uint32)
	groups := make(map[*metric.Group]bool)
	for it := range rewrite.ReadFrom(rewrite.ReadOptions{}, r) {
		if it.Event != nil {
			texts[fmt.Sprintf("%+v", *it.Event)] = true
			continue
		}
		for _, block := range it.Tick.Blocks {
			for _, in := range block.Rows {
				if rev, ok := instances[in]; in != nil && (!ok || rev != in.Rev) {
					instances[in] = in.Rev
					texts[fmt.Sprintf("%+v", *in)] = true
				}
			}
			for i, c := range block.Cols {
				if !groups[block.Group] {
					texts[fmt.Sprintf("%+v", *block.Group.Metrics[i])] = true
				}
				for _, w := range c.Words {
					texts[w] = true
				}
				for _, why := range c.Miss {
					texts[why.String()] = true
				}
			}
			groups[block.Group] = true
		}
	}
	for text := range texts {
		b.WriteString(text + "\n")
	}
	r.Close()
	return b.String()
}

// search fails for each place in which text says any of names.
func search(t *testing.T, text string, names ...string) {
	t.Helper()
	for _, name := range names {
		low := strings.ToLower(text)
		for i, n := strings.Index(low, strings.ToLower(name)), 0; i >= 0 && n < 5; n++ {
			t.Errorf("%q is still said: %q", name, text[max(0, i-120):min(len(text), i+80)])
			next := strings.Index(low[i+1:], strings.ToLower(name))
			if next < 0 {
				break
			}
			i += 1 + next
		}
	}
}

// snapshot makes one with the command, and returns what it said.
func snapshot(t *testing.T, replay, archive string, args ...string) (path, said string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "snapshot.tacho")
	out, err := exec.Command(replay, append([]string{"snapshot", "--archive", archive, "-o", path}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("snapshot %q: %v\n%s", args, err, out)
	}
	return path, string(out)
}

func keyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fleet.key")
	if err := os.WriteFile(path, []byte("the key of a fleet of Macs"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// This machine, on which programs, users of it and directories have unmistakable
// names: none of them is in what is redacted, and the answers are the same else.
func TestThisMachine(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("records this machine")
	}
	t.Parallel()
	recorder, replay := built.Programs(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	os.WriteFile(config, []byte("[archive]\ndir = \""+dir+"/Zaphod archives\"\ngroup = \"\"\n[classes]\nfast = \"200ms\"\nprocess = \"200ms\"\ncostly = \"1s\"\nthread = \"500ms\"\nnetwork = \"500ms\"\n[network]\npeers = \"address\"\n[process]\nargs = \"full\"\nthreads = [\"Zaphod*\"]\n"), 0o600)
	home := filepath.Join(dir, "home", "zaphod", "Zaphod's work")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	path := copyOfThis(t, filepath.Join(home, "Zaphodd"))
	defer lives(t, path, "Zaphod-argv0 secret", "1000.001")()
	own := listens(t)
	run := exec.Command(recorder, "run", "--config", config)
	log := new(bytes.Buffer)
	run.Stdout, run.Stderr = log, log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	t.Cleanup(func() { run.Process.Kill() })
	// Comes and goes while it is recorded.
	goesOn(t, filepath.Join(dir, "Zaphod archives"))
	for range 2 {
		end := lives(t, path, path)
		goesOn(t, filepath.Join(dir, "Zaphod archives"))
		end()
		goesOn(t, filepath.Join(dir, "Zaphod archives"))
	}
	run.Process.Signal(os.Interrupt)
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	archive := onlyArchive(t, filepath.Join(dir, "Zaphod archives"))
	redacted, left := snapshot(t, replay, archive, "--redact")
	before, after := answers(t, replay, archive), answers(t, replay, redacted)
	if strings.Count(strings.ToLower(before), secret) < 10 {
		t.Fatal("the recording itself says little of Zaphod")
	}
	names := []string{secret, "1000.001"}
	if own != "" {
		if names = append(names, own); !strings.Contains(before, own) {
			t.Errorf("the recording does not say that a program listens on %s", own)
		}
	}
	if host, err := os.Hostname(); err == nil && len(host) > 4 {
		names = append(names, host)
	}
	for _, file := range []string{"/etc/machine-id", "/proc/sys/kernel/random/boot_id"} {
		if text, err := os.ReadFile(file); err == nil && len(text) > 8 {
			names = append(names, strings.TrimSpace(string(text)))
		}
	}
	search(t, after, names...)
	if out, err := exec.Command(replay, "verify", redacted).CombinedOutput(); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
	plain, _ := snapshot(t, replay, archive)
	sameButNames(t, replay, plain, redacted)
	search(t, left, names...)
	samePseudonyms(t, replay, archive)
}

// sleeper is set for a copy of this program, which then does nothing until its input ends.
const sleeper = "TACHO_SLEEPER"

func TestMain(m *testing.M) {
	if os.Getenv(sleeper) != "" {
		io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

// copyOfThis copies this program: one of another's may be a part of a greater one, which
// does something else by another name.
func copyOfThis(t *testing.T, path string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	built.Copy(t, self, path)
	return path
}

// lives starts a copy of this program in its directory, with the arguments as given, and
// returns what ends it.
func lives(t *testing.T, path string, args ...string) (end func()) {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Args, cmd.Dir, cmd.Env = args, filepath.Dir(path), append(os.Environ(), sleeper+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		stdin.Close()
		cmd.Wait()
	}
}

// listens listens on an address of this machine that others can reach, and returns it; it returns ""
// if there is none.
func listens(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if p, ok := a.(*net.IPNet); ok && p.IP.To4() != nil && !p.IP.IsLoopback() {
			l, err := net.Listen("tcp", net.JoinHostPort(p.IP.String(), "0"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			return p.IP.String()
		}
	}
	return ""
}

// goesOn waits until what is recorded in dir is most of a second longer than it was: all
// classes have been read then.
func goesOn(t *testing.T, dir string) {
	t.Helper()
	last := func() int64 {
		r, err := store.Open(dir)
		if err != nil {
			return 0 // there is nothing yet
		}
		defer r.Close()
		to := int64(0)
		for _, in := range r.Archives() {
			to = max(to, in.To)
		}
		return to
	}
	var began int64
	patience.Until(t, "something is recorded", func() bool { began = last(); return began > 0 })
	patience.Until(t, "more is recorded", func() bool { return last() > began+int64(700*time.Millisecond) })
}

// With a key a name has one pseudonym in every recording, and without one in each
// another.
func samePseudonyms(t *testing.T, replay, archive string) {
	t.Helper()
	key := keyFile(t)
	said := func(args ...string) string {
		path, _ := snapshot(t, replay, archive, args...)
		out, err := exec.Command(replay, "ps", "--format", "csv", "--archive", path).Output()
		if err != nil || !strings.Contains(string(out), "process-") {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if once := said("--redact", "--key-file", key); said("--redact", "--key-file", key) != once {
		t.Error("with one key a name has two pseudonyms")
	}
	if once := said("--redact"); said("--redact") == once {
		t.Error("without a key pseudonyms are the same")
	}
}

func onlyArchive(t *testing.T, dir string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*.live"))
	if err != nil || len(list) != 1 {
		t.Fatalf("%s holds %q, %v", dir, list, err)
	}
	return list[0]
}

// A word of an answer that is no number is a name, or may be one.
var (
	nameCell  = regexp.MustCompile(`"(host|name|user|instance|command|was|exe|parent_name|metric_instance|cgroup|text|archive|id|app|service|container|pod|session)":("[^"]*"|\[[^]]*\])`)
	threadsOf = regexp.MustCompile(`"threads":\[[^]]*\]`) // those that are equal else are sorted by name
	commandLn = regexp.MustCompile(`(?m)^#.*$`)
)

// sameButNames compares the numbers that two archives answer with.
func sameButNames(t *testing.T, replay, a, b string) {
	t.Helper()
	for _, q := range [][]string{
		{"rates", "kernel.all.cpu.user", "disk.all.*", "network.all.*"}, {"top", "-n", "0", "--by", "cpu"}, {"ps", "--at", "end", "--sort", "pid"}, {"values", "mem.util.*", "kernel.all.load"},
	} {
		var out [2]string
		for i, path := range []string{a, b} {
			text, err := exec.Command(replay, append(q, "--format", "json", "--archive", path)...).Output()
			if err != nil {
				t.Errorf("%q: %v", q, err)
			}
			lines := strings.Split(nameCell.ReplaceAllString(threadsOf.ReplaceAllString(commandLn.ReplaceAllString(string(text), ""), ""), `"$1":""`), "\n")
			slices.Sort(lines) // what is equal else is sorted by name
			out[i] = strings.Join(lines, "\n")
		}
		if out[0] != out[1] || len(out[0]) < 100 {
			al, bl := strings.Split(out[0], "\n"), strings.Split(out[1], "\n")
			for i := range min(len(al), len(bl)) {
				if al[i] != bl[i] {
					t.Errorf("%q answers\n%s\nredacted\n%s", q, al[i], bl[i])
					break
				}
			}
			if len(al) != len(bl) || len(out[0]) < 100 {
				t.Errorf("%q answers %d lines, redacted %d", q, len(al), len(bl))
			}
		}
	}
}

// A simulated Mac with such names.
func TestMac(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs whole programs")
	}
	mac, err := darwintest.FindMac(moduleRoot)
	darwintest.Need(t, err)
	t.Parallel()
	replay := built.Program(t, "replay")
	recorder, err := built.Package(built.Target{OS: "darwin", Arch: mac.Arch}, "tachograph/cmd/recorder")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	scenario := filepath.Join(dir, "zaphod.scn")
	os.WriteFile(scenario, []byte(zaphodsMac), 0o644)
	root := filepath.Join(dir, "root")
	os.MkdirAll(filepath.Join(root, "Library"), 0o755)
	os.WriteFile(filepath.Join(root, "Library", "recorder.toml"), []byte("[classes]\nthread = \"5s\"\n[process]\nargs = \"full\"\nthreads = [\"Zaphod*\"]\n"), 0o600)
	run := mac.Command([]string{"--scenario", scenario, "--root", root, "--speed", "20"}, recorder, "run", "--archive", "/Library/Archives", "--config", "/Library/recorder.toml", "--for", "90s")
	begun := time.Now()
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("after %s: %v\n%s", time.Since(begun), err, out)
	}
	archive := onlyArchive(t, filepath.Join(root, "Library", "Archives"))
	redacted, left := snapshot(t, replay, archive, "--redact", "--key-file", keyFile(t))
	before, after := answers(t, replay, archive), answers(t, replay, redacted)
	if n := strings.Count(strings.ToLower(before), secret); n < 30 {
		t.Fatalf("the recording itself says only %d times Zaphod", n)
	}
	search(t, after, secret, "5A0C7C9E-2A58-4C6A-9E44-8A27B7C7F0D1", "0F31C2A5-9D3E-4B8C-8A37-77D8E1B1F0AA")
	for _, known := range []string{"launchd", "kernel_task", "lo0", "disk0", "15.5"} {
		if !strings.Contains(after, known) {
			t.Errorf("%s is not said any more", known)
		}
	}
	plain, _ := snapshot(t, replay, archive)
	sameButNames(t, replay, plain, redacted)
	search(t, left, secret)
	if !strings.Contains(left, "Mac14,2, Apple M2, 8 processors") || !strings.Contains(left, "macOS 15.5") {
		t.Errorf("it is not said that these are left: %s", left)
	}
}
