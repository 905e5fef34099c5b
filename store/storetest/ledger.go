package storetest

import (
	"fmt"
	"testing"

	"tachograph/sample/metric"
)

// A Ledger records the values that went in, cell by cell, in the plainest form.
type Ledger map[string][]string

// Add notes the cells of a tick.
func (l Ledger) Add(t *metric.Tick) {
	for _, b := range t.Blocks {
		for i, in := range b.Rows {
			for c, d := range b.Group.Metrics {
				l.Note(d, in, b.At, b.Cols[c].At(d.Type, i))
			}
			if in != nil {
				l.Name(b.Group.Indom, in.Key, in.Name, in.Labels)
			}
		}
	}
}

// Note notes one cell.
func (l Ledger) Note(d *metric.Desc, in *metric.Instance, at metric.Stamp, v metric.Value) {
	k := d.Name
	if in != nil {
		k += "/" + in.Key
	}
	bits := v.Bits
	if v.Miss != metric.Present || d.Type == metric.String {
		bits = 0
	}
	l[k] = append(l[k], fmt.Sprint(at, " ", bits, " ", v.Str, " ", v.Miss))
}

// Compare fails the test at the first difference to want.
func (l Ledger) Compare(t testing.TB, want Ledger) {
	t.Helper()
	for k, w := range want {
		g := l[k]
		for i := range w {
			if i >= len(g) || g[i] != w[i] {
				t.Fatalf("%s: %d of %d cells, number %d is %q, want %q", k, len(g), len(w), i, append(g, make([]string, i+1)...)[i], w[i])
			}
		}
		if len(g) != len(w) {
			t.Fatalf("%s: %d cells, want %d", k, len(g), len(w))
		}
	}
	if len(l) != len(want) {
		t.Fatalf("%d series, want %d", len(l), len(want))
	}
}

// Name notes the name of an instance.
func (l Ledger) Name(indom, key, name string, labels []metric.Label) {
	k := indom + "/" + key + "/name"
	v := fmt.Sprint(name, labels)
	if n := len(l[k]); n == 0 || l[k][n-1] != v {
		l[k] = append(l[k], v)
	}
}
