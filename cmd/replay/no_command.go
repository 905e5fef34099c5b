package main

import (
	"fmt"

	"tachograph/store/query"
)

// otherWords are words by which clients of accretional/sysctl ask, with what answers them here.
// For "list" metrics has an alias.
var otherWords = map[string]string{
	"categories": "replay metrics --categories lists the categories",
	"all":        "replay values '*' --last prints the last value of every metric",
}

// noCommand is the error about a word that is what, and none of the commands.
func noCommand(word, what string, names []string) error {
	if instead, ok := otherWords[word]; ok {
		return fmt.Errorf("%q is %s: %s", word, what, instead)
	}
	return fmt.Errorf("%q is %s%s", word, what, query.Suggest(word, names))
}
