package query

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Definitions are derived metrics: names for expressions.
type Definitions struct {
	text  map[string]string
	order []string
}

// ReadDefinitions adds the definitions of a file: NAME = EXPRESSION on each line; # begins a
// comment.
func (d *Definitions) ReadDefinitions(r io.Reader, file string) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, text, ok := strings.Cut(line, "=")
		name, text = strings.TrimSpace(name), strings.TrimSpace(text)
		if !ok || !isName(name) || text == "" {
			return fmt.Errorf("%s:%d: a line is NAME = EXPRESSION", file, n)
		}
		if d.text == nil {
			d.text = make(map[string]string)
		}
		if _, twice := d.text[name]; twice {
			return fmt.Errorf("%s:%d: %s is defined twice", file, n, name)
		}
		if _, err := parse(text); err != nil {
			return fmt.Errorf("%s:%d: %s: %w", file, n, name, err)
		}
		d.text[name] = text
		d.order = append(d.order, name)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// Names lists the defined names in the order of their definition.
func (d *Definitions) Names() []string {
	if d == nil {
		return nil
	}
	return d.order
}

// lookup finds the expression behind a name: a definition, or a formula of the catalogue.
func (d *Definitions) lookup(a Vocabulary, name string) (string, bool) {
	if d != nil {
		if text, ok := d.text[name]; ok {
			return text, true
		}
	}
	if desc := a.Lookup(name); desc != nil && desc.Formula != "" {
		return desc.Formula, true
	}
	return "", false
}

// names returns all names that an expression may use.
func names(a Vocabulary, d *Definitions) []string {
	out := append([]string{}, d.Names()...)
	for _, m := range a.Metrics() {
		out = append(out, m.Name)
	}
	return out
}

func isName(s string) bool {
	if s == "" || !isLetter(s[0]) {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !isLetter(s[i]) && !isDigit(s[i]) && s[i] != '.' {
			return false
		}
	}
	return true
}
