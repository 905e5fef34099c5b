package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// table is a table in Markdown.
type table struct {
	b       strings.Builder
	columns int
}

func newTable(columns ...string) *table {
	t := &table{columns: len(columns)}
	t.row(columns...)
	t.row(slices.Repeat([]string{"---"}, len(columns))...)
	return t
}

func (t *table) row(cells ...string) {
	for len(cells) < t.columns {
		cells = append(cells, "")
	}
	t.b.WriteString("|")
	for _, c := range cells {
		if c == "---" {
			t.b.WriteString("---|")
			continue
		}
		if c == "" {
			t.b.WriteString(" |")
			continue
		}
		t.b.WriteString(" " + c + " |")
	}
	t.b.WriteString("\n")
}

func (t *table) String() string { return t.b.String() }

// place matches a table's place in a document.
var place = regexp.MustCompile(`(?s)(<!-- table: ([a-z ]+) -->\n).*?(<!-- end -->)`)

// refresh puts tables into their places in a page; tables that were not made in this run stay.
func refresh(page string, tables map[string]string) string {
	return place.ReplaceAllStringFunc(page, func(old string) string {
		p := place.FindStringSubmatch(old)
		if now, ok := tables[p[2]]; ok {
			return p[1] + now + p[3]
		}
		return old
	})
}

// verdict says whether a figure is as good as it must be.
func verdict(got, must, aim float64) string {
	switch {
	case must == 0:
		return ""
	case got <= aim:
		return "aim"
	case got <= must:
		return "must"
	}
	return "**missed**"
}

// number formats a figure with as many digits as are significant.
func number(v float64) string {
	if math.Abs(v) < 999.5 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func orDash(s string) string { return orWords(s, s != "", "-") }

func orWords(s string, ok bool, otherwise string) string {
	if ok {
		return s
	}
	return otherwise
}

func sorted(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func processors() int { return runtime.NumCPU() }

// median sorts its argument.
func median(v []float64) float64 {
	slices.Sort(v)
	if len(v) == 0 {
		return 0
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// root reports whether measurements that need root are possible.
func root() bool { return os.Getuid() == 0 }
