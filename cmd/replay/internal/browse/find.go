package browse

import (
	"fmt"
	"slices"
	"strings"

	"tachograph/sample/catalog"
)

// conditionOf translates a filter for processes into a condition on recorded values, to search
// for moments when it holds.
func conditionOf(text, platform string) (string, error) {
	words, err := filterWords(text)
	if err != nil {
		return "", err
	}
	if len(words) == 0 {
		return "", fmt.Errorf("nothing to look for")
	}
	name := ""
	var tests []string
	for _, w := range words {
		field, op, value := splitComparison(w)
		switch {
		case strings.HasPrefix(w, "!"):
			return "", fmt.Errorf("%s: a moment is looked for by what is so", w)
		case op == "" || field == "name" && slices.Contains([]string{"=", "==", ":"}, op):
			if name != "" {
				return "", fmt.Errorf("%s: a moment is looked for by one name", w)
			}
			if name = w; op != "" {
				name = value
			} else if w[0] != '/' && !strings.ContainsAny(w, "*?") {
				name = "*" + w + "*"
			}
			if strings.ContainsAny(name, "[]") {
				return "", fmt.Errorf("%s: a name that is looked for has no brackets", w)
			}
		default:
			tests = append(tests, w)
		}
	}
	memory, faults := "proc.memory.rss", "proc.psinfo.minflt"
	if platform == catalog.Darwin.Name() {
		memory, faults = "proc.memory.footprint", "proc.psinfo.faults"
	}
	of := func(metric string) string {
		if name == "" {
			return metric
		}
		return metric + "[" + name + "]"
	}
	exprs := map[string]string{
		"cpu":     "rate(" + of("proc.psinfo.utime") + ") + rate(" + of("proc.psinfo.stime") + ")",
		"memory":  of(memory),
		"read":    "rate(" + of("proc.io.read_bytes") + ")",
		"write":   "rate(" + of("proc.io.write_bytes") + ")",
		"threads": of("proc.psinfo.threads"),
		"faults":  "rate(" + of(faults) + ")",
	}
	units := map[string]string{"memory": "B", "read": "B/s", "write": "B/s"}
	var parts []string
	for _, w := range tests {
		field, op, value := splitComparison(w)
		expr := exprs[strings.ToLower(field)]
		if expr == "" {
			return "", fmt.Errorf("%s: a moment is looked for by a name, cpu, memory, read, write, threads and faults, or with a condition such as kernel.all.load > 8", w)
		}
		x, err := parseAmount(columnOf(strings.ToLower(field)), value)
		if err != nil {
			return "", err
		}
		if op == "=" || op == ":" {
			op = "=="
		}
		parts = append(parts, fmt.Sprintf("%s %s %g%s", expr, op, x, units[strings.ToLower(field)]))
	}
	if len(parts) == 0 {
		parts = []string{exprs["memory"] + " >= 0B"}
	}
	return strings.Join(parts, " && "), nil
}

// splitComparison splits FIELD OP VALUE; op is empty if the word is no comparison.
func splitComparison(word string) (field, op, value string) {
	if word == "" || word[0] == '/' {
		return word, "", ""
	}
	for i := range word {
		if op := leading(word[i:]); op != "" {
			return word[:i], op, word[i+len(op):]
		}
	}
	return word, "", ""
}
