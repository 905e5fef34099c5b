package config

import "strings"

// locate finds the line of every key of a TOML text that has already been
// parsed, because the parser does not keep positions. Paths are dotted; the
// n-th table of an array of tables is "rule.0", "rule.1", ...
func locate(text string) map[string]int {
	lines := make(map[string]int)
	counts := make(map[string]int)
	table := ""
	var s skipper
	for n, line := range strings.Split(text, "\n") {
		if s.inside() {
			s.feed(line)
			continue
		}
		t := strings.TrimSpace(line)
		switch {
		case t == "" || t[0] == '#':
		case strings.HasPrefix(t, "[["):
			name, _, _ := splitKey(t[2:])
			table = name + "." + itoa(counts[name])
			counts[name]++
			lines[table] = n + 1
			if _, seen := lines[name]; !seen {
				lines[name] = n + 1
			}
		case t[0] == '[':
			table, _, _ = splitKey(t[1:])
			lines[table] = n + 1
		default:
			name, value, ok := splitKey(t)
			if !ok {
				continue
			}
			if table != "" {
				name = table + "." + name
			}
			lines[name] = n + 1
			s.feed(value)
		}
	}
	return lines
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// splitKey reads a possibly quoted and dotted key up to "=" or "]" and returns its path and the
// text after that.
func splitKey(t string) (path, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(t); i++ {
		switch c := t[i]; c {
		case '"', '\'':
			j := strings.IndexByte(t[i+1:], c)
			if j < 0 {
				return "", "", false
			}
			b.WriteString(t[i+1 : i+1+j])
			i += j + 1
		case ' ', '\t':
		case '=', ']':
			return b.String(), t[i+1:], true
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// skipper follows a value that may span several lines: an array, or a string in three quotes.
type skipper struct {
	depth int
	quote string // the three quotes that end the string, or ""
}

func (s *skipper) inside() bool { return s.depth > 0 || s.quote != "" }

func (s *skipper) feed(t string) {
	for i := 0; i < len(t); i++ {
		if s.quote != "" {
			j := strings.Index(t[i:], s.quote)
			if j < 0 {
				return
			}
			i += j + 2
			s.quote = ""
			continue
		}
		switch c := t[i]; c {
		case '[', '{':
			s.depth++
		case ']', '}':
			s.depth--
		case '#':
			return
		case '"', '\'':
			if three := strings.Repeat(string(c), 3); strings.HasPrefix(t[i:], three) {
				s.quote = three
				i += 2
				continue
			}
			for i++; i < len(t) && t[i] != c; i++ {
				if t[i] == '\\' && c == '"' {
					i++
				}
			}
		}
	}
}
