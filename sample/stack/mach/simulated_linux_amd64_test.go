package mach

import (
	"bytes"
	"errors"
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
	"time"

	"tachograph/sample/darwin/darwintest"
)

// machine is the simulated Mac and this package's test program for it.
type machine struct {
	darwintest.Mac
	program string
}

var built struct {
	sync.Once
	machine
	err error
}

func simulated(t *testing.T) machine {
	t.Helper()
	built.Do(func() {
		if built.Mac, built.err = darwintest.FindMac("../../.."); built.err != nil {
			return
		}
		built.program, built.err = built.Program("tachograph/sample/stack/mach.test")
	})
	darwintest.Need(t, built.err)
	return built.machine
}

// outcome is what the program printed, and what the host reported about it.
type outcome struct {
	out, report string
	killed      string // the note that a killed program leaves behind
	err         error
}

const nothingLeft = "leaks: mach: 0 vm regions, 0 port references, 0 suspended threads"

// run runs commands on a Mac with the scenario, with further flags.
func (m machine) run(t *testing.T, scenario, do string, flags ...string) outcome {
	t.Helper()
	dir := t.TempDir()
	scn, report := filepath.Join(dir, "test.scn"), filepath.Join(dir, "report")
	if err := os.WriteFile(scn, []byte(scenario), 0o644); err != nil {
		t.Fatal(err)
	}
	flags = append([]string{"--scenario", scn, "--leaks", "--stats", "--report", report}, flags...)
	cmd := m.Command(flags, m.program, "-test.run", "^TestDump$")
	cmd.Env = append(os.Environ(), "TACHO_STACKS="+do)
	if i := slices.Index(flags, "--clock"); i >= 0 {
		cmd.Env = append(cmd.Env, "TACHO_STACKS_CLOCK="+flags[i+1])
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	o := outcome{out: string(out), err: err}
	if b, err := os.ReadFile(report); err == nil {
		o.report = string(b)
	}
	if b, err := os.ReadFile(report + ".killed"); err == nil {
		o.killed = string(b)
	}
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == -1) {
		t.Fatalf("%v\n%s\n%s", err, out, errs.Bytes())
	}
	return o
}

// tidy runs commands that must leave nothing behind.
func (m machine) tidy(t *testing.T, scenario, do string, flags ...string) outcome {
	t.Helper()
	o := m.run(t, scenario, do, flags...)
	// If the machine is so slow that the guard ends a suspension, the program reads a moving
	// stack, and drops it.
	misuse := strings.Contains(o.report, "misuse") && o.longest() < patience/4
	if !strings.Contains(o.report, nothingLeft) || misuse || o.killed != "" {
		t.Errorf("something is left, or was read while it moved:\n%s%s", o.report, o.killed)
	}
	return o
}

// longest returns the host's duration of the longest suspension.
func (o *outcome) longest() time.Duration {
	_, text, _ := strings.Cut(o.report, "the longest ")
	var us int
	fmt.Sscanf(text, "%d us", &us)
	return time.Duration(us) * time.Microsecond
}

// part is what one command printed.
func (o *outcome) part(t *testing.T, command string) part {
	t.Helper()
	_, text, ok := strings.Cut(o.out, "do "+command+"\n")
	if !ok {
		t.Fatalf("%q was not done:\n%s", command, o.out)
	}
	text, _, _ = strings.Cut(text, "\ndo ")
	p := part{text: text, stacks: make(map[string]map[string]int)}
	for _, line := range strings.Split(text, "\n") {
		line, ok := strings.CutPrefix(line, "got ")
		thread, rest, _ := strings.Cut(line, "|")
		i := strings.LastIndex(rest, " = ")
		if !ok || i < 0 {
			continue
		}
		if p.stacks[thread] == nil {
			p.stacks[thread] = make(map[string]int)
		}
		if strings.Contains(rest, "|0||1|") {
			continue // a slow machine has no time for a whole stack
		}
		p.stacks[thread][rest[:i]], _ = strconv.Atoi(rest[i+3:])
	}
	return p
}

type part struct {
	text string
	// stacks holds, by thread, the stacks that were seen and how often.
	stacks map[string]map[string]int
}

var numbers = regexp.MustCompile(`(rounds|missed|samples|gone|failed|suspensions|tasks|longest|hung) (\d+)`)

func (p *part) statistic(t *testing.T, name string) int {
	t.Helper()
	_, line, _ := strings.Cut(p.text, "\nstatistics ")
	if strings.HasPrefix(p.text, "statistics ") {
		line = p.text
	}
	for _, m := range numbers.FindAllStringSubmatch(line, -1) {
		if m[1] == name {
			n, _ := strconv.Atoi(m[2])
			return n
		}
	}
	t.Fatalf("no %s in\n%s", name, p.text)
	return 0
}

// always checks that a thread was always seen with one stack, or never if want is "".
func (p *part) always(t *testing.T, thread, want string) {
	t.Helper()
	got := p.stacks[thread]
	if len(got) != 1 && want != "" || len(got) != 0 && want == "" {
		t.Errorf("%s: %v, want always %q", thread, got, want)
		return
	}
	for text := range got {
		if text != want {
			t.Errorf("%s:\n%q, want\n%q", thread, text, want)
		}
	}
}
