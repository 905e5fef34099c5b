package perf

import (
	"bytes"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tachograph/sample/stack"
	"tachograph/testdata/child"
)

// The samples agree with those of Linux's perf tool, taken from the same program at the same
// time.
func TestAsPerfSays(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds of processor time")
	}
	tool, err := exec.LookPath("perf")
	if err != nil {
		t.Skip("perf is not installed")
	}
	needsPerf(t, false)
	for _, c := range []struct {
		name    string
		frames  []string // how perf finds frames
		path    func(t *testing.T) string
		samples int
		most    float64 // points between its shares and ours
	}{
		{"by frame pointers", []string{"-g"}, func(t *testing.T) string { return compiled(t) }, 1000, 8},
		{"by tables", []string{"--call-graph", "dwarf,8192"}, func(t *testing.T) string {
			return compiledBy(t, "cc", append(withoutFrames, "testdata/burn.c")...)
		}, 3000, 5},
	} {
		t.Run(c.name, func(t *testing.T) { asPerfSays(t, tool, c.path(t), c.frames, c.samples, c.most) })
	}
}

func asPerfSays(t *testing.T, tool, path string, frames []string, samples int, most float64) {
	cmd := started(t, path)
	pid := strconv.Itoa(cmd.Process.Pid)
	data := filepath.Join(t.TempDir(), "data")
	// The program says when it has begun.
	perf := exec.Command(tool, append([]string{"record", "-q", "-e", "cpu-clock", "-F", "997", "-p", pid, "-o", data, "--delay=-1", "--control=fd:0,1"}, frames...)...)
	var said bytes.Buffer
	perf.Stderr = &said
	control, answer := child.Start(t, perf)
	if _, err := io.WriteString(control, "enable\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := answer.ReadString('\n'); err != nil || line != "ack\n" {
		perf.Process.Kill()
		perf.Wait()
		t.Skipf("perf cannot sample here: %q, %v, %s", line, err, said.String())
	}
	got, _ := sampled(t, New(), stack.Wish{PID: int32(cmd.Process.Pid), Rate: 997}, func(g *seen, x *stack.Sample) bool { return count(g.running) >= samples })
	perf.Process.Signal(os.Interrupt)
	perf.Wait() // perf reports the signal
	out, err := exec.Command(tool, "report", "-i", data, "--stdio", "--children", "-g", "none", "--sort", "sym", "--percent-limit", "2").Output()
	if err != nil {
		t.Skipf("perf has no data here: %v, %s", err, said.String())
	}
	compared := 0
	for line := range strings.Lines(string(out)) {
		// 99.50% 0.40% [.] outer
		f := strings.Fields(line)
		if len(f) < 4 || f[len(f)-2] != "[.]" || !strings.HasSuffix(f[0], "%") {
			continue
		}
		theirs, err := strconv.ParseFloat(strings.TrimSuffix(f[0], "%"), 64)
		name := f[len(f)-1]
		if err != nil || strings.HasPrefix(name, "_") { // library code, which keeps some of its symbols elsewhere
			continue
		}
		compared++
		if ours := 100 * got.share(got.running, ";"+name+";"); math.Abs(ours-theirs) > most {
			t.Errorf("%s has %.1f %%, perf says %.1f %%", name, ours, theirs)
		}
	}
	if compared < 4 { // main, outer, heavy, light, spin
		t.Errorf("%d functions compared:\n%s", compared, out)
	}
}
