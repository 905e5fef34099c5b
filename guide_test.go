package tachograph

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tachograph/testdata/guide"
)

// longestReadme is how many lines the front door has at most: what is longer goes to docs.
const longestReadme = 200

// The README is short, and links in the pages lead to something.
func TestGuide(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range append(guide.Pages(t, "."), "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md") {
		text := read(t, page)
		if page == "README.md" && strings.Count(text, "\n") > longestReadme {
			t.Errorf("README.md has %d lines, and may have %d: move what is not for a newcomer to docs", strings.Count(text, "\n"), longestReadme)
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			path, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			to := page
			if path != "" {
				to = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads to nothing: %v", page, m[1], err)
				continue
			}
			if heading != "" && !headings(read(t, to))[heading] {
				t.Errorf("%s: %s leads to no heading of %s", page, m[1], to)
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// headings are a page's, as links name them.
func headings(text string) map[string]bool {
	all := make(map[string]bool)
	drop := regexp.MustCompile(`[^a-z0-9 _-]`)
	for _, block := range strings.Split(text, "```") { // blocks of code among them, which have none
		for line := range strings.Lines(block) {
			if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
				all[strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-")] = true
			}
		}
	}
	return all
}
