package main

import (
	"io"
	"strings"
	"testing"
)

// What begins with a minus and a digit is an argument, wherever it stands.
func TestNegativeArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"at -5m", "at -- -5m"},
		{"at -5m --host web-1", "at --host web-1 -- -5m"},
		{"--host web-1 at -5m --utc", "--host web-1 at --utc -- -5m"},
		{"at --archive -5m", "at --archive -5m"},
		{"rates --from -2h x", "rates --from -2h x"},
		{"rates x -i -1 -2+x", "rates -i -1 -- x -2+x"},
		{"top -n -3", "top -n -3"},
		{"top -n5 -3", "top -n5 -- -3"},
		{"diff -20m..-10m -10m..now --all", "diff --all -- -20m..-10m -10m..now"},
		{"diff 03:00..03:10 -10m..now", "diff -- 03:00..03:10 -10m..now"},
		{"find -.5<x --for 5m", "find --for 5m -- -.5<x"},
		{"at -5m -- x -y", "at -- -5m x -y"},
		{"at -- -5m", "at -- -5m"},
		{"ps at -5m", "ps -- at -5m"},
		{"values -x", "values -x"},
		{"__complete at -5m", "__complete at -5m"},
	} {
		t.Run(c.line, func(t *testing.T) {
			root := newApp(io.Discard, io.Discard, nil).command()
			if got := strings.Join(withNegatives(root, strings.Fields(c.line)), " "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
