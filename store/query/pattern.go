package query

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Pattern matches names: a glob, where * matches any text and ? any character, or a regular
// expression between slashes.
type Pattern struct {
	re   *regexp.Regexp
	name string // set when the pattern can only be this name
	part string // text that is part of every match of a glob
}

// ParsePattern parses a pattern.
func ParsePattern(s string) (*Pattern, error) {
	p := &Pattern{}
	if len(s) > 1 && s[0] == '/' && s[len(s)-1] == '/' {
		re, err := regexp.Compile("(?i)" + s[1:len(s)-1])
		if err != nil {
			return nil, fmt.Errorf("%s is not a regular expression: %w", s, err)
		}
		p.re = re
		return p, nil
	}
	if !strings.ContainsAny(s, "*?") {
		p.name = s
		return p, nil
	}
	for _, part := range strings.FieldsFunc(s, wild) {
		if len(part) > len(p.part) {
			p.part = part
		}
	}
	var b strings.Builder
	b.WriteString("^")
	for _, r := range s {
		switch r {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	b.WriteString("$")
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, fmt.Errorf("%s is not a pattern: %w", s, err)
	}
	p.re = re
	return p, nil
}

// Match reports whether p matches s.
func (p *Pattern) Match(s string) bool {
	if p.re == nil {
		return s == p.name
	}
	return strings.Contains(s, p.part) && p.re.MatchString(s)
}

// wild reports whether a rune of a glob matches other characters: a wildcard, or a byte that is
// not valid text, as regular expressions do not distinguish those.
func wild(r rune) bool { return r == '*' || r == '?' || r == utf8.RuneError }

// MatchMetrics finds the recorded metrics that a pattern names: itself, those below it
// ("kernel.all" names kernel.all.load), or those that a glob matches.
func MatchMetrics(a Archive, pattern string) ([]*metric.Desc, error) {
	if d := a.Lookup(pattern); d != nil {
		return []*metric.Desc{d}, nil
	}
	p, err := ParsePattern(pattern)
	if err != nil {
		return nil, err
	}
	var out []*metric.Desc
	below := strings.TrimSuffix(pattern, ".") + "."
	for _, d := range a.Metrics() {
		if p.Match(d.Name) || p.re == nil && strings.HasPrefix(d.Name, below) {
			out = append(out, d)
		}
	}
	return out, nil
}

// InstanceFilter returns a filter for instances whose name or key matches any of the patterns, or
// for processes and stacks whose name without its number does, or that belong to an owner that a
// pattern such as app=Safari means, and what such instances have in common. Both are nil when
// there are no patterns.
func InstanceFilter(patterns []string) (func(indom string, in *metric.Instance) bool, *store.Sought, error) {
	if len(patterns) == 0 {
		return nil, nil, nil
	}
	var ps []*Pattern
	var owners []*ownerPattern
	for _, s := range patterns {
		o, err := parseOwner(s)
		if err != nil {
			return nil, nil, err
		}
		if o != nil {
			owners = append(owners, o)
			continue
		}
		p, err := ParsePattern(s)
		if err != nil {
			return nil, nil, err
		}
		ps = append(ps, p)
	}
	sought := soughtBy(ps...)
	for _, o := range owners {
		sought.Labels = append(sought.Labels, o.labels()...)
	}
	return func(indom string, in *metric.Instance) bool {
		for _, p := range ps {
			if p.Match(in.Name) || p.Match(in.Key) {
				return true
			}
			if (indom == "process" || indom == "stack") && p.Match(ProcessName(in)) {
				return true
			}
		}
		return slices.ContainsFunc(owners, func(o *ownerPattern) bool { return o.owns(in, false) })
	}, sought, nil
}

// Nearest returns up to n of the names that are spelled most like s, or that people mean by it,
// best first; none when nothing is near.
func Nearest(s string, names []string, n int) []string {
	type near struct {
		name string
		d    int
	}
	s = strings.ToLower(s)
	limit := max(2, len(s)/3)
	var found []near
	for _, name := range names {
		low := strings.ToLower(name)
		d := distance(s, low, limit)
		if d > limit && len(s) >= 3 {
			// A part of a name is how people remember them.
			if i := strings.Index(low, s); i >= 0 {
				d = limit
			} else if last := low[strings.LastIndexByte(low, '.')+1:]; distance(s, last, 1) <= 1 {
				d = limit
			}
		}
		if d <= limit {
			found = append(found, near{name, d})
		}
	}
	slices.SortStableFunc(found, func(x, y near) int {
		return cmp.Or(cmp.Compare(x.d, y.d), cmp.Compare(len(x.name), len(y.name)), cmp.Compare(x.name, y.name))
	})
	out := meant(s, names)
	for _, f := range found {
		if !slices.Contains(out, f.name) { // Processes share names.
			out = append(out, f.name)
		}
		if len(out) >= n {
			break
		}
	}
	return out[:min(n, len(out))]
}

// meant returns the names that people mean by the name of a gauge, its metrics: with "cpu" they
// mean how busy the processors are, not how large their cache is.
func meant(word string, names []string) []string {
	var out []string
	for i := range gauges {
		g := &gauges[i]
		if g.name != word && !strings.HasPrefix(g.name, word+".") && (len(word) < 4 || distance(word, g.name, 1) > 1) {
			continue
		}
		for _, text := range g.exprs {
			root, err := parse(text)
			if err != nil {
				continue
			}
			root.leaves(func(leaf *node) {
				if slices.Contains(names, leaf.text) && !slices.Contains(out, leaf.text) {
					out = append(out, leaf.text)
				}
			})
		}
	}
	return out
}

// distance returns the number of edits (insert, delete, replace, swap neighbours) between a and
// b, or more than limit when it exceeds it.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var rows [3][]int
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, prev, cur := rows[(i-1)%3], rows[i%3], rows[(i+1)%3]
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
	}
	return rows[(len(a)+1)%3][len(b)]
}

// Suggest returns the end of a sentence about a name that does not exist.
func Suggest(s string, names []string) string {
	near := Nearest(s, names, 3)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, ", ") + "?"
}
