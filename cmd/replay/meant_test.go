package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is no archive at all is not sent to repair.
func TestNotAnArchive(t *testing.T) {
	for name, content := range map[string]string{
		"text": strings.Repeat("these are notes\n", 1000), "nothing": "", "picture": "\x89PNG\r\n" + strings.Repeat("\x00\x01\xfe", 10000), "zeros": strings.Repeat("\x00", 1<<16),
	} {
		path := filepath.Join(t.TempDir(), "notes.tacho")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var o, e bytes.Buffer
		status := newApp(&o, &e, time.Now).run([]string{"info", "--archive", path})
		if status == 0 || !strings.Contains(e.String(), "it is not an archive\n") || strings.Contains(e.String(), "repair") {
			t.Errorf("of %s it says %q", name, e.String())
		}
	}
}

// Names that do not exist lead to what was meant, in conditions as elsewhere.
func TestWhatWasMeant(t *testing.T) {
	for _, command := range []string{"rates", "find", "values"} {
		for _, word := range []string{"cpuu", "laod", "memroy"} {
			condition := word
			if command == "find" {
				condition += " > 1"
			}
			_, errs, status := replayAt(testNow, command, condition, "--archive", "testdata/mac.txt")
			if status == 0 || !strings.Contains(errs, "did you mean ") {
				t.Errorf("%s %s: %q", command, condition, errs)
			}
		}
	}
}
