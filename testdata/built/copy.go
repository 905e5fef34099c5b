package built

import (
	"os/exec"
	"testing"
)

// Copy copies a program that a test then runs. Another process writes the copy: while this
// process has a file open for writing, each child that it starts has it open for a moment, too,
// and the kernel does not execute a file that is open for writing.
func Copy(t testing.TB, program, to string) {
	t.Helper()
	if out, err := exec.Command("cp", program, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("chmod", "755", to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
