package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/cmd/internal/peertest"
	"tachograph/testdata/built"
)

// A client of another maker speaks with replay mcp in both eras of the protocol. It checks each
// answer against the schema of its tool.
func TestAnotherMakersAssistant(t *testing.T) {
	peertest.Need(t, "node")
	const module = "@modelcontextprotocol/client"
	if !slices.ContainsFunc(filepath.SplitList(os.Getenv("NODE_PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, module))
		return err == nil
	}) {
		t.Skipf("%s is not installed", module)
	}
	t.Parallel()
	cmd := exec.Command("node", "testdata/peers/mcp.cjs", built.Program(t, "replay"), "../../testdata/incidents/runaway-loop")
	var said strings.Builder
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil || said.Len() > 0 {
		t.Fatalf("%v: %s", err, said.String())
	}
	var eras map[string]struct {
		Instructions string
		Tools        []string
		Answers      map[string]struct {
			IsError, Structured bool
			Text                string
		}
	}
	if err := json.Unmarshal(text, &eras); err != nil || len(eras) != 2 {
		t.Fatalf("%.300s %v", text, err)
	}
	for era, got := range eras {
		if !strings.HasPrefix(got.Instructions, "Tachograph") || len(got.Tools) != 12 || len(got.Answers) != len(got.Tools) {
			t.Errorf("%s: %.100q, %v", era, got.Instructions, got.Tools)
		}
		for tool, a := range got.Answers {
			// No stacks are in that recording.
			if a.IsError != (tool == "stacks") || a.Structured == a.IsError {
				t.Errorf("%s, %s: %s", era, tool, a.Text)
			}
		}
		if text := got.Answers["why"].Text; !strings.Contains(text, "pricecalc (pid 102, app)") {
			t.Errorf("%s: %s", era, text)
		}
	}
}
