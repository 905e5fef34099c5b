package sample

import (
	"testing"

	"tachograph/sample/metric"
)

func TestRowCopiesStayAsTheyWere(t *testing.T) {
	var r rowCopies
	a := &metric.Instance{ID: 1, Key: "a", Name: "sh"}
	b := &metric.Instance{ID: 2, Key: "b", Name: "top"}
	read := func(ins ...*metric.Instance) []*metric.Instance {
		rows := append([]*metric.Instance(nil), ins...)
		r.freeze(rows)
		return rows
	}
	first := read(a, b)
	if second := read(b, a); second[0] != first[1] || second[1] != first[0] {
		t.Error("instances that did not change have new copies")
	}
	a.Name, a.Rev = "bash", 1
	third := read(a, b)
	if first[0].Name != "sh" || third[0].Name != "bash" || third[1] != first[1] {
		t.Errorf("after an exec: %+v, %+v", first[0], third[0])
	}
	// The source reuses the memory of b for another process.
	*b = metric.Instance{ID: 3, Key: "c", Name: "vi"}
	fourth := read(b)
	if fourth[0].Key != "c" || third[1].Key != "b" {
		t.Errorf("after reuse: %+v, %+v", third[1], fourth[0])
	}
	for i := range 1000 {
		read(&metric.Instance{ID: uint64(i + 10), Key: "x"})
	}
	if len(r.byOrig) > 100 {
		t.Errorf("%d copies are kept of one instance", len(r.byOrig))
	}
	if rows := read(nil); rows[0] != nil {
		t.Error("a row without instance got one")
	}
}
