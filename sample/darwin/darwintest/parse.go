package darwintest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// token is a word of a statement; quoted words are never numbers or keywords.
type token struct {
	text   string
	quoted bool
}

// statement is a line of a scenario with the block that follows it.
type statement struct {
	file  string
	line  int
	words []token
	block []*statement
}

func (s *statement) word(i int) string {
	if i < len(s.words) {
		return s.words[i].text
	}
	return ""
}

func (s *statement) fail(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", s.file, s.line, fmt.Sprintf(format, args...))
}

// parser reads one file.
type parser struct {
	file string
	text string
	line int
}

// parseFile reads a scenario; includes are looked up next to it, then in the
// shipped folder.
func parseFile(path, shipped string) ([]*statement, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p := &parser{file: path, text: string(text), line: 1}
	list, err := p.block(true)
	if err != nil {
		return nil, err
	}
	var all []*statement
	for _, s := range list {
		if s.word(0) != "include" {
			all = append(all, s)
			continue
		}
		name := filepath.Join(filepath.Dir(path), s.word(1))
		if _, err := os.Stat(name); err != nil {
			name = filepath.Join(shipped, s.word(1))
		}
		included, err := parseFile(name, shipped)
		if err != nil {
			return nil, err
		}
		all = append(all, included...)
	}
	return all, nil
}

func (p *parser) block(top bool) ([]*statement, error) {
	var list []*statement
	var cur *statement
	for {
		if p.text == "" {
			if !top {
				return nil, fmt.Errorf("%s:%d: a block is not closed", p.file, p.line)
			}
			return list, nil
		}
		c := p.text[0]
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			p.text = p.text[1:]
		case c == '#':
			if i := strings.IndexByte(p.text, '\n'); i >= 0 {
				p.text = p.text[i:]
			} else {
				p.text = ""
			}
		case strings.HasPrefix(p.text, "\\\n"):
			p.text = p.text[2:]
			p.line++
		case c == '\n' || c == ';':
			if c == '\n' {
				p.line++
			}
			p.text = p.text[1:]
			cur = nil
		case c == '}':
			p.text = p.text[1:]
			if top {
				return nil, fmt.Errorf("%s:%d: a block is closed that was not opened", p.file, p.line)
			}
			return list, nil
		default:
			if cur == nil {
				cur = &statement{file: p.file, line: p.line}
				list = append(list, cur)
			}
			if err := p.item(cur); err != nil {
				return nil, err
			}
			if cur.block != nil {
				cur = nil
			}
		}
	}
}

// item reads a word or a block of the statement s.
func (p *parser) item(s *statement) error {
	switch p.text[0] {
	case '{':
		p.text = p.text[1:]
		block, err := p.block(false)
		if block == nil {
			block = []*statement{}
		}
		s.block = block
		return err
	case '"':
		var b strings.Builder
		for i := 1; i < len(p.text); i++ {
			switch c := p.text[i]; c {
			case '"':
				p.text = p.text[i+1:]
				s.words = append(s.words, token{b.String(), true})
				return nil
			case '\\':
				i++
				if i < len(p.text) {
					b.WriteByte(unescape(p.text[i]))
				}
			case '\n':
				return fmt.Errorf("%s:%d: a string is not closed", p.file, p.line)
			default:
				b.WriteByte(c)
			}
		}
		return fmt.Errorf("%s:%d: a string is not closed", p.file, p.line)
	}
	n := 0
	for n < len(p.text) && !strings.ContainsRune(" \t\r\n;{}\"", rune(p.text[n])) {
		n++
	}
	s.words = append(s.words, token{p.text[:n], false})
	p.text = p.text[n:]
	return nil
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	}
	return c
}
