// Package selection finds the metrics and instances that a request selects by name, prefix,
// glob or category. All services interpret a Selection through this package.
//
// An invalid item gives an error for that item, and the others are answered. A selection
// that no server could answer is refused as a whole. A metric that this host lacks is
// selected when the request names it, with the reason for its absence.
package selection

import (
	"slices"
	"strings"
	"unicode/utf8"

	"connectrpc.com/connect"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/serve/status"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/query"
)

// The most that a selection may have; more is refused.
const (
	MostItems = 2000 // names and categories
	MostGlobs = 100  // for names, and for instances
	longest   = 400  // bytes of a single one
)

// A Catalogue is what can be selected: the metrics of the recording, and known metrics that are
// absent from it. It does not change.
type Catalogue struct {
	metrics    []*metric.Desc // by name
	byName     map[string]*metric.Desc
	categories map[string][]*metric.Desc
	names      []string // of metrics and categories, for suggestions
}

// New returns the catalogue of a host: info is the archive that it recorded last, metrics those
// that the archive describes. A nil info means that there is no archive yet.
func New(info *archive.Info, metrics []*metric.Desc) *Catalogue {
	c := &Catalogue{byName: make(map[string]*metric.Desc), categories: make(map[string][]*metric.Desc)}
	for _, d := range metrics {
		if d.Unsupported == "" && d.Formula == "" && info.Intervals[d.Class] == 0 {
			lacking := *d
			lacking.Unsupported = "metrics of class " + d.Class.String() + " are not recorded as the recorder is configured"
			d = &lacking
		}
		c.byName[d.Name] = d
	}
	own, other, reason := catalog.Linux, catalog.Darwin, "exists on macOS only"
	if info != nil && info.Host.Platform == catalog.Darwin.Name() {
		own, other, reason = catalog.Darwin, catalog.Linux, "exists on Linux only"
	}
	missing := "is not in this recording"
	if info == nil {
		missing, reason = "nothing has been recorded yet", "nothing has been recorded yet"
	}
	c.lack(own, missing)
	c.lack(other, reason)
	for _, name := range catalog.TelemetryCategories() {
		c.categories[name] = nil
	}
	for _, d := range c.byName {
		c.metrics = append(c.metrics, d)
	}
	slices.SortFunc(c.metrics, func(a, b *metric.Desc) int { return strings.Compare(a.Name, b.Name) })
	for _, d := range c.metrics {
		category := catalog.Category(d.Name)
		c.categories[category] = append(c.categories[category], d)
		c.names = append(c.names, d.Name)
	}
	for name := range c.categories {
		c.names = append(c.names, name)
	}
	slices.Sort(c.names)
	c.names = slices.Compact(c.names)
	return c
}

// lack adds the metrics that a platform has and the recording does not.
func (c *Catalogue) lack(p catalog.Platform, reason string) {
	for _, d := range catalog.For(p) {
		if c.byName[d.Name] == nil {
			if d.Unsupported == "" {
				d.Unsupported = reason
			}
			c.byName[d.Name] = d
		}
	}
}

// Lookup returns the metric called name, or nil.
func (c *Catalogue) Lookup(name string) *metric.Desc { return c.byName[name] }

// Categories returns all categories with their metrics. The caller must not change them.
func (c *Catalogue) Categories() map[string][]*metric.Desc { return c.categories }

// A Chosen is the result of a selection.
type Chosen struct {
	// Metrics are the metrics, each once, by name. A metric with Unsupported is absent for that
	// reason.
	Metrics []*metric.Desc
	// Instance accepts instances of a domain; nil accepts all.
	Instance func(indom string, in *metric.Instance) bool
	// Errors are the errors of single items.
	Errors []*tachographv1.ItemError
}

// Choose returns what a selection selects; an empty one selects everything that is present.
// Without absent, it leaves out metrics that the host lacks, unless the selection names them or
// their category.
func (c *Catalogue) Choose(sel *tachographv1.Selection, absent bool) (*Chosen, error) {
	if err := check(sel); err != nil {
		return nil, err
	}
	chosen := new(Chosen)
	var err error
	if chosen.Instance, _, err = query.InstanceFilter(sel.GetInstances()); err != nil {
		return nil, status.Invalid("selection.instances", "%v", err)
	}
	took := make(map[*metric.Desc]bool)
	all := len(sel.GetMetrics()) == 0 && len(sel.GetCategories()) == 0
	if all {
		for _, d := range c.metrics {
			if absent || d.Unsupported == "" {
				took[d] = true
			}
		}
	}
	for _, name := range sel.GetMetrics() {
		if e := c.choose(took, name, absent); e != nil {
			c.note(chosen, name, e)
		}
	}
	for _, name := range sel.GetCategories() {
		list, ok := c.categories[name]
		if !ok {
			c.note(chosen, name, nothing("category", name))
		}
		for _, d := range list {
			took[d] = true
		}
	}
	for _, d := range c.metrics {
		if took[d] {
			chosen.Metrics = append(chosen.Metrics, d)
		}
	}
	return chosen, nil
}

