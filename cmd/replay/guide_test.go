package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tachograph/testdata/guide"
)

func TestGuideShowsCommandsThatThereAre(t *testing.T) {
	guide.Check(t, "../..", "replay", func() *cobra.Command { return newApp(io.Discard, io.Discard, time.Now).command() }, withNegatives)
}

// What the pages show below a command that reads a recording of this repository is what it
// prints.
func TestGuideShowsWhatIsPrinted(t *testing.T) {
	t.Chdir("../..")
	t.Setenv("COLUMNS", "80")
	answers := 0
	for _, page := range guide.Pages(t, ".") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(text), "```")
		for i := 1; i < len(blocks); i += 2 {
			command, _, _ := strings.Cut(strings.TrimPrefix(blocks[i], "\n"), "\n")
			if !strings.HasPrefix(command, "$ replay ") || !strings.Contains(command, "testdata/") {
				continue
			}
			answers++
			var out bytes.Buffer
			list := guide.Examples("```\n"+command+"\n```\n", "replay")
			if code := newApp(&out, io.Discard, time.Now).run(strings.Split(list[0], "\x00")); code != 0 {
				t.Errorf("%s: %s ends with %d", filepath.Base(page), command, code)
			}
			printed, _, _ := strings.Cut(out.String(), "\n# replay")
			if want := "\n" + command + "\n" + strings.TrimRight(printed, "\n") + "\n"; blocks[i] != want {
				t.Errorf("%s shows another answer (go test -update writes it anew): %s", filepath.Base(page), firstDifference(want, blocks[i]))
				blocks[i] = want
			}
		}
		if now := strings.Join(blocks, "```"); *update && now != string(text) {
			if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if answers < 4 {
		t.Errorf("the pages have %d answers of recordings that are here", answers)
	}
}
