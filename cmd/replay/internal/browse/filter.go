package browse

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tachograph/cmd/internal/when"
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// filterForms explains in a few words what a filter is.
const filterForms = "a name, a glob, /regexp/, user=root, cpu>50%, memory>1GB, age<1m; !word for what is not so; all must hold"

// A filter selects processes.
type filter struct {
	text  string
	tests []func(*moment.Process) bool
}

// accepts reports whether the filter selects p. A nil filter selects all.
func (f *filter) accepts(p *moment.Process) bool {
	if f == nil {
		return true
	}
	for _, test := range f.tests {
		if !test(p) {
			return false
		}
	}
	return true
}

// parseFilter parses a filter; nil for an empty one.
func parseFilter(text string) (*filter, error) {
	words, err := filterWords(text)
	if err != nil || len(words) == 0 {
		return nil, err
	}
	f := &filter{text: strings.TrimSpace(text)}
	for _, w := range words {
		bare, not := strings.CutPrefix(w, "!")
		test, err := parseTest(bare)
		if err != nil {
			return nil, err
		}
		if not {
			f.tests = append(f.tests, func(p *moment.Process) bool { return !test(p) })
		} else {
			f.tests = append(f.tests, test)
		}
	}
	return f, nil
}

// patterns returns the arguments of replay ps that select the same processes, none for no
// filter. replay ps selects only by name or pid, and by one of the filter's words: all is false
// if that is just a part of the filter.
func (f *filter) patterns() (list []string, all bool) {
	if f == nil {
		return nil, true
	}
	words, _ := filterWords(f.text)
	all = true
	for _, w := range words {
		field, op, value := splitComparison(w)
		field = strings.ToLower(field)
		equal := op == "=" || op == "==" || op == ":"
		var one []string
		switch _, err := strconv.Atoi(value); {
		case strings.HasPrefix(w, "!"):
		case op != "" && equal && (field == "name" || field == "pid" && err == nil):
			one = []string{value}
		case op != "":
		case w[0] == '/' || strings.ContainsAny(w, "*?"):
			one = []string{w}
		default:
			if one = []string{"*" + w + "*"}; strings.Trim(w, "0123456789") == "" {
				one = append(one, w)
			}
		}
		if one == nil || list != nil || strings.HasPrefix(one[0], "-") {
			all = false
			continue
		}
		list = one
	}
	return list, all
}

// comparisons are the operators, the longer ones first.
var comparisons = []string{">=", "<=", "!=", "==", "=", ":", ">", "<"}

// filterWords splits a filter at blanks, except at those inside a regular expression or around a
// comparison.
func filterWords(text string) ([]string, error) {
	var words []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		lead := ""
		if text[0] == '!' && !strings.HasPrefix(text, "!=") {
			lead, text = "!", strings.TrimSpace(text[1:])
		}
		end := strings.IndexAny(text, " \t")
		if strings.HasPrefix(text, "/") {
			if end = strings.Index(text[1:], "/"); end < 0 {
				return nil, fmt.Errorf("%q: a regular expression ends with a slash", text)
			}
			end += 2
		}
		if end < 0 {
			end = len(text)
		}
		word, rest := text[:end], strings.TrimSpace(text[end:])
		// "cpu > 50" is one word.
		if isComparison(word) && len(words) > 0 && lead == "" || len(words) > 0 && lead == "" && endsOpen(words[len(words)-1]) {
			words[len(words)-1] += word
		} else if op := leading(word); op != "" && len(words) > 0 && lead == "" {
			words[len(words)-1] += word
		} else if word != "" || lead != "" {
			words = append(words, lead+word)
		}
		text = rest
	}
	return words, nil
}

func isComparison(s string) bool { return slices.Contains(comparisons, s) }

// leading returns the comparison that s begins with.
func leading(s string) string {
	for _, op := range comparisons {
		if strings.HasPrefix(s, op) {
			return op
		}
	}
	return ""
}

// endsOpen reports whether a word ends with a comparison without its right side.
func endsOpen(s string) bool {
	return slices.ContainsFunc(comparisons, func(op string) bool { return strings.HasSuffix(s, op) })
}

