package klog

import (
	"strconv"
	"strings"
	"tachograph/sample/proc/cmdline"
	"time"
)

// Parse reads a record of /dev/kmsg: "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT", and lines
// "KEY=VALUE" that begin with a blank.
func Parse(record string) (l Line, ok bool) {
	head, rest, ok := strings.Cut(record, ";")
	if !ok {
		return l, false
	}
	fields := strings.Split(head, ",")
	if len(fields) < 4 {
		return l, false
	}
	priority, err1 := strconv.ParseUint(fields[0], 10, 32)
	sequence, err2 := strconv.ParseUint(fields[1], 10, 64)
	micros, err3 := strconv.ParseUint(fields[2], 10, 63)
	if err1 != nil || err2 != nil || err3 != nil || micros > uint64(1<<63-1)/1000 {
		return l, false
	}
	text, more, _ := strings.Cut(rest, "\n")
	l = Line{Since: time.Duration(micros) * time.Microsecond, Sequence: sequence, Level: uint8(priority & 7),
		Kernel: priority>>3 == 0, Text: unescape(text)}
	for more != "" {
		var field string
		field, more, _ = strings.Cut(more, "\n")
		if device, ok := strings.CutPrefix(field, " DEVICE="); ok {
			l.Device = printable(unescape(device))
		}
	}
	return l, true
}

// unescape undoes \xNN, which the kernel writes for all bytes that are not printable ASCII.
func unescape(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' {
			if v, err := strconv.ParseUint(s[i+2:i+4], 16, 8); err == nil {
				b, i = append(b, byte(v)), i+3
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// printable makes a line fit for a terminal, and bounds it.
func printable(s string) string { return cmdline.Bounded(strings.TrimRight(s, "\n "), MostText) }
