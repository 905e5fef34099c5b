package stacks

import "strings"

// texts keeps strings, each of them once, as long as there is room. What an archive gives
// out is kept nowhere else: it may be a small part of something large, which would stay as
// long as the part does.
type texts struct {
	known map[string]string
	room  int
}

// perText is about what is needed to keep a string besides its bytes.
const perText = 64

// keep has the strings refer to what is kept; false if there is no room for all of them.
func (t *texts) keep(list ...*string) bool {
	for _, s := range list {
		if *s == "" {
			continue
		}
		kept, known := t.known[*s]
		if !known {
			if t.room < len(*s)+perText {
				return false
			}
			t.room -= len(*s) + perText
			kept = strings.Clone(*s)
			t.known[kept] = kept
		}
		*s = kept
	}
	return true
}
