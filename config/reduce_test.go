package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStepsDivideADay(t *testing.T) {
	for text, want := range map[string]time.Duration{"1m": time.Minute, "10s": 10 * time.Second, "1h": time.Hour, "24h": 24 * time.Hour, "7s": 0, "50m": 0, "1500ms": 0, "2d": 0, "off": 0} {
		path := filepath.Join(t.TempDir(), "f.toml")
		if err := os.WriteFile(path, []byte("[archive]\nkeep_reduced_for = \"365d\"\nreduce_to = \""+text+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(path)
		switch {
		case want == 0 && (err == nil || !strings.Contains(err.Error(), "archive.reduce_to")):
			t.Errorf("%s: %v", text, err)
		case want != 0 && (err != nil || c.Archive.ReduceTo != want || c.Archive.KeepReducedFor != 365*day):
			t.Errorf("%s: %v", text, err)
		}
	}
}
