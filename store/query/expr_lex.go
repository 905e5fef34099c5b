package query

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"tachograph/sample/metric"
)

// ExprError is a mistake in an expression and its column, counted from 1.
type ExprError struct {
	Text   string
	Column int
	Msg    string
}

func (e *ExprError) Error() string {
	col := min(max(e.Column, 1), len(e.Text)+1)
	return fmt.Sprintf("column %d: %s\n  %s\n  %s^", col, e.Msg, e.Text,
		strings.Repeat(" ", utf8.RuneCountInString(e.Text[:col-1])))
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenNumber
	tokenInstance // the text between brackets
	tokenOp
)

type token struct {
	kind  tokenKind
	text  string
	col   int // from 1
	value float64
	units metric.Units
	bare  bool // a number without a unit
}

type lexer struct {
	text string
	pos  int
}

func (l *lexer) fail(col int, format string, args ...any) error {
	return &ExprError{Text: l.text, Column: col, Msg: fmt.Sprintf(format, args...)}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// next reads one token.
func (l *lexer) next() (token, error) {
	for l.pos < len(l.text) && strings.IndexByte(" \t\n", l.text[l.pos]) >= 0 {
		l.pos++
	}
	start := l.pos
	t := token{col: start + 1}
	if start == len(l.text) {
		return t, nil
	}
	c := l.text[start]
	switch {
	case isLetter(c):
		for l.pos < len(l.text) && (isLetter(l.text[l.pos]) || isDigit(l.text[l.pos]) || l.text[l.pos] == '.') {
			l.pos++
		}
		t.kind, t.text = tokenName, l.text[start:l.pos]
		return t, nil
	case isDigit(c) || c == '.' && start+1 < len(l.text) && isDigit(l.text[start+1]):
		return l.number(t)
	case c == '[':
		end := strings.IndexByte(l.text[start:], ']')
		if end < 0 {
			return t, l.fail(t.col, "[ without ]")
		}
		l.pos = start + end + 1
		t.kind, t.text = tokenInstance, strings.Trim(strings.TrimSpace(l.text[start+1:start+end]), `"'`)
		if t.text == "" {
			return t, l.fail(t.col, "no instance between [ and ]")
		}
		return t, nil
	}
	for _, op := range []string{">=", "<=", "==", "!=", "&&", "||"} {
		if strings.HasPrefix(l.text[start:], op) {
			l.pos += 2
			t.kind, t.text = tokenOp, op
			return t, nil
		}
	}
	if strings.IndexByte("+-*/()<>,", c) >= 0 {
		l.pos++
		t.kind, t.text = tokenOp, string(c)
		return t, nil
	}
	r, _ := utf8.DecodeRuneInString(l.text[start:])
	return t, l.fail(t.col, "unexpected %q", r)
}

// unitAhead skips the blank between a number and its unit, if a unit follows.
func (l *lexer) unitAhead() {
	p := l.pos
	for p < len(l.text) && l.text[p] == ' ' {
		p++
	}
	end := p
	for end < len(l.text) && isLetter(l.text[end]) {
		end++
	}
	if _, err := metric.ParseUnits(l.text[p:end]); end > p && err == nil || p < len(l.text) && l.text[p] == '%' {
		l.pos = p
	}
}

// number reads 12, 0.5, 1e6, 80%, 10MB, 30ms or 2GB/s.
func (l *lexer) number(t token) (token, error) {
	start := l.pos
	digits := func() {
		for l.pos < len(l.text) && isDigit(l.text[l.pos]) {
			l.pos++
		}
	}
	digits()
	if l.pos < len(l.text) && l.text[l.pos] == '.' {
		l.pos++
		digits()
	}
	if l.pos+1 < len(l.text) && l.text[l.pos]|0x20 == 'e' {
		p := l.pos + 1
		if l.text[p] == '+' || l.text[p] == '-' {
			p++
		}
		if p < len(l.text) && isDigit(l.text[p]) {
			l.pos = p
			digits()
		}
	}
	x, err := strconv.ParseFloat(l.text[start:l.pos], 64)
	if err != nil {
		return t, l.fail(t.col, "%q is not a number", l.text[start:l.pos])
	}
	t.kind, t.value, t.bare = tokenNumber, x, true
	l.unitAhead()
	unitAt := l.pos
	if l.pos < len(l.text) && l.text[l.pos] == '%' {
		l.pos++
		t.units, t.bare = metric.Percent, false
	} else if l.pos < len(l.text) && isLetter(l.text[l.pos]) {
		word := func() {
			for l.pos < len(l.text) && isLetter(l.text[l.pos]) {
				l.pos++
			}
		}
		word()
		if rest := l.text[l.pos:]; len(rest) > 1 && rest[0] == '/' {
			slash := l.pos
			l.pos++
			word()
			if u, err := metric.ParseUnits(l.text[slash+1 : l.pos]); err != nil || u.Time != 1 {
				l.pos = slash
			}
		}
		u, err := metric.ParseUnits(l.text[unitAt:l.pos])
		if err != nil {
			return t, l.fail(unitAt+1, "unknown unit %q", l.text[unitAt:l.pos])
		}
		t.units, t.bare = u, false
	}
	t.text = l.text[start:l.pos]
	return t, nil
}
