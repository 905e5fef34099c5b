package compact

import (
	"slices"
	"testing"
)

// entry is a function of a table.
type entry struct {
	at uint32
	e  Encoding
}

// section builds a table with two functions on a page. Odd pages are compressed: their first
// function has an encoding that all pages share, and the others one of the page's own.
func section(end uint32, functions ...entry) []byte {
	const perPage = 2
	var pages [][]entry
	for list := range slices.Chunk(functions, perPage) {
		pages = append(pages, list)
	}
	var common, index, second []byte
	at := uint32(headerSize + 4*((len(pages)+1)/2) + indexSize*(len(pages)+1))
	for i, page := range pages {
		index = le.AppendUint32(index, page[0].at)
		index = le.AppendUint32(index, at+uint32(len(second)))
		index = le.AppendUint32(index, 0)
		if i%2 == 1 {
			second = le.AppendUint32(second, regularPage)
			second = le.AppendUint16(second, 8)
			second = le.AppendUint16(second, uint16(len(page)))
			for _, f := range page {
				second = le.AppendUint32(second, f.at)
				second = le.AppendUint32(second, uint32(f.e))
			}
			continue
		}
		shared := uint32(len(common) / 4)
		common = le.AppendUint32(common, uint32(page[0].e))
		second = le.AppendUint32(second, compressed)
		second = le.AppendUint16(second, 12)
		second = le.AppendUint16(second, uint16(len(page)))
		second = le.AppendUint16(second, uint16(12+4*len(page)))
		second = le.AppendUint16(second, uint16(len(page)-1))
		for k, f := range page {
			which := shared
			if k > 0 {
				which = uint32((len(pages)+1)/2 + k - 1)
			}
			second = le.AppendUint32(second, which<<24|f.at-page[0].at)
		}
		for _, f := range page[1:] {
			second = le.AppendUint32(second, uint32(f.e))
		}
	}
	index = le.AppendUint32(index, end)
	index = append(index, make([]byte, 8)...)
	var b []byte
	for _, v := range []int{version, headerSize, len(common) / 4, 0, 0, headerSize + len(common), len(index) / indexSize} {
		b = le.AppendUint32(b, uint32(v))
	}
	return slices.Concat(b, common, index, second)
}

var five = []entry{{0x1000, 0x02010000}, {0x1100, 0x01000000}, {0x1200, 0x02020000}, {0x1400, 0}, {0x1500, 0x04000000}}

func TestFind(t *testing.T) {
	table, ok := Read(section(0x2000, five...))
	if !ok {
		t.Fatal("not read")
	}
	for offset, want := range map[uint32]Range{
		0x0fff: {}, 0x1000: {0x1000, 0x1100, 0x02010000}, 0x10ff: {0x1000, 0x1100, 0x02010000},
		0x1100: {0x1100, 0x1200, 0x01000000}, 0x11ff: {0x1100, 0x1200, 0x01000000},
		0x1200: {0x1200, 0x1400, 0x02020000}, 0x13ff: {0x1200, 0x1400, 0x02020000},
		0x1400: {}, 0x14ff: {}, // it says nothing
		0x1500: {0x1500, 0x2000, 0x04000000}, 0x1fff: {0x1500, 0x2000, 0x04000000}, 0x2000: {}, 1<<32 - 1: {},
	} {
		if got, ok := table.Find(offset); ok != (want != Range{}) || ok && got != want {
			t.Errorf("%#x: %+v, %v; want %+v", offset, got, ok, want)
		}
	}
	if _, ok := (*Table)(nil).Find(0x1000); ok {
		t.Error("no table knows something")
	}
}

// A damaged table is not read, or says nothing.
func TestDamaged(t *testing.T) {
	good := section(0x2000, five...)
	index := le.Uint32(good[20:])
	first := le.Uint32(good[index+4:])
	for name, change := range map[string]func(b []byte){
		"another version":          func(b []byte) { b[0]++ },
		"common encodings outside": func(b []byte) { le.PutUint32(b[8:], 1<<30) },
		"an index outside":         func(b []byte) { le.PutUint32(b[24:], 1<<30) },
		"an index at the end":      func(b []byte) { le.PutUint32(b[20:], 1<<32-4) },
		"an index of nothing":      func(b []byte) { le.PutUint32(b[24:], 1) },
		"a page outside":           func(b []byte) { le.PutUint32(b[index+4:], 1<<32-4) },
		"no page":                  func(b []byte) { le.PutUint32(b[index+4:], 0) },
		"another kind of page":     func(b []byte) { le.PutUint32(b[first:], 7) },
		"entries outside":          func(b []byte) { le.PutUint16(b[first+6:], 1<<16-1) },
		"encodings outside":        func(b []byte) { le.PutUint16(b[first+10:], 1<<16-1) },
		"no such encoding":         func(b []byte) { b[first+12+3] = 200 },
	} {
		b := slices.Clone(good)
		change(b)
		table, ok := Read(b)
		if !ok {
			continue
		}
		if r, ok := table.Find(0x1001); ok {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Whatever a table holds, a range contains the offset that was sought, and rules are possible.
func FuzzTable(f *testing.F) {
	f.Add(section(0x2000, five...), uint32(0x1050), []byte("\x55\x48\x89\xe5\x5d\xc3"))
	f.Add(section(0x2000, entry{0x1000, 0x03020c15}), uint32(0x1001), []byte("\x50\x81\xec\x00\x01\x00\x00\x5b\xc3"))
	f.Fuzz(func(t *testing.T, b []byte, offset uint32, code []byte) {
		table, ok := Read(b)
		if !ok {
			return
		}
		r, ok := table.Find(offset)
		if !ok {
			return
		}
		if offset < r.From || offset >= r.To || r.Encoding == 0 {
			t.Errorf("%#x is in %+v", offset, r)
		}
		for _, f := range []Function{{}, {r.From, code}, {offset, code}, {offset - min(offset, 3), code}} {
			for _, innermost := range []bool{true, false} {
				if rule, ok := r.Intel(f, offset, innermost); ok && (rule.FP > rule.Size || rule.Size%8 != 0 || rule.Size > 1<<33) {
					t.Errorf("%+v of %+v", rule, r)
				}
			}
			r.Linked(f, offset)
		}
	})
}
