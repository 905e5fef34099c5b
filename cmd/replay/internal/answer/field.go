package answer

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/out"
)

// A Field is one field of a row about a T. It is a text if Word is set, a time if Time is, and
// otherwise the number Of in a Unit.
type Field[T any] struct {
	// Name is its name in csv, JSON, messages and exported tables; "" for a field that only
	// people see.
	Name string
	// Key is what people type to sort and filter by it; "" for a field that only programs get.
	Key string
	// Title is the heading of its column in tables, Key if it is "".
	Title string
	Word  func(T) string
	Time  func(T) int64
	Of    func(T) float64 // NaN if it is unknown
	Unit  Unit
	// Low says that a list sorted by it begins with the smallest value.
	Low bool
	// Keep is how long the field stays in a table that is too wide: those with the smallest
	// numbers leave first.
	Keep  int
	Flex  bool // its column may be cut
	Right bool // it is aligned as a number
	Pane  Pane
}

// A Pane is a field's column on a full screen.
type Pane struct {
	Title string
	Width int
	// Keep ranks the columns: those with the lowest numbers stay where there is no room for all.
	Keep int
	// Example is a value as people type it to filter.
	Example string
}

// Heading returns the heading of the field's column in tables.
func (f *Field[T]) Heading() string { return cmp.Or(f.Title, f.Key) }

// Numeric reports whether the field is a number.
func (f *Field[T]) Numeric() bool { return f.Of != nil }

// Kind is the kind of its cells that are not absent.
func (f *Field[T]) Kind() out.Kind {
	switch {
	case f.Word != nil:
		return out.Text
	case f.Time != nil:
		return out.Time
	}
	return f.Unit.kind
}

// Column is its column in a table for people.
func (f *Field[T]) Column() out.Column {
	return out.Column{Name: f.Heading(), Right: f.Right || f.Numeric(), Keep: f.Keep, Flex: f.Flex}
}

// Cell is its value for programs, absent if it is unknown.
func (f *Field[T]) Cell(of T) out.Cell {
	switch {
	case f.Word != nil:
		return Text(f.Word(of))
	case f.Time != nil:
		return out.At(f.Time(of))
	}
	x := f.Of(of)
	if math.IsNaN(x) {
		return out.Cell{}
	}
	return f.Unit.cell(x)
}

// Text is its value for people, "-" if it is an unknown number and "" if it is an unknown word.
func (f *Field[T]) Text(of T) string {
	if f.Word != nil {
		return f.Word(of)
	}
	return f.Unit.Text(f.Of(of))
}

// Known reports whether the field has a value.
func (f *Field[T]) Known(of T) bool {
	if f.Word != nil {
		return f.Word(of) != ""
	}
	x := f.Of(of)
	return x == x
}

// Compare orders two rows by the field. Unknown numbers are last, whatever reverse says.
func (f *Field[T]) Compare(x, y T, reverse bool) int {
	order := 0
	if f.Word != nil {
		order = strings.Compare(strings.ToLower(f.Word(x)), strings.ToLower(f.Word(y)))
	} else {
		switch xv, yv := f.Of(x), f.Of(y); {
		case math.IsNaN(xv) && math.IsNaN(yv):
			return 0
		case math.IsNaN(xv):
			return 1
		case math.IsNaN(yv):
			return -1
		default:
			order = cmp.Compare(xv, yv)
		}
	}
	if f.Low == reverse {
		order = -order
	}
	return order
}

// Used returns the fields with keys, in their order, of which any row has a value.
func Used[T any](fields []Field[T], keys []string, rows []T) (list []*Field[T]) {
	for _, key := range keys {
		f := ByKey(fields, key)
		if slices.ContainsFunc(rows, f.Known) {
			list = append(list, f)
		}
	}
	return list
}

// Texts returns the values of the fields with keys for people.
func Texts[T any](fields []Field[T], keys []string, of T) []string {
	texts := make([]string, len(keys))
	for i, key := range keys {
		texts[i] = ByKey(fields, key).Text(of)
	}
	return texts
}

// Headings returns the headings of the fields with keys.
func Headings[T any](fields []Field[T], keys []string) []string {
	list := make([]string, len(keys))
	for i, key := range keys {
		list[i] = ByKey(fields, key).Heading()
	}
	return list
}

// ByKey returns the field with a key, nil if there is none.
func ByKey[T any](fields []Field[T], key string) *Field[T] {
	i := slices.IndexFunc(fields, func(f Field[T]) bool { return f.Key == key && key != "" })
	if i < 0 {
		return nil
	}
	return &fields[i]
}

// Named returns the fields that programs get.
func Named[T any](fields []Field[T]) []Field[T] {
	return slices.DeleteFunc(slices.Clone(fields), func(f Field[T]) bool { return f.Name == "" })
}

// Within returns the fields as those of a U that has a T.
func Within[T, U any](fields []Field[T], part func(U) T) []Field[U] {
	list := make([]Field[U], len(fields))
	for i, f := range fields {
		list[i] = Field[U]{Name: f.Name, Key: f.Key, Title: f.Title, Unit: f.Unit, Low: f.Low, Keep: f.Keep, Flex: f.Flex, Right: f.Right, Pane: f.Pane}
		if f.Word != nil {
			list[i].Word = func(u U) string { return f.Word(part(u)) }
		}
		if f.Time != nil {
			list[i].Time = func(u U) int64 { return f.Time(part(u)) }
		}
		if f.Of != nil {
			list[i].Of = func(u U) float64 { return f.Of(part(u)) }
		}
	}
	return list
}
