package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/testdata/patience"
)

// A client in another language, written from the comments of live.proto, which
// comes and goes while a machine is recorded: what it is told is what was recorded,
// value by value.
func TestPythonSubscriber(t *testing.T) {
	t.Parallel()
	stubs := pythonStubs(t)
	r := newTestRecorder(t)
	r.tick(t)
	socket, end := startServer(t, r.dir)
	cmd := exec.CommandContext(patience.Context(t, time.Minute), python, "testdata/peers/subscribe.py", socket, "9")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+stubs)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told := make(map[string]string)
	lines := bufio.NewScanner(out)
	for begun := false; lines.Scan(); {
		time, rest, _ := strings.Cut(lines.Text(), "\t")
		if time != "here" {
			key, value, _ := strings.Cut(rest, "\t")
			instance, value, _ := strings.Cut(value, "\t")
			told[time+" "+key+" "+instance] = value
			continue
		}
		if begun {
			continue
		}
		begun = true
		for n := range 60 {
			r.tick(t)
			if n == 30 {
				if _, err := r.Rotate("test"); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := r.Event(metric.Event{At: r.clock.Now(), Kind: metric.EventClockStep, Text: "That is all."}); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	end()
	rd, err := store.Open(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	n := 0
	for run := range rd.Select(store.Selection{}) {
		key := ""
		if run.Instance != nil {
			key = run.Instance.Key
		}
		col := metric.Column{Bits: run.Bits, Words: run.Words, Miss: run.Miss}
		for i, wall := range run.Wall {
			v := col.At(run.Metric.Type, i)
			want := "is " + v.String()
			switch {
			case v.Miss != metric.Present:
				want = "absent " + v.Miss.String()
			case run.Metric.Type == metric.F64:
				want = fmt.Sprintf("is %016x", v.Bits)
			case run.Metric.Type == metric.F32:
				want = fmt.Sprintf("is %08x", v.Bits)
			}
			at := fmt.Sprint(wall, " ", run.Metric.Name, " ", key)
			if got, ok := told[at]; !ok || got != want {
				t.Fatalf("%s: told %q (%v), recorded %q", at, got, ok, want)
			}
			n++
		}
	}
	if n != len(told) || n < 1000 {
		t.Errorf("%d values were recorded and %d told", n, len(told))
	}
}
