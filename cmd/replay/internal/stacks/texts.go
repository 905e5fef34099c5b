package stacks

import "strings"

// texts keeps copies of strings, each of them once, as long as there is room. Strings from an
// archive are kept nowhere else: they may be small parts of something large, which would stay in
// memory as long as the part does.
type texts struct {
	known map[string]string
	room  int
}

// perText is about how many bytes a kept string needs besides its own.
const perText = 64

// keep makes the strings refer to the kept copies; false if there is no room for all of them.
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
