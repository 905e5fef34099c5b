package site

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Line is an agent in pmcd.conf: its name there, its domain, and how pmcd reaches it ("pipe
// binary /path args").
type Line struct {
	Label  string
	Domain uint32
	How    string
}

func (l Line) text() string { return fmt.Sprintf("%s\t%d\t%s\n", l.Label, l.Domain, l.How) }

// entry is an agent's line in a file, with its continuations.
type entry struct {
	label      string
	domain     uint32
	start, end int
}

// conf is the part of a pmcd.conf that is needed here.
type conf struct {
	text    []byte
	entries []entry
	// room is where another agent is added: after the last one, before the access section.
	room int
}

func parseConf(text []byte) conf {
	c := conf{text: text}
	for start := 0; start < len(text); {
		end := lineEnd(text, start)
		for bytes.HasSuffix(bytes.TrimRight(text[start:end], "\r\n"), []byte(`\`)) && end < len(text) {
			end = lineEnd(text, end)
		}
		words := bytes.Fields(text[start:end])
		switch {
		case len(words) == 0 || words[0][0] == '#':
		case words[0][0] == '[':
			if len(c.entries) == 0 {
				c.room = start
			}
			return c
		default:
			e := entry{label: strings.Trim(string(words[0]), `"`), start: start, end: end}
			if len(words) > 1 {
				n, _ := strconv.ParseUint(string(words[1]), 10, 32)
				e.domain = uint32(n)
			}
			c.entries = append(c.entries, e)
			c.room = end
		}
		start = end
	}
	if len(c.entries) == 0 {
		c.room = len(text)
	}
	return c
}

func lineEnd(text []byte, from int) int {
	if i := bytes.IndexByte(text[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(text)
}

func (c conf) of(domain uint32) *entry {
	return c.find(func(e entry) bool { return e.domain == domain })
}
func (c conf) named(label string) *entry {
	return c.find(func(e entry) bool { return e.label == label })
}

func (c conf) find(is func(entry) bool) *entry {
	if i := slices.IndexFunc(c.entries, is); i >= 0 {
		return &c.entries[i]
	}
	return nil
}

// darwin are PCP's agents for macOS by their domains, with the names in PCP's packages.
var darwin = map[uint32]string{78: "darwin", 3: "proc"}

// DarwinLabel returns PCP's name for its macOS agent with this domain.
func DarwinLabel(domain uint32) string { return darwin[domain] }

// Words returns a command line for pmcd.conf, which knows double quotes.
func Words(words ...string) string {
	quoted := slices.Clone(words)
	for i, w := range quoted {
		if strings.ContainsAny(w, " \t#\"") {
			quoted[i] = `"` + strings.ReplaceAll(w, `"`, `\"`) + `"`
		}
	}
	return strings.Join(quoted, " ")
}

// Clash is an agent or name of another's in the place that ours needs.
type Clash struct{ What, Remedy string }

func (c *Clash) Error() string { return c.What + " (" + c.Remedy + ")" }

// addLines adds agents to a pmcd.conf. If replace is set, an agent with a domain of PCP's
// Darwin agents replaces their line, and takes their name, by which PCP's Rebuild knows that
// these names must stay.
func addLines(text []byte, lines []Line, replace bool, path string) ([]byte, []Swap, error) {
	var swaps []Swap
	for _, l := range lines {
		c := parseConf(text)
		have := c.of(l.Domain)
		e := c.named(l.Label)
		switch {
		case e != nil && (have == nil || darwin[l.Domain] == ""):
			return nil, nil, &Clash{fmt.Sprintf("%s has an agent %q of domain %d already, which recorder pmda install did not put there", path, l.Label, e.domain),
				"take it away first: run ./Remove in its directory, or delete the line"}
		case have == nil && bytes.HasSuffix(bytes.TrimRight(text[:c.room], "\r\n"), []byte(`\`)):
			return nil, nil, &Clash{path + " ends within a line", "take away the backslash at its end"}
		case have == nil:
			add := l.text()
			if c.room > 0 && text[c.room-1] != '\n' {
				add = "\n" + add
			}
			text = slices.Concat(text[:c.room], []byte(add), text[c.room:])
			swaps = append(swaps, Swap{Is: l.text()})
		case darwin[l.Domain] != "" && have.label == darwin[l.Domain] && replace:
			was := string(text[have.start:have.end])
			l.Label = have.label
			swaps = append(swaps, Swap{Was: was, Is: l.text()})
			text = slices.Concat(text[:have.start], []byte(l.text()), text[have.end:])
		case darwin[l.Domain] != "" && have.label == darwin[l.Domain]:
			return nil, nil, &Clash{fmt.Sprintf("PCP's agent %s has domain %d, and the names that go with it", have.label, l.Domain),
				"--replace takes its place, and remove gives it back; --beside leaves it, and puts everything below tachograph"}
		default:
			return nil, nil, &Clash{fmt.Sprintf("domain %d belongs to the agent %q in %s", l.Domain, have.label, path), "give another one with --domain, of 385 to 510"}
		}
	}
	return text, swaps, nil
}

// Swap is a line that was put into pmcd.conf, and the line that it replaced.
type Swap struct {
	Was string `json:"was,omitempty"`
	Is  string `json:"is"`
}

// takeLines removes agents from a pmcd.conf that others have changed since.
func takeLines(text []byte, swaps []Swap) []byte {
	for _, s := range swaps {
		words := strings.Fields(s.Is)
		c := parseConf(text)
		have := c.find(func(e entry) bool { return slices.Equal(strings.Fields(string(text[e.start:e.end])), words) })
		if have == nil {
			// It was changed by hand: the agent is still ours by its name and domain, if it
			// replaced no other line, which might have been restored.
			have = c.find(func(e entry) bool {
				return s.Was == "" && e.label == words[0] && strconv.Itoa(int(e.domain)) == words[1]
			})
		}
		if have != nil {
			text = slices.Concat(text[:have.start], []byte(s.Was), text[have.end:])
		}
	}
	return text
}
