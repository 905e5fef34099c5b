package main

import (
	"fmt"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
)

func figures(x float64) string { return human.Figures(x) }

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
