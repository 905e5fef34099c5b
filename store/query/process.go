package query

import (
	"strconv"
	"strings"

	"tachograph/sample/metric"
)

// ProcessName is the name of a process or thread instance without its number.
func ProcessName(in *metric.Instance) string { return in.Title() }

// ProcessID is the pid that an instance's label or name tells; zero if none.
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
