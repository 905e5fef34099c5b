package built

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The programs run, and asking again links nothing.
func TestProgramsAreLinkedOnce(t *testing.T) {
	recorder, replay := Programs(t)
	for _, program := range []string{recorder, replay} {
		if out, err := exec.Command(program, "version").CombinedOutput(); err != nil || len(out) == 0 {
			t.Errorf("%s version: %v\n%s", program, err, out)
		}
		before, err := os.Stat(program)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := build(Here, "tachograph/cmd/"+before.Name()); err != nil {
			t.Fatal(err)
		}
		if after, err := os.Stat(program); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s was linked again: %v", program, err)
		}
	}
}

func TestSourcesWithAMistake(t *testing.T) {
	if _, err := Package(Here, "tachograph/cmd/nothing"); err == nil || !strings.Contains(err.Error(), "building tachograph/cmd/nothing") {
		t.Errorf("building what is not there: %v", err)
	}
}
