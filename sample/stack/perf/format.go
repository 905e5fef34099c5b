package perf

import (
	"strconv"
	"strings"
)

// FieldOf returns where a field is in the records of a tracepoint that the kernel describes so:
// "field:__u16 sport;	offset:24;	size:2;	signed:0;".
func FieldOf(format, name string, size int) (at int, ok bool) {
	for line := range strings.Lines(format) {
		parts := strings.Split(strings.TrimSpace(line), ";")
		if len(parts) < 3 || !strings.HasPrefix(parts[0], "field:") {
			continue
		}
		of, _, _ := strings.Cut(parts[0], "[")
		if !strings.HasSuffix(of, " "+name) || strings.TrimSpace(parts[2]) != "size:"+strconv.Itoa(size) {
			continue
		}
		at, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(parts[1]), "offset:"))
		return at, err == nil && at >= 0 && at < 1<<10
	}
	return 0, false
}
