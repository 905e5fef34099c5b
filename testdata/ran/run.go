package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// An event is a line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// A run is the results of packages' tests.
type run struct {
	packages map[string]*tested
	outside  []string // what the go command itself printed: failed builds
}

// tested is the result of a package's tests.
type tested struct {
	name, result string
	took         time.Duration
	tests        map[string]*test
	output       []string // printed outside of tests
}

// A test is the result of one test.
type test struct {
	name, result string
	output       []string
}

func newRun() *run { return &run{packages: make(map[string]*tested)} }

// read adds the output of go test -json. It keeps lines that are not JSON events.
func (r *run) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Action == "" {
			r.outside = append(r.outside, lines.Text())
			continue
		}
		r.add(e)
	}
	return lines.Err()
}

func (r *run) add(e event) {
	if e.Package == "" { // of a build
		if e.Action == "build-output" {
			r.outside = append(r.outside, strings.TrimSuffix(e.Output, "\n"))
		}
		return
	}
	p := r.packages[e.Package]
	if p == nil {
		p = &tested{name: e.Package, tests: make(map[string]*test)}
		r.packages[e.Package] = p
	}
	if e.Test == "" {
		switch e.Action {
		case "output":
			p.output = append(p.output, e.Output)
		case "pass", "fail", "skip":
			p.result, p.took = e.Action, time.Duration(e.Elapsed*1e9)
		}
		return
	}
	t := p.tests[e.Test]
	if t == nil {
		t = &test{name: e.Test}
		p.tests[e.Test] = t
	}
	switch e.Action {
	case "output":
		t.output = append(t.output, e.Output)
	case "pass", "fail", "skip":
		if t.result = e.Action; e.Action == "pass" {
			t.output = nil
		}
	}
}

// sorted returns the packages, the slowest first.
func (r *run) sorted() []*tested {
	return slices.SortedFunc(maps.Values(r.packages), func(a, b *tested) int {
		return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.name, b.name))
	})
}

// printFailure writes what the failed tests printed, and what the package printed outside of
// tests.
func (p *tested) printFailure(w io.Writer) {
	fmt.Fprintf(w, "FAIL\t%s\t%.3fs\n", p.name, p.took.Seconds())
	for _, name := range keys(p.tests) {
		if t := p.tests[name]; t.result != "pass" && t.result != "skip" {
			fmt.Fprint(w, strings.Join(t.output, ""))
		}
	}
	fmt.Fprint(w, strings.Join(p.output, ""))
}

// at is where a test says why it is skipped: "    file_test.go:12: ".
var at = regexp.MustCompile(`^\s+\S+\.go:\d+: `)

// reason returns why a test was skipped.
func (t *test) reason() string {
	for _, line := range slices.Backward(t.output) {
		if where := at.FindString(line); where != "" {
			return strings.TrimSpace(line[len(where):])
		}
	}
	return "no reason"
}

// reasons returns the reasons for skipping, the most frequent first, and the tests of each.
func (r *run) reasons() ([]string, map[string][]string) {
	tests := make(map[string][]string)
	for _, p := range r.packages {
		for _, t := range p.tests {
			if t.result == "skip" {
				tests[t.reason()] = append(tests[t.reason()], t.name)
			}
		}
	}
	for _, list := range tests {
		slices.Sort(list)
	}
	return slices.SortedFunc(maps.Keys(tests), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(tests[b]), len(tests[a])), cmp.Compare(a, b))
	}), tests
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
