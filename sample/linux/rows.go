package linux

import (
	"fmt"
	"strings"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// rowsOf returns the recorded metrics of one instance domain whose source in the catalog begins
// with prefix, and the rest of each source. Sources of the form "file key" are read according to
// that text alone, so that adding such a metric takes only a row in the catalog.
func rowsOf(indom, prefix string) (ds []*metric.Desc, rest []string) {
	ds = catalog.SelectFrom(catalog.Linux, prefix, func(d *metric.Desc) bool {
		return d.Indom == indom && d.Unsupported == "" && d.Formula == "" &&
			d.Class != metric.Process && d.Class != metric.Costly
	})
	for _, d := range ds {
		rest = append(rest, strings.TrimPrefix(d.Source, prefix))
	}
	return ds, rest
}

// term is a key of a file that is added to a column or subtracted from it.
type term struct {
	col  int
	sign int64
}

// column computes the value of a metric from the keys of a file.
type column struct {
	needs int
	// A value is multiplied by mul and divided by div to convert it from the file's units to the
	// metric's.
	mul, div int64
}

// sums is a set of columns that are sums of keys.
type sums struct {
	cols  []column
	terms map[string][]term
}

// parseSums parses texts such as "MemFree", "MemTotal - MemFree" or "Zswap / pagesize". The
// section, as in "Tcp: InSegs", is part of the key.
func parseSums(ds []*metric.Desc, rest []string, native metric.Units, pageSize int64) (*sums, error) {
	s := &sums{cols: make([]column, len(ds)), terms: make(map[string][]term)}
	for i, text := range rest {
		c := column{mul: 1, div: 1}
		var pages bool
		if text, pages = strings.CutSuffix(text, " / pagesize"); pages {
			c.mul, c.div = 1024, pageSize
		} else if err := c.convert(native, ds[i].Units); err != nil {
			return nil, fmt.Errorf("linux: %s: %w", ds[i].Name, err)
		}
		sign := int64(1)
		for _, w := range splitTerms(text) {
			switch w {
			case "+":
				sign = 1
			case "-":
				sign = -1
			default:
				s.terms[w] = append(s.terms[w], term{col: i, sign: sign})
				c.needs++
			}
		}
		s.cols[i] = c
	}
	return s, nil
}

// splitTerms splits at " + " and " - " and keeps the signs; keys may contain blanks ("Tcp:
// InSegs") and hyphens.
func splitTerms(text string) []string {
	var out []string
	for {
		i := strings.Index(text, " + ")
		if j := strings.Index(text, " - "); j >= 0 && (i < 0 || j < i) {
			i = j
		}
		if i < 0 {
			return append(out, text)
		}
		out = append(out, text[:i], text[i+1:i+2])
		text = text[i+3:]
	}
}

// convert sets the factor from the file's units to the metric's. Values of a file without units
// are used as they are.
func (c *column) convert(native, want metric.Units) error {
	if native == metric.NoUnits || !native.SameDimension(want) {
		return nil
	}
	f, err := native.Factor(want)
	if err != nil {
		return err
	}
	if f >= 1 {
		c.mul = int64(f)
	} else {
		c.div = int64(1 / f)
	}
	return nil
}
