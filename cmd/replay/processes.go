package main

import (
	"tachograph/cmd/replay/internal/answer"
	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
)

// processCells are the cells of a row about a process for programs.
func processCells(p *query.Process) []out.Cell {
	return append([]out.Cell{hostCell(&p.Archive.Host)}, answer.ProcessCells(p)...)
}
