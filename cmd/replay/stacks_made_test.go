package main

import (
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/stacks/stackstest"
	"tachograph/sample/stack"
)

// Code that a program made while it ran has no file to be named by; how it can have names is said.
func TestStacksOfCodeMadeAtRunTime(t *testing.T) {
	t.Parallel()
	thread := stack.Thread{PID: 7, Process: "7/1", Command: "node", TID: 7}
	file := stack.Frame{Image: stackstest.App, Address: stackstest.App.Base + 0x10}
	for _, c := range []struct {
		inner stack.Frame
		want  bool
	}{
		{stack.Frame{Address: 0x7f1e9c00727b}, true},
		{stack.Frame{Address: 0x7f1e9c00727b, Name: "JS:*fib"}, false},
		{file, false},
	} {
		archive := stackstest.Write(t, []stack.Sample{{Thread: thread, Frames: stackstest.Frames(file, c.inner), Count: 3}})
		got := transcriptOf(openStore, "$ replay stacks --archive "+archive+"\n")
		if strings.Contains(got, "1 of these in code that a program made while it ran") != c.want {
			t.Errorf("%+v:\n%s", c.inner, got)
		}
	}
}
