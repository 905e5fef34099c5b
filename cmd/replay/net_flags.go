package main

import "tachograph/store/query"

type netFlags struct {
	at, by, group, protocol, medium string
	peers, connections, listeners   bool
	more                            []string // further columns
	n                               int
}

// netAnswer says who used the network.
type netAnswer struct {
	a    *app
	m    *query.Matcher // which processes count
	f    *netFlags
	args []string // as the user wrote them
}
