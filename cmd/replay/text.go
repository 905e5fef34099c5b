package main

import (
	"fmt"
	"time"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
)

func nonEmpty(list ...string) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// boolean is a cell that holds true or false, in JSON and CSV alike.
func boolean(b bool) out.Cell {
	text := fmt.Sprint(b)
	return out.Cell{Kind: out.Detail, Raw: []byte(text), Human: text}
}

func durationText(d int64) string { return human.Duration(time.Duration(d)) }

// spanWords returns the flags for a span, in whole seconds that contain it.
func spanWords(from, to int64) []string {
	const second = int64(time.Second)
	if to%second != 0 {
		to += second
	}
	word := func(wall int64) string { return time.Unix(0, wall).UTC().Truncate(time.Second).Format(time.RFC3339) }
	return []string{"--from", word(from), "--to", word(to)}
}
