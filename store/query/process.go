package query

import (
	"strconv"
	"strings"

	"tachograph/sample/metric"
)

// ProcessName returns the name of a process or thread instance without its number.
func ProcessName(in *metric.Instance) string { return in.Title() }

// ProcessID returns the pid in an instance's label or name; zero if there is none.
func ProcessID(in *metric.Instance) int {
	text := in.Label("pid")
	if text == "" {
		text, _, _ = strings.Cut(in.Name, " ")
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return pid
}
