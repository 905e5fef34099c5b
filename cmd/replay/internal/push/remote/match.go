package remote

import (
	"fmt"
	"regexp"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/naming"
)

// A matcher is a condition on a label; a missing label has the value "".
type matcher struct {
	name, value string
	not         bool
	pattern     *regexp.Regexp // nil: equal
}

func newMatcher(kind uint64, name, value string) (matcher, error) {
	m := matcher{name: name, value: value, not: kind == 1 || kind == 3}
	if len(value) > mostText || len(name) > mostText {
		return m, fmt.Errorf("a matcher of %d bytes is too long: at most %d", max(len(value), len(name)), mostText)
	}
	switch kind {
	case 0, 1:
	case 2, 3:
		// Go's regular expressions are those of RE2: they take linear time, and limit
		// repetition.
		p, err := regexp.Compile("^(?s:" + value + ")$")
		if err != nil {
			return m, fmt.Errorf("the matcher for %s is no regular expression: %s", visible.Text(name), visible.Text(err.Error()))
		}
		m.pattern = p
	default:
		return m, fmt.Errorf("there is no sort %d of matchers", kind)
	}
	return m, nil
}

func (m *matcher) matches(value string) bool {
	if m.pattern != nil {
		return m.pattern.MatchString(value) != m.not
	}
	return (value == m.value) != m.not
}

// all reports whether all matchers on the label name accept a value.
func all(matchers []matcher, name, value string) bool {
	for i := range matchers {
		if m := &matchers[i]; m.name == name && !m.matches(value) {
			return false
		}
	}
	return true
}

// take reports whether all matchers accept a series with these labels.
func take(matchers []matcher, labels []naming.Label) bool {
	for i := range matchers {
		m := &matchers[i]
		value := ""
		for _, l := range labels {
			if l.Name == m.name {
				value = l.Value
			}
		}
		if !m.matches(value) {
			return false
		}
	}
	return true
}

// names reports whether a matcher requires exactly this name.
func names(matchers []matcher, name string) bool {
	for i := range matchers {
		if m := &matchers[i]; m.name == nameLabel && m.pattern == nil && !m.not && m.value == name {
			return true
		}
	}
	return false
}

const nameLabel = "__name__"
