//go:build linux && amd64

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sampledApp is a program of three threads: one that computes, seven parts of ten in
// one place and three in another, one that waits in the kernel, and one of which
// nothing is known but addresses. launchd may not be opened, also not by root.
const sampledApp = `
process 700 {
  name worker; path "/Applications/Worker.app/Contents/MacOS/worker"; uid 501; start -10
  image "/Applications/Worker.app/Contents/MacOS/worker" uuid aabbccdd-0011-2233-4455-66778899aabb load 0x104a30000 size 0x20000 {
    symbol _main 0x3f00; symbol _compute 0x4000; symbol _collect 0x4180; symbol _await 0x4300 }
  thread 0x711 { name busy; state 1; moving yes; cycle { stack compute+0x10 main+0x24 weight 7; stack collect+0x8 main+0x24 weight 3 } }
  thread 0x712 { name idle; stack await+0x8 main+0x44; wait receive owner 0x711 context 0x1203 }
  thread 0x713 { stack 0x1 0x2 0x3 0x4 break loop 1 }
}
process 731 { name guarded; uid 0; protected yes; thread 0x731 { name only; stack 0x100001000 0x100000f00; kstack 0xfffffe0007a00200 } }
`

func TestStacksOfAProcess(t *testing.T) {
	t.Parallel()
	s := laptop(t, sampledApp)
	// The one that may be opened, by name.
	folded := s.stacks("worker", "--for", "3s", "--rate", "40")
	stats := s.replay([]string{s.sampled()}, "stacks", "--stats")
	for _, want := range []string{"taken", "walk errors", "suspensions", "stopped in all ", "LASTED", "at most "} {
		if !strings.Contains(stats, want) {
			t.Errorf("the statistics lack %q:\n%s", want, stats)
		}
	}
	computes, collects, awaits := share(folded, "main;compute"), share(folded, "main;collect"), share(folded, "main;await")
	if busy := computes + collects; busy < 20 || computes < busy*6/10 || computes > busy*8/10 {
		t.Errorf("it computes %d and collects %d times, of seven and three parts:\n%s", computes, collects, folded)
	}
	if awaits < 20 {
		t.Errorf("it waits %d times:\n%s", awaits, folded)
	}
	// The one that may not, by its number.
	folded = s.stacks("731", "--for", "2s", "--rate", "2")
	if n := share(folded, "guarded"); n < 2 {
		t.Errorf("of the guarded process there are %d samples:\n%s", n, folded)
	}
	// Everybody.
	folded = s.stacks("--all", "--for", "2s", "--rate", "2")
	for _, name := range []string{"worker", "guarded"} {
		if share(folded, name) < 2 {
			t.Errorf("of all processes there is no %s:\n%s", name, folded)
		}
	}
}

// sampled is the file that stacks makes.
func (s *session) sampled() string { return filepath.Join(s.root, "Library", "sampled.tacho") }

// stacks has the recorder sample into a file and reads that.
func (s *session) stacks(args ...string) string {
	s.t.Helper()
	file := s.sampled()
	os.Remove(file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := s.start(append([]string{"sample", "-o", "/Library/sampled.tacho"}, args...)...).Run(); err != nil {
		s.t.Fatalf("%v\n%s", err, s.said())
	}
	s.checkLeaks()
	return s.replay([]string{file}, "stacks", "--format", "folded")
}

// share adds up the counts of folded stacks that have part in them.
func share(folded, part string) (n int) {
	for line := range strings.Lines(folded) {
		line = strings.TrimSpace(line)
		if at := strings.LastIndexByte(line, ' '); at >= 0 && strings.Contains(line[:at], part) {
			count, _ := strconv.Atoi(line[at+1:])
			n += count
		}
	}
	return n
}
