package site

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Name is a metric in the name space: a.b.c, and its number as PCP writes it (500:1:2).
type Name struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// item is a name in a block of a name space, with its number if it is a metric.
type item struct {
	name, id   string
	start, end int
}

// block is one level of a name space: "root {" or "a.b {".
type block struct {
	name  string // "" for root
	items []item
	// start is where its name begins, brace its closing brace, end the end after that.
	start, brace, end int
}

// space is a name space: its text and its blocks.
type space struct {
	text   []byte
	blocks map[string]*block
	order  []*block
}

// parseNames reads the text of a name space that needs no preprocessor, as PCP keeps it, or
// whose preprocessor lines do not matter here.
func parseNames(text []byte) (*space, error) {
	s := &space{text: text, blocks: make(map[string]*block)}
	var b *block
	var pending *item // a name whose meaning depends on the next word
	at := 0
	next := func() (word string, start int) {
		for at < len(text) {
			switch c := text[at]; {
			case c == ' ' || c == '\t' || c == '\n' || c == '\r':
				at++
			case c == '#' && (at == 0 || text[at-1] == '\n'):
				at = lineEnd(text, at)
			case bytes.HasPrefix(text[at:], []byte("/*")):
				i := bytes.Index(text[at:], []byte("*/"))
				if i < 0 {
					at = len(text)
					continue
				}
				at += i + 2
			case c == '{' || c == '}':
				at++
				return string(c), at - 1
			default:
				start = at
				for at < len(text) && !strings.ContainsRune(" \t\r\n{}", rune(text[at])) {
					at++
				}
				return string(text[start:at]), start
			}
		}
		return "", at
	}
	var header string
	headerAt := 0
	for {
		word, start := next()
		switch {
		case word == "" && b == nil && header == "":
			return s, nil
		case word == "":
			return nil, fmt.Errorf("it ends within %q", strings.TrimSpace(header))
		case b == nil && word == "{" && header != "":
			name := header
			if name == "root" {
				name = ""
			}
			if s.blocks[name] != nil {
				return nil, fmt.Errorf("%q stands there twice", header)
			}
			b = &block{name: name, start: headerAt}
		case b == nil && (word == "{" || word == "}" || header != ""):
			return nil, fmt.Errorf("%q stands where a name and its brace are expected", word)
		case b == nil:
			header, headerAt = word, start
		case word == "{":
			return nil, fmt.Errorf("a brace stands within %q", header)
		case word == "}":
			b.brace, b.end = start, at
			s.blocks[b.name] = b
			s.order = append(s.order, b)
			b, header, pending = nil, "", nil
		case pending != nil && strings.Contains(word, ":"):
			pending.id, pending.end = word, at
			pending = nil
		default:
			b.items = append(b.items, item{name: word, start: start, end: at})
			pending = &b.items[len(b.items)-1]
		}
	}
}

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// leaves returns the metrics of a name space.
func (s *space) leaves() map[string]string {
	all := make(map[string]string)
	for _, b := range s.order {
		for _, it := range b.items {
			if it.id != "" {
				all[join(b.name, it.name)] = it.id
			}
		}
	}
	return all
}

// has reports whether a block has an item of this name.
func (b *block) has(name string) bool {
	return slices.ContainsFunc(b.items, func(it item) bool { return it.name == name })
}

// addNames adds metrics to a name space, and returns those that it lacked: those that were
// there under the same numbers are still their owner's.
func addNames(text []byte, names []Name, path string) ([]byte, []Name, error) {
	s, err := parseNames(text)
	if err != nil {
		return nil, nil, fmt.Errorf("the name space in %s cannot be read: %w (PCP's Rebuild makes it anew)", path, err)
	}
	if s.blocks[""] == nil {
		return nil, nil, fmt.Errorf("the name space in %s has no root (PCP's Rebuild makes it anew)", path)
	}
	have := s.leaves()
	var ours []Name
	for _, n := range names {
		id, leaf := have[n.Name]
		switch {
		case leaf && id == n.ID:
			continue
		case leaf:
			return nil, nil, &Clash{fmt.Sprintf("the name %s has the number %s in %s, and would get %s", n.Name, id, path, n.ID), "remove the agent whose it is"}
		case s.blocks[n.Name] != nil:
			return nil, nil, &Clash{fmt.Sprintf("the name %s is one of other metrics' parents in %s", n.Name, path), "remove the agent whose they are"}
		}
		for i := range len(n.Name) {
			if n.Name[i] == '.' && have[n.Name[:i]] != "" {
				return nil, nil, &Clash{fmt.Sprintf("%s is a metric in %s (%s), so that %s cannot be one", n.Name[:i], path, have[n.Name[:i]], n.Name), "remove the agent whose it is"}
			}
		}
		ours = append(ours, n)
	}
	tree := treeOf(ours)
	var b bytes.Buffer
	at := 0
	order := slices.Clone(s.order)
	for _, old := range order {
		added := tree.blocks[old.name]
		if added == nil {
			continue
		}
		// Before the line of the closing brace, or before the brace if it is not on its own
		// line.
		cut := old.brace
		for cut > 0 && (text[cut-1] == ' ' || text[cut-1] == '\t') {
			cut--
		}
		b.Write(text[at:cut])
		if cut > 0 && text[cut-1] != '\n' {
			b.WriteByte('\n')
		}
		for _, it := range added.items {
			if it.id == "" && old.has(it.name) {
				continue
			}
			writeItem(&b, it)
		}
		at = cut
	}
	b.Write(text[at:])
	if n := b.Len(); n > 0 && b.Bytes()[n-1] != '\n' {
		b.WriteByte('\n')
	}
	for _, added := range tree.order {
		if s.blocks[added.name] == nil {
			b.WriteByte('\n')
			writeBlock(&b, added)
		}
	}
	return b.Bytes(), ours, nil
}

