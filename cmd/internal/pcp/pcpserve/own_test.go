package pcpserve

import (
	"context"
	"testing"

	"tachograph/sample/metric"
)

// What is said in pmcd's place is beside what there is, and asks for nothing of that.
func TestOwn(t *testing.T) {
	m := newMachine()
	own := Own("mac", "Europe/Berlin", 1795400000e9, "1.2")
	o := WithOwn(m, own)
	if c := o.Catalog(); len(c.Descs) != len(m.Catalog().Descs)+4 || c != o.Catalog() {
		t.Errorf("a catalogue of %d, and another one each time", len(c.Descs))
	}
	if all := []string{own.Cols[0].Word(0), own.Cols[1].Word(0), own.Cols[2].Word(0), own.Cols[3].Word(0)}; all[0] != "CET-1" || all[1] != "Tachograph 1.2" || all[2] != "mac" || all[3] != ":Europe/Berlin" {
		t.Errorf("%q", all)
	}
	theirs := m.Catalog().Descs[0]
	for _, want := range [][]*metric.Desc{{own.Group.Metrics[2]}, {own.Group.Metrics[0], theirs}, {theirs}} {
		v, err := o.Fetch(context.Background(), want)
		if err != nil {
			t.Fatal(err)
		}
		ours := 0
		for _, b := range v.Blocks {
			if b == own {
				ours++
			}
		}
		below, err := m.Fetch(context.Background(), []*metric.Desc{theirs})
		if err != nil {
			t.Fatal(err)
		}
		blocks := len(below.Blocks)
		if want[len(want)-1] != theirs {
			blocks = 0
		}
		if asked := want[0] != theirs; asked != (ours == 1) || len(v.Blocks) != blocks+ours {
			t.Errorf("%s: %d blocks, %d of them ours", want[0].Name, len(v.Blocks), ours)
		}
	}
}