// choose adds the metrics for a name, the beginning of one, or a glob.
func (c *Catalogue) choose(took map[*metric.Desc]bool, name string, absent bool) *tachographv1.ItemError {
	if d := c.byName[name]; d != nil {
		took[d] = true
		return nil
	}
	p, err := query.ParsePattern(name)
	if err != nil {
		return &tachographv1.ItemError{Code: int32(connect.CodeInvalidArgument), Message: visible.Text(err.Error())}
	}
	below := ""
	if !strings.ContainsAny(name, "*?/") {
		below = strings.TrimSuffix(name, ".") + "."
	}
	found, lacking := 0, ""
	for _, d := range c.metrics {
		if below == "" && !p.Match(d.Name) || below != "" && !strings.HasPrefix(d.Name, below) {
			continue
		}
		if !absent && d.Unsupported != "" {
			lacking = d.Name + " " + d.Unsupported
			continue
		}
		took[d] = true
		found++
	}
	switch {
	case found > 0:
		return nil
	case lacking != "":
		return &tachographv1.ItemError{Code: int32(connect.CodeNotFound), Message: visible.Text("nothing of " + name + " is here: " + lacking)}
	}
	e := nothing("metric", name)
	if _, ok := c.categories[name]; ok {
		e.Message += ": it is a category, and is to be asked for as one"
	}
	return e
}

// nothing returns the error for an item that does not exist.
func nothing(what, name string) *tachographv1.ItemError {
	return &tachographv1.ItemError{Code: int32(connect.CodeNotFound), Message: visible.Text("there is no " + what + " " + name)}
}

// How many unknown items get an error each, and how many of these errors suggest a similar name,
// which requires a comparison with all names.
const (
	mostErrors      = 200
	mostSuggestions = 20
)

func (c *Catalogue) note(ch *Chosen, item string, e *tachographv1.ItemError) {
	switch n := len(ch.Errors); {
	case n > mostErrors:
		return
	case n == mostErrors:
		e = &tachographv1.ItemError{Code: int32(connect.CodeResourceExhausted), Message: "there are more items that are nothing: these are the first 200"}
	case n < mostSuggestions && e.Code == int32(connect.CodeNotFound) && !strings.Contains(e.Message, ": "):
		e.Message += query.Suggest(strings.Trim(item, "*?."), c.names)
	}
	e.Item = item
	ch.Errors = append(ch.Errors, e)
}

// check refuses a selection that is too large, or is not text.
func check(sel *tachographv1.Selection) error {
	if n := len(sel.GetMetrics()) + len(sel.GetCategories()); n > MostItems {
		return status.Invalid("selection", "%d names and categories are more than the %d that one request may have: use globs, or several requests", n, MostItems)
	}
	if n := len(sel.GetInstances()); n > MostGlobs {
		return status.Invalid("selection.instances", "%d globs are more than the %d that one request may have", n, MostGlobs)
	}
	globs := 0
	for _, w := range sel.GetMetrics() {
		if strings.ContainsAny(w, "*?/") {
			globs++
		}
	}
	if globs > MostGlobs {
		return status.Invalid("selection.metrics", "%d globs are more than the %d that one request may have: give names, or the beginnings of names", globs, MostGlobs)
	}
	for _, list := range []struct {
		field string
		words []string
	}{{"selection.metrics", sel.GetMetrics()}, {"selection.categories", sel.GetCategories()}, {"selection.instances", sel.GetInstances()}} {
		for _, w := range list.words {
			switch {
			case w == "":
				return status.Invalid(list.field, "an empty word names nothing: leave it out, which means all, or write *")
			case len(w) > longest:
				return status.Invalid(list.field, "a word of %d bytes is longer than any name (%d)", len(w), longest)
			case !utf8.ValidString(w):
				return status.Invalid(list.field, "%q is not UTF-8", w)
			}
		}
	}
	return nil
}
