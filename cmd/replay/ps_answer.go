package main

import "tachograph/store/query"

type psFlags struct {
	at, sort, step string
	group          string
	more           []string // further columns
	tree           bool
	n              int
}

// psAnswer shows the processes that match, at a moment or over a window.
type psAnswer struct {
	a     *app
	w     query.Window
	m     *query.Matcher
	f     *psFlags
	args  []string
	group query.Grouping // "" for single processes
	// order sorts the table.
	order func([]*query.Process)
}
