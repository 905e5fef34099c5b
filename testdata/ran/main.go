// Command ran summarizes a run of tests from the output of go test -json:
//
//	go test -json ./... | go run ./testdata/ran
//	go run ./testdata/ran -skipped -expected 'TACHO_[A-Z]+|not macOS' FILE...
//
// It prints a line for each package, everything that a failed test printed, and the skipped
// tests, counted by reason. It fails if a test did.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

func main() {
	skipped := flag.Bool("skipped", false, "print only the packages and the -run pattern of the tests skipped for a reason that -expected does not match")
	expected := flag.String("expected", "", "reasons to skip a test that are in order wherever it runs, as a regular expression")
	strict := flag.Bool("strict", false, "fail where a test was skipped for a reason that -expected does not match")
	most := flag.Duration("most", 0, "fail where a package took longer")
	flag.Parse()
	pattern, err := regexp.Compile(*expected)
	if err == nil {
		var r *run
		if r, err = read(flag.Args()); err == nil {
			var unexpected func(string) bool
			if unexpected = func(reason string) bool { return *expected == "" || !pattern.MatchString(reason) }; *skipped {
				r.printSkipped(os.Stdout, unexpected)
				return
			}
			if !r.print(os.Stdout, *most, *strict, unexpected) {
				os.Exit(1)
			}
			return
		}
	}
	fmt.Fprintln(os.Stderr, "ran:", err)
	os.Exit(2)
}

// read reads files, or standard input without any.
func read(files []string) (*run, error) {
	r := newRun()
	if len(files) == 0 {
		return r, r.read(os.Stdin)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		err = r.read(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return r, nil
}

// print writes the summary; ok says that everything is in order.
func (r *run) print(w io.Writer, most time.Duration, strict bool, unexpected func(string) bool) (ok bool) {
	ok = true
	var slow []string
	for _, p := range r.sorted() {
		if most > 0 && p.took > most {
			slow = append(slow, p.name)
		}
		switch {
		case p.result == "pass":
			fmt.Fprintf(w, "ok  \t%s\t%.3fs\n", p.name, p.took.Seconds())
		case p.result != "skip":
			ok = false
			p.printFailure(w)
		}
	}
	for _, line := range r.outside {
		fmt.Fprintln(w, line)
	}
	passed, failed := 0, 0
	for _, p := range r.packages {
		for _, t := range p.tests {
			switch {
			case strings.Contains(t.name, "/"):
			case t.result == "pass":
				passed++
			case t.result != "skip":
				failed++
			}
		}
	}
	reasons, tests := r.reasons()
	skips := 0
	for n, reason := range reasons {
		if n == 0 {
			fmt.Fprintln(w, "skipped, by reason:")
		}
		skips += len(tests[reason])
		fmt.Fprintf(w, "%4d  %s: %s\n", len(tests[reason]), reason, few(tests[reason]))
		if strict && unexpected(reason) {
			ok = false
			fmt.Fprintf(w, "      ^ nothing explains this one\n")
		}
	}
	fmt.Fprintf(w, "%d packages: %d passed, %d failed, %d skipped\n", len(r.packages), passed, failed, skips)
	if slow != nil {
		ok = false
		fmt.Fprintf(w, "longer than %s: %s\n", most, strings.Join(slow, ", "))
	}
	return ok && len(r.packages) > 0
}

// few lists the first of the tests.
func few(names []string) string {
	const most = 6
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

// printSkipped writes a line with the packages of unexpectedly skipped tests, and a line with a
// pattern for these tests.
func (r *run) printSkipped(w io.Writer, unexpected func(string) bool) {
	packages, tests := make(map[string]bool), make(map[string]bool)
	for _, p := range r.packages {
		for _, t := range p.tests {
			if t.result == "skip" && unexpected(t.reason()) {
				name, _, _ := strings.Cut(t.name, "/")
				packages[p.name], tests[name] = true, true
			}
		}
	}
	if len(tests) > 0 {
		fmt.Fprintf(w, "%s\n^(%s)$\n", strings.Join(keys(packages), " "), strings.Join(keys(tests), "|"))
	}
}
