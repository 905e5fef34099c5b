package query

import (
	"fmt"
	"iter"
	"strings"

	"tachograph/sample/metric"
)

// Target is the subject of a question: a recorded metric or an expression.
type Target struct {
	Metric *metric.Desc // nil for expressions
	Expr   *Expr        // nil for recorded metrics
}

// Name returns the metric's name or the expression's text.
func (t Target) Name() string {
	if t.Metric != nil {
		return t.Metric.Name
	}
	return t.Expr.Text
}

// Indom returns the domain of its instances.
func (t Target) Indom() string {
	if t.Metric != nil {
		return t.Metric.Indom
	}
	return t.Expr.Indom()
}

// Targets finds the targets that the arguments name: metrics, patterns of metrics, derived
// metrics or expressions.
func Targets(a Archive, defs *Definitions, args []string) ([]Target, error) {
	var out []Target
	seen := make(map[string]bool)
	for _, arg := range args {
		list, err := targets(a, defs, strings.TrimSpace(arg))
		if err != nil {
			return nil, err
		}
		for _, t := range list {
			if !seen[t.Name()] {
				seen[t.Name()] = true
				out = append(out, t)
			}
		}
	}
	return out, nil
}

func targets(a Archive, defs *Definitions, arg string) ([]Target, error) {
	if arg == "" {
		return nil, fmt.Errorf("an empty name names no metric")
	}
	if _, ok := defs.lookup(a, arg); ok {
		e, err := Compile(a, defs, arg)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		return []Target{{Expr: e}}, nil
	}
	found, err := MatchMetrics(a, arg)
	if err != nil {
		return nil, err
	}
	var out []Target
	for _, d := range found {
		if metric.OfStacks(d.Indom) && strings.ContainsAny(arg, "*?/") && !strings.HasPrefix(arg, "stack") {
			continue // A request for everything does not mean each call of each stack.
		}
		if d.Formula == "" {
			out = append(out, Target{Metric: d})
			continue
		}
		// A formula whose operands this archive lacks is no reason to refuse the others that the
		// pattern names.
		if e, err := Compile(a, defs, d.Name); err == nil {
			out = append(out, Target{Expr: e})
		} else if d.Name == arg {
			return nil, err
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	if strings.Trim(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._*?") == "" && !isProduct(arg) {
		if strings.ContainsAny(arg, "*?") {
			return nil, fmt.Errorf("no metric in the archive matches %s%s", arg, Suggest(strings.Trim(arg, "*?."), names(a, defs)))
		}
		return nil, fmt.Errorf("no metric %s in the archive%s", arg, Suggest(arg, names(a, defs)))
	}
	e, err := Compile(a, defs, arg)
	if err != nil {
		return nil, err
	}
	return []Target{{Expr: e}}, nil
}

// isProduct reports whether an argument without spaces looks like a multiplication rather than a
// pattern: a * with a number beside it.
func isProduct(arg string) bool {
	l, r, ok := strings.Cut(arg, "*")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789.") == "" }
	return ok && (digits(l) || digits(r))
}

// ReadTarget answers a request about one target, as shown or as recorded.
func ReadTarget(a Archive, t Target, r Request) iter.Seq2[*Series, error] {
	if t.Metric != nil {
		r.Metrics = []string{t.Metric.Name}
		return Read(a, r)
	}
	e := t.Expr
	if e.Counter() && r.Mode == Shown {
		e = e.Rate()
	}
	return Evaluate(a, e, r)
}
