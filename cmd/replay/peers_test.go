package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
	"tachograph/testdata/built"
	"tachograph/testdata/patience"
)

// A recorder of tests, at whose ticks it is said when.
type testRecorder struct {
	*recording.Writer
	machine *storetest.Machine
	clock   *proof.Clock
	dir     string
	ticks   int
}

func newTestRecorder(t *testing.T) *testRecorder {
	t.Helper()
	m := storetest.NewMachine(1)
	r := &testRecorder{machine: m, clock: proof.NewClock(m.At(0)), dir: t.TempDir()}
	var err error
	if r.Writer, err = recording.Create(recorded.ProofOptions(r.dir, 1, r.clock.Now)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// tick records what there is at the next instant, and returns the value of
// test.kernel.count.
func (r *testRecorder) tick(t *testing.T) (count uint64) {
	t.Helper()
	for found := false; !found; r.ticks++ {
		r.clock.Set(r.machine.At(r.ticks))
		for _, tick := range r.machine.Ticks(r.ticks) {
			if err := r.Append(tick); err != nil {
				t.Fatal(err)
			}
			for _, b := range tick.Blocks {
				for i, d := range b.Group.Metrics {
					if d.Name == "test.kernel.count" {
						count, found = b.Cols[i].Bits[0], true
					}
				}
			}
		}
	}
	return count
}

// startServer starts the program as users do; end ends it and returns what it said to
// standard error.
func startServer(t *testing.T, args ...string) (socket string, end func() string) {
	t.Helper()
	program := built.Program(t, "replay")
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	socket = filepath.Join(short, "s")
	cmd := exec.Command(program, append([]string{"serve", "--listen", "unix:" + socket}, args...)...)
	if os.Geteuid() == 0 {
		cmd.Args = append(cmd.Args, "--user", "root") // the archives of tests are root's
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "at unix:"+socket) {
		t.Fatalf("%q %v %s", line, err, errs.String())
	}
	ended := false
	end = func() string {
		if !ended {
			ended = true
			cmd.Process.Signal(syscall.SIGTERM)
			if err := cmd.Wait(); err != nil {
				t.Errorf("the server: %v\n%s", err, errs.String())
			}
			if _, err := os.Lstat(socket); err == nil {
				t.Error("its socket is still there")
			}
		}
		return errs.String()
	}
	t.Cleanup(func() { end() })
	return socket, end
}

// peer finds programs that a test needs, or skips it: the project's checks install
// them.
func peer(t *testing.T, names ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts other programs")
	}
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
}

func ran(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// curl speaks JSON over HTTP at the socket.
func TestCurl(t *testing.T) {
	t.Parallel()
	peer(t, "curl")
	r := newTestRecorder(t)
	want := r.tick(t)
	socket, end := startServer(t, r.dir)
	ask := func(method, body string) map[string]any {
		t.Helper()
		out := ran(t, "curl", "-sS", "--unix-socket", socket, "-H", "content-type: application/json", "-d", body, "http://localhost/tachograph.v1."+method)
		var answer map[string]any
		if err := json.Unmarshal([]byte(out), &answer); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return answer
	}
	if got := fmt.Sprint(ask("LiveService/GetValues", `{"selection": {"metrics": ["test.kernel.count"]}}`)); !strings.Contains(got, fmt.Sprintf("natural:%d", want)) {
		t.Errorf("%s, want %d", got, want)
	}
	if got := fmt.Sprint(ask("CatalogService/ListArchives", `{}`)); !strings.Contains(got, "testhost") {
		t.Errorf("%s", got)
	}
	for body, want := range map[string]string{`{"selection": 7}`: "invalid_argument", `{`: "invalid_argument", `{"selection": {"metrics": [""]}}`: "names nothing"} {
		if got := fmt.Sprint(ask("LiveService/GetValues", body)); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	if out := ran(t, "curl", "-sS", "--unix-socket", socket, "http://localhost/"); !strings.Contains(out, "/tachograph.v1.LiveService/") {
		t.Errorf("%s", out)
	}
	// GET does for questions, and HTTP/2 without TLS for who knows that.
	out := ran(t, "curl", "-sS", "-G", "--http2-prior-knowledge", "--unix-socket", socket, "--data-urlencode", "message={}", "-d", "encoding=json&connect=v1",
		"http://localhost/tachograph.v1.CatalogService/ListCategories")
	if !strings.Contains(out, `"vm.pages"`) {
		t.Errorf("%s", out)
	}
	if said := end(); said != "" {
		t.Errorf("it says %s", said)
	}
}

// buf finds the services by reflection and speaks gRPC and Connect.
func TestBufCurl(t *testing.T) {
	t.Parallel()
	peer(t, "buf")
	r := newTestRecorder(t)
	want := r.tick(t)
	socket, _ := startServer(t, r.dir)
	curl := func(args ...string) string {
		t.Helper()
		return ran(t, "buf", append([]string{"curl", "--unix-socket", socket, "--http2-prior-knowledge"}, args...)...)
	}
	list := curl("--list-services", "--protocol", "grpc", "http://localhost")
	if list != "grpc.health.v1.Health\nsysctl.SysctlService\ntachograph.v1.CatalogService\ntachograph.v1.CommandService\ntachograph.v1.LiveService\ntachograph.v1.QueryService\n" {
		t.Errorf("services:\n%s", list)
	}
	for _, protocol := range []string{"grpc", "grpcweb", "connect"} {
		got := curl("--protocol", protocol, "-d", `{"selection": {"metrics": ["test.kernel.count"]}}`, "http://localhost/tachograph.v1.LiveService/GetValues")
		if !strings.Contains(got, fmt.Sprintf(`"natural": "%d"`, want)) {
			t.Errorf("%s: %s, want %d", protocol, got, want)
		}
	}
	if got := curl("--protocol", "grpc", "-d", `{"service": "tachograph.v1.LiveService"}`, "http://localhost/grpc.health.v1.Health/Check"); !strings.Contains(got, "SERVING") {
		t.Errorf("health: %s", got)
	}
}

// python is the one that has the system's modules.
const python = "/usr/bin/python3"

// pythonStubs has stubs made of the .proto files.
func pythonStubs(t *testing.T) (dir string) {
	t.Helper()
	peer(t, "protoc", "grpc_python_plugin", python)
	if err := exec.Command(python, "-c", "import grpc").Run(); err != nil {
		t.Skip("python3-grpcio is not installed")
	}
	stubs := t.TempDir()
	plugin, err := exec.LookPath("grpc_python_plugin")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-I", "../../api", "--python_out=" + stubs, "--grpc_out=" + stubs, "--plugin=protoc-gen-grpc=" + plugin}
	for _, name := range []string{"value", "catalog", "live", "query"} {
		args = append(args, "tachograph/v1/"+name+".proto")
	}
	ran(t, "protoc", append(args, "sysctl/sysctl.proto")...)
	return stubs
}

// A client in another language: stubs of the .proto files, and the gRPC library
// that others wrote.
func TestPythonClient(t *testing.T) {
	t.Parallel()
	stubs := pythonStubs(t)
	r := newTestRecorder(t)
	first := r.tick(t)
	socket, end := startServer(t, r.dir)
	cmd := exec.CommandContext(patience.Context(t, time.Minute), python, "testdata/peers/client.py", socket)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+stubs)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	said := make(map[string]string)
	next := func() string {
		if !lines.Scan() {
			cmd.Wait()
			t.Fatalf("the client ends: %s", errs.String())
		}
		return lines.Text()
	}
	for {
		what, rest, _ := strings.Cut(next(), " ")
		said[what] += rest + ";"
		if what == "frame" {
			break
		}
	}
	for what, want := range map[string]string{
		"health":  "0801;", // SERVING
		"value":   fmt.Sprintf("test.kernel.count [%d];vm.pages exists on macOS only;", first),
		"error":   "no.such 5;",
		"refused": "INVALID_ARGUMENT True;",
		"rows":    "1;",
		"frame":   fmt.Sprintf("{'test.kernel.count': %d};", first),
	} {
		if said[what] != want {
			t.Errorf("%s: %q, want %q", what, said[what], want)
		}
	}
	if !strings.Contains(said["metrics"], "test.kernel.count") || strings.Contains(said["metrics"], "vm.pages") {
		t.Errorf("metrics %s", said["metrics"])
	}
	for range 5 {
		want := fmt.Sprintf("frame {'test.kernel.count': %d}", r.tick(t))
		if got := next(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	end()
	if got := next(); got != "ended UNAVAILABLE" {
		t.Errorf("at the end: %s", got)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, errs.String())
	}
}
