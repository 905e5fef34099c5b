package config

import (
	"fmt"
	"slices"
	"time"

	"tachograph/sample/metric"
)

// CheckMetrics applies the rule that a metric must not be read more often than its source can
// change to the metrics of this machine.
func (c *Config) CheckMetrics(descs []*metric.Desc) error {
	type breach struct {
		e     *Error
		first string
		count int
		want  time.Duration
		cl    metric.Class
	}
	var found []*breach
	for _, d := range descs {
		cl := c.Class(d)
		interval := c.Interval(cl)
		if d.Unsupported != "" || d.Formula != "" || interval == Off || interval >= d.MinInterval() {
			continue
		}
		e := c.mistake("classes."+cl.String(), "")
		if r := c.rule(d); r != nil {
			i := slices.IndexFunc(c.Rules, func(x Rule) bool { return x.line == r.line })
			e = &Error{File: c.File, Line: r.line, Key: fmt.Sprintf("rule.%d", i)}
		}
		i := slices.IndexFunc(found, func(b *breach) bool { return b.e.Key == e.Key })
		if i < 0 {
			found = append(found, &breach{e: e, first: d.Name, want: d.MinInterval(), cl: cl})
			i = len(found) - 1
		}
		found[i].count++
	}
	var errs list
	for _, b := range found {
		b.e.Msg = fmt.Sprintf("reads %s every %s, but %s", b.first, FormatDuration(c.Interval(b.cl)), nature(b.want))
		if b.count > 1 {
			b.e.Msg += fmt.Sprintf(" (and %d more metrics like it)", b.count-1)
		}
		errs.add(b.e)
	}
	return errs.err()
}

func nature(least time.Duration) string {
	if least == metric.Once {
		return "it is static: it cannot change while the machine runs, and is read once an archive"
	}
	return fmt.Sprintf("its source cannot give anything new more often than every %s", FormatDuration(least))
}

// IdleRules returns an error for each rule that matches none of descs: a misspelling, or a
// metric of another platform.
func (c *Config) IdleRules(descs []*metric.Desc) []error {
	var idle list
	for i, r := range c.Rules {
		matches := slices.ContainsFunc(descs, func(d *metric.Desc) bool {
			return slices.ContainsFunc(r.Match, func(p string) bool { return Match(p, d.Name) })
		})
		if !matches {
			idle.add(&Error{File: c.File, Line: r.line, Key: fmt.Sprintf("rule.%d", i), Msg: "matches no metric of this machine"})
		}
	}
	return idle
}
