package stacks_test

import (
	"fmt"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/stacks"
	"tachograph/cmd/replay/internal/stacks/stackstest"
	"tachograph/sample/stack"
)

// What changed is told, and what chance makes of few samples is not.
func TestShifts(t *testing.T) {
	in := func(counts ...uint32) *stacks.Profile {
		var list []stack.Sample
		for i, n := range counts {
			s := stack.Sample{Thread: stack.Thread{PID: 1, Command: "a"}, Count: n,
				Frames: stackstest.Frames(stackstest.In(stackstest.App, uint64(i), fmt.Sprintf("f%d", i)))}
			if i == len(counts)-1 {
				s.State = stack.Waiting
			}
			list = append(list, s)
		}
		return read(t, stacks.Request{}, list)
	}
	for _, c := range []struct {
		name          string
		before, after []uint32
		want          string
	}{
		{"another half", []uint32{500, 100, 400, 7}, []uint32{100, 500, 400, 9000}, "running f0 0.50 0.10, f1 0.10 0.50"},
		{"chance", []uint32{5, 1, 4, 0}, []uint32{3, 3, 4, 0}, "running "},
		{"the same of another number", []uint32{500, 100, 0}, []uint32{50, 10, 0}, "running "},
		{"new and gone", []uint32{500, 500, 0, 0}, []uint32{500, 0, 500, 0}, "running f1 0.50 0.00, f2 0.00 0.50"},
		{"one waits only", []uint32{500, 0}, []uint32{0, 500}, "samples f0 1.00 0.00, f1 0.00 1.00"},
		{"nothing before", []uint32{0, 0}, []uint32{500, 0}, "samples "},
		{"less than anybody cares for", []uint32{1000000, 0, 0}, []uint32{1000000, 5000, 0}, "running "},
	} {
		state, list := stacks.Shifts(in(c.before...), in(c.after...))
		var got []string
		for _, s := range list {
			got = append(got, fmt.Sprintf("%s %.2f %.2f", s.Name, s.Before, s.After))
		}
		if s := state.String() + " " + strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}
