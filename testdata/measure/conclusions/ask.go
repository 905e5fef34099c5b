package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"tachograph/testdata/measure/conclusions/cases"
)

// A question is a way to ask why about a case.
type question struct {
	Name     string
	At       int64
	From, To int64
	// Wants says that the answer should name the trouble; else that it should say that there was
	// none.
	Wants bool
	// Slid is the name of the question that this one shifts a little in time.
	Slid string
}

// An answer is what replay answered.
type answer struct {
	question
	Lines  []line
	Status int
	Took   time.Duration
}

// line is one finding.
type line struct {
	Kind    string  `json:"kind"`
	Weight  float64 `json:"weight"`
	Since   string  `json:"since"`
	Until   string  `json:"until"`
	Text    string  `json:"text"`
	Command string  `json:"command"`
	Claims  []claim `json:"claims"`
}

// claim is one number of a sentence: its metric and instance, its span, and its value.
type claim struct {
	Metric   string          `json:"metric"`
	Instance string          `json:"instance"`
	Key      string          `json:"key"`
	From     string          `json:"from"`
	To       string          `json:"to"`
	Of       string          `json:"of"` // "rate", "mean", "max" ...
	Value    json.RawMessage `json:"value"`
}

// outcome is the kind of an answer.
type outcome int

const (
	found outcome = iota
	nothing
	untold
)

func (a *answer) outcome() outcome {
	switch {
	case a.Status == 2 || len(a.Lines) == 0:
		return untold
	case a.Status == 1:
		return nothing
	}
	return found
}

const minute = 60

// questions returns the questions about a case.
func questions(c *cases.Case) []question {
	if c.Kind == cases.None {
		return calmQuestions(c)
	}
	on, end, all := c.Onset, c.Onset+c.Length, c.Seconds
	at := func(second int) int64 { return c.Wall(second) }
	var list []question
	add := func(name string, from, to int, wants bool, slid string) {
		from, to = max(from, 0), min(to, all)
		if c.Instant && wants && (from > on-5 || to < on+10) {
			return // It does not contain the instant.
		}
		if to-from >= 15 {
			list = append(list, question{Name: name, From: at(from), To: at(to), Wants: wants, Slid: slid})
		}
	}
	// The question about a sleep is about its middle.
	list = append(list, question{Name: "all", Wants: true}, question{Name: "at onset+10", At: at(on+10) - int64(c.Slept)*5e8, Wants: true})
	if !c.Instant {
		list = append(list, question{Name: "at middle", At: at(on + c.Length/2), Wants: true})
	}
	add("trouble", on, end, true, "")
	if c.Instant {
		add("just then", on-15, on+15, true, "")
	}
	for _, by := range []int{-60, -30, 30, 60} {
		// If a window is shifted by more than half its length, the trouble is less than half of
		// it.
		if lasts := by; max(lasts, -lasts)*2 <= c.Length {
			add(fmt.Sprintf("trouble%+d", by), on+by, end+by, true, "trouble")
		}
	}
	middle := on + c.Length/2
	add("20s", middle-10, middle+10, true, "")
	if c.Length >= 100 {
		add("20s+30", middle+20, middle+40, true, "20s")
	}
	add("minute", middle-30, middle+30, true, "")
	add("wide", on-2*minute, end+2*minute, true, "")
	add("wide+30", on-2*minute+30, end+2*minute+30, true, "wide")
	add("whole", 0, all, true, "")
	if on >= 4*minute {
		add("before", on-3*minute, on-15, false, "")
	}
	return list
}

// calmQuestions returns the questions about a machine without trouble.
func calmQuestions(c *cases.Case) []question {
	list := []question{{Name: "all"}, {Name: "at", At: c.Wall(c.Seconds / 2)}}
	for i, long := range []int{20, 60, 60, 150, 300} {
		from := (c.Seconds - long) * (i + 1) / 6
		name := fmt.Sprintf("%d s", long)
		list = append(list, question{Name: name, From: c.Wall(from), To: c.Wall(from + long)},
			question{Name: name + "+30", From: c.Wall(from + 30), To: c.Wall(min(from+30+long, c.Seconds)), Slid: name})
	}
	return append(list, question{Name: "whole", From: c.Wall(0), To: c.Wall(c.Seconds)})
}

// stamp formats an instant for a command line.
func stamp(wall int64) string { return time.Unix(0, wall).UTC().Format(time.RFC3339) }

// ask runs replay why.
func ask(replay, path string, q question) (*answer, error) {
	args := []string{"why", "--format", "json", "--archive", path}
	if q.At != 0 {
		args = append(args, "--at", stamp(q.At))
	}
	if q.From != 0 {
		args = append(args, "--from", stamp(q.From), "--to", stamp(q.To))
	}
	a := &answer{question: q}
	out, status, took, err := run(replay, args...)
	if err != nil {
		return nil, err
	}
	a.Status, a.Took = status, took
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "{") {
			continue
		}
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s: %w", lines.Text(), err)
		}
		a.Lines = append(a.Lines, l)
	}
	return a, nil
}

// run runs a program that may answer "no" with its exit status.
func run(program string, args ...string) (out []byte, status int, took time.Duration, err error) {
	cmd := exec.Command(program, args...)
	var failed *exec.ExitError
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err = cmd.Output()
	if cmd.ProcessState != nil {
		took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if errors.As(err, &failed) {
		if status = failed.ExitCode(); status == 1 || status == 2 && !strings.Contains(stderr.String(), "rror") {
			return out, status, took, nil
		}
		return nil, status, took, fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, stderr.String())
	}
	return out, 0, took, err
}
