// Package guide reads the commands in the examples of the user pages, for tests that the
// programs still accept them and print the output shown below them.
package guide

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Pages returns the paths of the pages, in a tree with this root.
func Pages(t testing.TB, root string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no pages in %s: %v", root, err)
	}
	return append(list, filepath.Join(root, "README.md"))
}

// Examples returns the lines in a page's blocks of code that begin with a program's name, after
// a prompt, sudo or variables. Each command in a pipe or a list is a line of its own.
func Examples(text, program string) (lines []string) {
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			code = !code
			continue
		}
		if !code {
			continue
		}
		for _, words := range commands(strings.TrimPrefix(strings.TrimSpace(line), "$ ")) {
			for len(words) > 0 && (words[0] == "sudo" || strings.Contains(words[0], "=")) {
				words = words[1:]
			}
			if len(words) > 0 && strings.TrimPrefix(words[0], "./") == program {
				lines = append(lines, strings.Join(words[1:], "\x00"))
			}
		}
	}
	return lines
}

// Check fails if a page shows a command line that the program would refuse: a command, a flag or
// an argument that it does not have. words changes the words of a line as the program does
// before it parses them.
func Check(t *testing.T, root, program string, command func() *cobra.Command, words func(*cobra.Command, []string) []string) {
	n := 0
	for _, page := range Pages(t, root) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range Examples(string(text), program) {
			n++
			c := command()
			var args []string
			if line != "" {
				args = strings.Split(line, "\x00")
			}
			shown := program + " " + strings.ReplaceAll(line, "\x00", " ")
			cmd, rest, err := c.Find(words(c, args))
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(page), shown, err)
			}
		}
	}
	if n < 10 {
		t.Errorf("the pages have %d examples of %s", n, program)
	}
}

// commands returns the words of each command in a line, as a shell splits them, without those
// that it would expand.
func commands(line string) (list [][]string) {
	var words []string
	var word strings.Builder
	quote, open := byte(0), false
	end := func() {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
	}
	next := func() {
		end()
		if len(words) > 0 {
			list = append(list, words)
		}
		words = nil
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case c == ' ':
			end()
		case c == '#' && !open:
			next()
			return list
		case slices.Contains([]byte("|&;<>"), c):
			next()
		case c == '\\' && i+1 == len(line):
		default:
			open = true
			word.WriteByte(c)
		}
	}
	next()
	return list
}