func parseTest(word string) (func(*moment.Process) bool, error) {
	if word == "" {
		return nil, fmt.Errorf("! stands before a word")
	}
	if field, op, value := splitComparison(word); op != "" {
		return comparison(strings.ToLower(field), op, value)
	}
	if strings.HasPrefix(word, "/") || strings.ContainsAny(word, "*?") {
		pattern, err := query.ParsePattern(word)
		if err != nil {
			return nil, err
		}
		return func(p *moment.Process) bool {
			return pattern.Match(p.Name) || p.Command != "" && pattern.Match(p.Command)
		}, nil
	}
	lower := strings.ToLower(word)
	pid, err := strconv.Atoi(word)
	return func(p *moment.Process) bool {
		return err == nil && p.PID == pid || strings.Contains(strings.ToLower(p.Name), lower) || strings.Contains(strings.ToLower(p.Command), lower)
	}, nil
}

// comparison parses FIELD OP VALUE.
func comparison(field, op, value string) (func(*moment.Process) bool, error) {
	if value == "" || field == "" {
		return nil, fmt.Errorf("%s%s%s: a comparison is written as in cpu>50%%", field, op, value)
	}
	equal := op == "=" || op == "==" || op == ":"
	if text, ok := textFields[field]; ok {
		if !equal && op != "!=" {
			return nil, fmt.Errorf("%s%s%s: %s is compared with = and !=", field, op, value, field)
		}
		pattern, err := query.ParsePattern(value)
		if err != nil {
			return nil, err
		}
		return func(p *moment.Process) bool { return pattern.Match(text(p)) == equal }, nil
	}
	c := columnOf(field)
	if c == nil || !c.Numeric() {
		return nil, fmt.Errorf("%s is no field of a process%s", field, query.Suggest(field, fieldNames()))
	}
	x, err := parseAmount(c, value)
	if err != nil {
		return nil, err
	}
	return func(p *moment.Process) bool {
		v := c.Of(p.Process)
		switch {
		case math.IsNaN(v):
			return false // An unknown value satisfies no comparison.
		case equal:
			return v == x
		}
		switch op {
		case "!=":
			return v != x
		case ">":
			return v > x
		case ">=":
			return v >= x
		case "<":
			return v < x
		}
		return v <= x
	}, nil
}

// textFields are the fields that are not numbers.
var textFields = map[string]func(*moment.Process) string{
	"name":    func(p *moment.Process) string { return p.Name },
	"user":    func(p *moment.Process) string { return p.User },
	"state":   func(p *moment.Process) string { return p.State },
	"command": func(p *moment.Process) string { return p.Command },

	metric.OwnerApp: owns(metric.OwnerApp), metric.OwnerService: owns(metric.OwnerService), metric.OwnerContainer: owns(metric.OwnerContainer),
	metric.OwnerPod: owns(metric.OwnerPod), metric.OwnerSession: owns(metric.OwnerSession),
}

// owns returns a field with the owner of a kind.
func owns(kind string) func(*moment.Process) string {
	return func(p *moment.Process) string { return p.Instance.Label(kind) }
}

// fieldNames returns the names of all fields that can be compared.
func fieldNames() []string {
	return slices.Concat(answer.OnScreen, metric.OwnerKinds)
}

// amounts are the units that may follow a number.
var amounts = map[string]float64{
	"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30, "t": 1 << 40, "tb": 1 << 40,
}

// parseAmount parses a value to compare a column with, in the units of the column.
func parseAmount(c *column, s string) (float64, error) {
	s = strings.TrimSuffix(strings.TrimSuffix(s, "/s"), "/S")
	bad := fmt.Errorf("%s: %q is not a value of it (write %s)", c.Key, s, c.Pane.Example)
	if c.Key == "age" {
		d, err := when.Duration(s)
		if err != nil {
			return 0, bad
		}
		return float64(d) / float64(time.Second), nil
	}
	end := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' && r != '+' })
	if end < 0 {
		end = len(s)
	}
	x, err := strconv.ParseFloat(s[:end], 64)
	if err != nil {
		return 0, bad
	}
	unit := strings.ToLower(strings.TrimSpace(s[end:]))
	if c.Key == "cpu" {
		if unit != "%" && unit != "" {
			return 0, bad
		}
		return x / 100, nil
	}
	factor, ok := amounts[unit]
	if !ok || factor != 1 && !c.Unit.Sizes {
		return 0, bad
	}
	return float64(x * factor), nil
}
