//go:build linux && amd64

package e2e

import (
	"os"
	"strings"
	"testing"
)

// contradictions is a Mac of which sources contradict each other: Wi-Fi counts packets
// and no bytes, the list of TCP sockets holds this program's own, the memory statistics
// are an old answer, and the counters of energy stand.
const contradictions = `
host { root yes; rate_limit no; vm { faults 2630118901 } }
sysctl net.inet.tcp.pcbcount int 90
interface en0 { ibytes 5000000; ipackets counter 1000 700 }
clear process
process 1 { name launchd; ppid 0; uid 0 }
process 900 { name busy; ppid 1; uid 501; user_ns counter 1000000000 900000000; system_ns counter 5 1000000; energy_nj 5; faults counter 0 9000 }
`

// witnesses are the lines of recorder check --witness, by the pair.
func (s *session) witnesses(t *testing.T) (lines map[string]string, status int) {
	t.Helper()
	cmd := s.start("check", "--witness", "--wait", "500ms")
	_ = cmd.Run()
	lines = make(map[string]string)
	for line := range strings.Lines(s.log.String()) {
		if pair, rest, ok := strings.Cut(line, "  "); ok {
			lines[pair] = strings.TrimSpace(rest)
		}
	}
	return lines, cmd.ProcessState.ExitCode()
}

// A Mac whose sources agree has nothing to be told of, and one that behaves as those with
// macOS 27 do has all of it found, unless the source that reads it has found it before:
// then the value is absent, and that is why it cannot be compared.
func TestWitnesses(t *testing.T) {
	t.Parallel()
	calm, status := laptop(t, beginning+"host { root yes; rate_limit no }").witnesses(t)
	if status != 0 {
		t.Errorf("status %d of a Mac whose sources agree: %v", status, calm)
	}
	for _, pair := range []string{"interface: packets, bytes in [en0]", "sockets: count, list", "memory: statistics, sysctl"} {
		if !strings.HasPrefix(calm[pair], "agrees") {
			t.Errorf("%s: %q", pair, calm[pair])
		}
	}
	found, status := laptop(t, beginning+contradictions).witnesses(t)
	if status != 1 {
		t.Errorf("status %d of a Mac whose sources contradict each other", status)
	}
	for _, pair := range []string{"faults: processes, machine", "energy: cpu, processes", "sockets: count, list", "interface: packets, bytes in [en0]"} {
		if line := found[pair]; !strings.HasPrefix(line, "disagrees") && !strings.Contains(line, " is absent: ") {
			t.Errorf("%s: %q in %v", pair, line, found)
		}
	}
}

// The recorder finds it by itself, and what replay shows has the reason beside it.
func TestWitnessIsRecorded(t *testing.T) {
	if os.Getenv("TACHO_LONG") == "" {
		t.Skip("TACHO_LONG=1 records nine minutes of a simulated Mac")
	}
	t.Parallel()
	s := laptop(t, beginning+contradictions)
	s.speed = pace(20)
	s.record("9m") // how late readings are does not matter here
	told := s.events("distrust begin")
	pairs := make(map[string]int)
	for _, e := range told {
		pairs[e.text("text")]++
	}
	last := ""
	for _, r := range s.rows("values", "mem.pages.faults") {
		last = r.text("reason")
	}
	if len(told) == 0 || !strings.HasPrefix(last, "distrusted since 2025-06-15 12:") {
		t.Errorf("events %v, and beside the last value stands %q", pairs, last)
	}
	for text, n := range pairs {
		if n > 1 {
			t.Errorf("told %d times: %s", n, text)
		}
	}
	if out := s.replay([]string{s.dir()}, "info"); !strings.Contains(out, "mem.pages") || !strings.Contains(out, "distrust") {
		t.Errorf("info says\n%s", out)
	}
}
