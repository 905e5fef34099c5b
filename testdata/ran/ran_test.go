package main

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// printed is what go test -json prints of two packages, in short.
const printed = `{"Action":"build-output","ImportPath":"m/c","Output":"c.go:1: no\n"}
{"Action":"run","Package":"m/a","Test":"TestA"}
{"Action":"output","Package":"m/a","Test":"TestA","Output":"    a_test.go:3: it is \u001b[1m not\n"}
{"Action":"fail","Package":"m/a","Test":"TestA","Elapsed":0.1}
{"Action":"output","Package":"m/a","Test":"TestB","Output":"    a_test.go:9: pcp is not installed\n"}
{"Action":"output","Package":"m/a","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestB"}
{"Action":"output","Package":"m/a","Test":"TestC/one","Output":"    a_test.go:9: a long test: TACHO_LONG=1\n"}
{"Action":"skip","Package":"m/a","Test":"TestC/one"}
{"Action":"pass","Package":"m/a","Test":"TestC"}
{"Action":"fail","Package":"m/a","Elapsed":1.5}
{"Action":"run","Package":"m/b","Test":"TestD"}
{"Action":"pass","Package":"m/b","Test":"TestD","Elapsed":2}
{"Action":"pass","Package":"m/b","Elapsed":70}
`

func readPrinted(t *testing.T) *run {
	t.Helper()
	r := newRun()
	if err := r.read(strings.NewReader(printed)); err != nil {
		t.Fatal(err)
	}
	return r
}

func unexpected(reason string) bool { return !regexp.MustCompile(`TACHO_LONG`).MatchString(reason) }

func TestPrint(t *testing.T) {
	var b strings.Builder
	if readPrinted(t).print(&b, time.Minute, true, unexpected) {
		t.Error("a run with a failure is in order")
	}
	want := `ok  	m/b	70.000s
FAIL	m/a	1.500s
    a_test.go:3: it is ` + "\x1b" + `[1m not
c.go:1: no
skipped, by reason:
   1  a long test: TACHO_LONG=1: TestC/one
   1  pcp is not installed: TestB
      ^ nothing explains this one
2 packages: 2 passed, 1 failed, 2 skipped
longer than 1m0s: m/b
`
	if b.String() != want {
		t.Errorf("it printed\n%s\nand not\n%s", b.String(), want)
	}
}

func TestSkipped(t *testing.T) {
	var b strings.Builder
	readPrinted(t).printSkipped(&b, unexpected)
	if want := "m/a\n^(TestB)$\n"; b.String() != want {
		t.Errorf("it printed %q, not %q", b.String(), want)
	}
}

func TestNothingRan(t *testing.T) {
	var b strings.Builder
	if newRun().print(&b, 0, false, unexpected) {
		t.Error("a run of nothing is in order")
	}
}
