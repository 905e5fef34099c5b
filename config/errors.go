package config

import (
	"errors"
	"fmt"
	"strings"
)

// Error is one mistake in a configuration file.
type Error struct {
	File string
	Line int    // 0 if the mistake has no line
	Key  string // path of the key, empty if the mistake is not in one key
	Msg  string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.File != "" {
		b.WriteString(": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + " ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// list collects mistakes so that all of them can be corrected at once.
type list []error

func (l *list) add(e *Error) { *l = append(*l, e) }

func (l list) err() error { return errors.Join(l...) }
