package sample

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"tachograph/sample/metric"
)

// If a frame is used for other metrics of its group, it has their columns, and still knows
// the previous rows.
func TestChoose(t *testing.T) {
	full := &metric.Group{Name: "disk", Indom: "disk", Metrics: []*metric.Desc{
		{Name: "a", Type: metric.U64}, {Name: "b", Type: metric.String}, {Name: "c", Type: metric.U32},
		{Name: "none", Type: metric.U32, Unsupported: "there is none"},
	}}
	only := func(cols ...int) *Choice {
		return NewChoice(full, func(col int) bool {
			for _, c := range cols {
				if c == col {
					return true
				}
			}
			return false
		})
	}
	if only(3) != nil || only() != nil {
		t.Error("nothing that can be read is a choice")
	}
	sda := &metric.Instance{Key: "sda", Name: "sda"}
	first := only(2)
	f := FrameFor(full, first)
	fill := func() *metric.Block {
		f.Reset(metric.Stamp{Cont: 1})
		row := f.Row(sda)
		f.SetUint(row, 0, 10)
		f.SetString(row, 1, "eleven")
		f.SetUint(row, 2, 12)
		f.Freeze()
		return f.Take()
	}
	if b := fill(); len(b.Cols) != 1 || b.Cols[0].Bits[0] != 12 || f.Wants(0, 1) {
		t.Errorf("of the first choice: %+v", b)
	}
	all := only(0, 1, 2, 3)
	f.Choose(all)
	b := fill()
	if len(b.Cols) != 3 || b.Cols[0].Bits[0] != 10 || b.Cols[1].Word(0) != "eleven" || b.Cols[2].Bits[0] != 12 {
		t.Errorf("of all: %+v", b)
	}
	if all.Column(1) != 1 || all.Column(3) != -1 || all.Len() != 4 || b.Group != all.Group() {
		t.Errorf("the choice of all: %+v", all)
	}
	f.Choose(only(1))
	if b := fill(); len(b.Cols) != 1 || b.Cols[0].Word(0) != "eleven" {
		t.Errorf("of the text: %+v", b)
	}
	f.Choose(first)
	if b := fill(); len(b.Cols) != 1 || b.Cols[0].Bits[0] != 12 || b.Rows[0].Key != "sda" {
		t.Errorf("of the first choice again: %+v", b)
	}
	if len(b.Cols) != 3 || b.Cols[0].Bits[0] != 10 || b.Cols[1].Word(0) != "eleven" {
		t.Errorf("what was taken has changed: %+v", b)
	}
	f.Miss(metric.Stamp{Cont: 2}, metric.Permission)
	if b := f.Block(); len(b.Rows) != 1 || b.Cols[0].Miss[0] != metric.Permission || b.At.Cont != 2 {
		t.Errorf("when it failed: %+v", b)
	}
}

// source is a source whose Read is a function of the test.
type source struct{ read func() error }

func (s source) Name() string                  { return "source" }
func (s source) Groups() []*metric.Group       { return nil }
func (s source) Refresh() error                { return nil }
func (s source) Close() error                  { return nil }
func (s source) Read(*Context, []*Frame) error { return s.read() }

func TestReadingThatFails(t *testing.T) {
	why := func(read func() error) string {
		return ReasonOf(Read(source{read}, nil, nil)).String()
	}
	for want, read := range map[string]func() error{
		"permission denied":               func() error { return &fs.PathError{Op: "open", Path: "/dev/mem", Err: fs.ErrPermission} },
		"unsupported":                     func() error { return fs.ErrNotExist },
		"the disk is on fire":             func() error { return errors.New("the disk is on fire") },
		"mistake in the program: no such": func() error { panic("no such") },
	} {
		if got := why(read); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if err := Read(source{func() error { return nil }}, nil, nil); err != nil {
		t.Error(err)
	}
}

// Rows that are repeated, filled anew, gone and new in any order are as if all were filled anew.
func TestAgain(t *testing.T) {
	full := &metric.Group{Name: "disk", Indom: "disk", Metrics: []*metric.Desc{
		{Name: "a", Type: metric.U64}, {Name: "b", Type: metric.String}, {Name: "c", Type: metric.String}, {Name: "d", Type: metric.U32},
	}}
	type thing struct {
		in    *metric.Instance
		cells [4]int // 0: none
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	f := NewFrame(full, func(d *metric.Desc) bool { return d.Name != "d" })
	var things []*thing
	next, repeated := 0, 0
	for range 2000 {
		things = slices.DeleteFunc(things, func(*thing) bool { return rnd.IntN(12) == 0 })
		for range rnd.IntN(4) {
			next++
			at := rnd.IntN(len(things) + 1)
			things = slices.Insert(things, at, &thing{in: &metric.Instance{ID: uint64(next), Key: strconv.Itoa(next)}})
		}
		f.Reset(metric.Stamp{Cont: 1})
		for _, th := range things {
			if rnd.IntN(4) > 0 && th.cells[3] != 0 && f.Again(th.in) {
				repeated++
				continue
			}
			row := f.Row(th.in)
			for col := range 3 {
				if th.cells[col] = rnd.IntN(5); th.cells[col] == 0 {
					f.SetMissing(row, col, metric.Permission)
				} else if col == 0 {
					f.SetUint(row, col, uint64(th.cells[col]))
				} else {
					f.SetString(row, col, strconv.Itoa(th.cells[col]))
				}
			}
			th.cells[3] = 1 // it has been filled
		}
		f.Freeze()
		b := f.Block()
		for i, th := range things {
			if b.Rows[i].Key != th.in.Key {
				t.Fatalf("row %d is %s, not %s", i, b.Rows[i].Key, th.in.Key)
			}
			for col := range 3 {
				c := &b.Cols[col]
				switch got := c.Miss[i]; {
				case (got == metric.Present) != (th.cells[col] != 0):
					t.Fatalf("cell %d of row %d: %v", col, i, got)
				case got != metric.Present:
				case col == 0 && c.Bits[i] != uint64(th.cells[col]), col > 0 && c.Word(i) != strconv.Itoa(th.cells[col]):
					t.Fatalf("cell %d of row %d is not %d", col, i, th.cells[col])
				}
			}
		}
		switch rnd.IntN(40) {
		case 0:
			f.Take()
		case 1:
			f.Miss(metric.Stamp{Cont: 1}, metric.TimedOut)
		}
	}
	if repeated < 1000 {
		t.Errorf("only %d rows were repeated", repeated)
	}
}