func writeBlock(b *bytes.Buffer, of *block) {
	name := of.name
	if name == "" {
		name = "root"
	}
	fmt.Fprintf(b, "%s {\n", name)
	for _, it := range of.items {
		writeItem(b, it)
	}
	b.WriteString("}\n")
}

func writeItem(b *bytes.Buffer, it item) {
	b.WriteString("\t" + it.name)
	if it.id != "" {
		b.WriteString("\t" + it.id)
	}
	b.WriteByte('\n')
}

// treeOf makes blocks of names, parents before children, in the order of the names.
func treeOf(names []Name) *space {
	s := &space{blocks: make(map[string]*block)}
	var of func(name string) *block
	of = func(name string) *block {
		if b := s.blocks[name]; b != nil {
			return b
		}
		b := &block{name: name}
		s.blocks[name] = b
		if name != "" {
			parent, last := split(name)
			above := of(parent)
			above.items = append(above.items, item{name: last})
		}
		s.order = append(s.order, b)
		return b
	}
	for _, n := range names {
		parent, last := split(n.Name)
		b := of(parent)
		b.items = append(b.items, item{name: last, id: n.ID})
	}
	return s
}

func split(name string) (parent, last string) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}

// namesText is a whole name space with only these names.
func namesText(names []Name) []byte {
	var b bytes.Buffer
	for i, of := range treeOf(names).order {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeBlock(&b, of)
	}
	return b.Bytes()
}

// takeNames removes metrics from a name space, and the parents that then have no others.
func takeNames(text []byte, names []Name) ([]byte, error) {
	s, err := parseNames(text)
	if err != nil {
		return nil, err
	}
	ours := make(map[string]string, len(names))
	for _, n := range names {
		ours[n.Name] = n.ID
	}
	gone := make(map[string]bool) // blocks
	var cuts [][2]int
	for _, b := range s.order {
		b.items = slices.DeleteFunc(b.items, func(it item) bool {
			if it.id == "" || ours[join(b.name, it.name)] != it.id {
				return false
			}
			cuts = append(cuts, lineOf(text, it.start, it.end))
			gone[b.name] = true
			return true
		})
	}
	// Remove blocks that are empty now, and their names in their parents; children before
	// parents.
	for changed := true; changed; {
		changed = false
		for _, b := range s.order {
			if !gone[b.name] || len(b.items) > 0 || b.name == "" || s.blocks[b.name] == nil {
				continue
			}
			delete(s.blocks, b.name)
			changed = true
			cut := lineOf(text, b.start, b.end)
			if cut[0] > 1 && text[cut[0]-1] == '\n' && text[cut[0]-2] == '\n' {
				cut[0]-- // the blank line before it
			}
			cuts = append(cuts, cut)
			parent, last := split(b.name)
			above := s.blocks[parent]
			if above == nil {
				continue
			}
			above.items = slices.DeleteFunc(above.items, func(it item) bool {
				if it.name != last || it.id != "" {
					return false
				}
				cuts = append(cuts, lineOf(text, it.start, it.end))
				gone[parent] = true
				return true
			})
		}
	}
	return without(text, cuts), nil
}

// lineOf widens a range to whole lines if nothing else is on them.
func lineOf(text []byte, start, end int) [2]int {
	from, to := start, end
	for from > 0 && (text[from-1] == ' ' || text[from-1] == '\t') {
		from--
	}
	for to < len(text) && (text[to] == ' ' || text[to] == '\t' || text[to] == '\r') {
		to++
	}
	if (from == 0 || text[from-1] == '\n') && (to == len(text) || text[to] == '\n') {
		return [2]int{from, min(to+1, len(text))}
	}
	return [2]int{start, end}
}

// without returns text without some ranges, which may contain each other.
func without(text []byte, cuts [][2]int) []byte {
	slices.SortFunc(cuts, func(a, b [2]int) int { return a[0] - b[0] })
	var out []byte
	at := 0
	for _, c := range cuts {
		if c[0] > at {
			out = append(out, text[at:c[0]]...)
		}
		at = max(at, c[1])
	}
	return append(out, text[at:]...)
}
