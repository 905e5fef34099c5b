package redact

import (
	"os"
	"regexp"
	"testing"
)

// Every kind of text that an event may be labelled with stays readable in a copy.
func TestRulesAreReadable(t *testing.T) {
	text, err := os.ReadFile("../../../../sample/said/testdata/sentences.txt")
	if err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile(`(?m)^    (?:rule|topic|source|what) = (.*)$`).FindAllStringSubmatch(string(text), -1)
	lines, err := os.ReadFile("../../../../sample/klog/rules.go")
	if err != nil {
		t.Fatal(err)
	}
	rules = append(rules, regexp.MustCompile(`name: "([^"]+)"`).FindAllStringSubmatch(string(lines), -1)...)
	if len(rules) < 100 {
		t.Fatalf("%d rules", len(rules))
	}
	for _, m := range rules {
		if !writtenWords(m[1]) {
			t.Errorf("%q becomes a pseudonym", m[1])
		}
	}
}
