package stackstest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A FirefoxProfile is what Firefox Profiler reads of a profile, as far as tests look at it.
type FirefoxProfile struct {
	Meta struct {
		PreprocessedProfileVersion int
		StartTime, Interval        float64
		Categories                 []struct{ Name, Color string }
	}
	Libs   []map[string]any
	Shared struct {
		StringArray                                                              []string
		StackTable, FrameTable, FuncTable, ResourceTable, NativeSymbols, Sources map[string]any
	}
	Threads []struct {
		Name, ProcessName, PID, TID string
		IsMainThread                bool
		Samples, Markers            map[string]any
	}
}

// ReadFirefox reads a profile and checks that all columns of a table have its length, that all numbers
// that refer to a row of another table do, and that time does not run backwards.
func ReadFirefox(file []byte) (*FirefoxProfile, error) {
	p := &FirefoxProfile{}
	if err := json.Unmarshal(file, p); err != nil {
		return nil, err
	}
	s := &p.Shared
	of := map[string]int{"categories": len(p.Meta.Categories), "libs": len(p.Libs), "strings": len(s.StringArray)}
	tables := map[string]map[string]any{"stackTable": s.StackTable, "frameTable": s.FrameTable, "funcTable": s.FuncTable, "resourceTable": s.ResourceTable, "nativeSymbols": s.NativeSymbols, "sources": s.Sources}
	for i := range p.Threads {
		tables[fmt.Sprint("samples ", i)], tables[fmt.Sprint("markers ", i)] = p.Threads[i].Samples, p.Threads[i].Markers
	}
	for name, t := range tables {
		n, ok := t["length"].(float64)
		if !ok {
			return nil, fmt.Errorf("%s has no length", name)
		}
		of[name] = int(n)
		for column, list := range t {
			if list, ok := list.([]any); ok && len(list) != int(n) {
				return nil, fmt.Errorf("%d rows of %s, %d in %s", int(n), name, len(list), column)
			}
		}
	}
	refers := []struct{ table, column, to, none string }{
		{"stackTable", "frame", "frameTable", ""}, {"stackTable", "prefix", "stackTable", "null"}, {"frameTable", "func", "funcTable", ""},
		{"frameTable", "category", "categories", ""}, {"frameTable", "subcategory", "", "0"}, {"frameTable", "nativeSymbol", "nativeSymbols", "null"},
		{"frameTable", "inlineDepth", "", "0"}, {"frameTable", "address", "", "number"}, {"frameTable", "line", "", "null"}, {"frameTable", "column", "", "null"}, {"frameTable", "innerWindowID", "", "null"},
		{"funcTable", "name", "strings", ""}, {"funcTable", "resource", "resourceTable", "-1"}, {"funcTable", "source", "sources", "null"}, {"funcTable", "isJS", "", "bool"}, {"funcTable", "relevantForJS", "", "bool"},
		{"resourceTable", "lib", "libs", ""}, {"resourceTable", "name", "strings", ""}, {"sources", "filename", "strings", ""},
	}
	for i := range p.Threads {
		refers = append(refers, struct{ table, column, to, none string }{fmt.Sprint("samples ", i), "stack", "stackTable", ""})
	}
	for _, r := range refers {
		list, ok := tables[r.table][r.column].([]any)
		if !ok {
			return nil, fmt.Errorf("%s has no %s", r.table, r.column)
		}
		for i, v := range list {
			n, number := v.(float64)
			_, boolean := v.(bool)
			switch {
			case r.none == "bool" && boolean, r.none == "number" && number, r.none == "null" && v == nil, number && fmt.Sprint(n) == r.none:
			case !number || r.to == "" && n < 0 || r.to != "" && (n < 0 || int(n) >= of[r.to]):
				return nil, fmt.Errorf("%s of %s is %v in row %d", r.column, r.table, v, i)
			}
			if r.column == "prefix" && number && int(n) >= i {
				return nil, fmt.Errorf("stack %d has %v for its prefix, which is not before it", i, v)
			}
		}
	}
	for i := range p.Threads {
		before := 0.0
		times, _ := p.Threads[i].Samples["time"].([]any)
		for _, v := range times {
			at, ok := v.(float64)
			if !ok || at < before {
				return nil, fmt.Errorf("thread %d has a sample at %v after one at %v", i, v, before)
			}
			before = at
		}
	}
	return p, nil
}

// Folded are the samples of a thread as lines: its name, the frames from the outermost on, each with
// its category, and how many samples.
func (p *FirefoxProfile) Folded(thread int) map[string]float64 {
	t := &p.Threads[thread]
	number := func(table map[string]any, column string, row int) int {
		return int(table[column].([]any)[row].(float64))
	}
	lines := make(map[string]float64)
	for i := range t.Samples["stack"].([]any) {
		var names []string
		for at := number(t.Samples, "stack", i); ; {
			frame := number(p.Shared.StackTable, "frame", at)
			names = append([]string{p.Shared.StringArray[number(p.Shared.FuncTable, "name", number(p.Shared.FrameTable, "func", frame))] +
				"/" + p.Meta.Categories[number(p.Shared.FrameTable, "category", frame)].Name}, names...)
			if p.Shared.StackTable["prefix"].([]any)[at] == nil {
				break
			}
			at = number(p.Shared.StackTable, "prefix", at)
		}
		lines[strings.Join(names, ";")] += t.Samples["weight"].([]any)[i].(float64)
	}
	return lines
}
