package symbol

import (
	"runtime"
	"strings"
	"testing"
)

//go:noinline
func usesMuch(n int) byte {
	var b [5000]byte
	b[n] = 1
	runtime.Gosched()
	return b[n/2]
}

// The depths of this program's own functions.
func TestGoDepths(t *testing.T) {
	usesMuch(1)
	table := ownImage(t)
	d := &GoDepths{table.lines}
	seen := make(map[string]bool)
	for i := range table.lines.functions {
		begin, end := table.lines.text+table.lines.entry(i), table.lines.text+table.lines.entry(i+1)
		name, _, _, _ := table.Find(begin)
		bytes, outermost, ok := d.At(begin)
		switch seen[name] = true; {
		case name == "runtime.goexit" || name == "runtime.mstart":
			if !outermost {
				t.Errorf("%s has a caller", name)
			}
		case name == "runtime.systemstack": // whose stack changes
			if ok || outermost {
				t.Errorf("%s uses %d bytes", name, bytes)
			}
		case strings.HasSuffix(name, "symbol.usesMuch"):
			most := uint64(0)
			for at := begin; at < end; at++ {
				if bytes, _, ok := d.At(at); ok {
					most = max(most, bytes)
				}
			}
			if bytes != 0 || most < 5000 || most > 6000 || !ok || outermost {
				t.Errorf("%s uses %d bytes at its beginning, then up to %d; %v, %v", name, bytes, most, outermost, ok)
			}
		case strings.HasPrefix(name, "main.") || strings.HasPrefix(name, "strings."):
			if bytes != 0 || outermost || !ok {
				t.Errorf("%s uses %d bytes at its beginning; %v, %v", name, bytes, outermost, ok)
			}
		}
	}
	for _, name := range []string{"runtime.goexit", "runtime.mstart", "runtime.systemstack", "tachograph/sample/stack/symbol.usesMuch"} {
		if !seen[name] {
			t.Errorf("%s was not found", name)
		}
	}
	if _, _, ok := d.At(0); ok {
		t.Error("there is a function at 0")
	}
}
