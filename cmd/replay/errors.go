package main

import (
	"errors"
	"fmt"

	"tachograph/cmd/replay/internal/scope"
	"tachograph/store/query"
)

// errNo ends a command that has already printed its answer, and the answer is no.
var errNo = errors.New("no")

// errUntold ends a command that has already printed its answer: that the recording cannot answer
// the question.
var errUntold = errors.New("it cannot be told")

// errFailed is the error that a panic of this program becomes.
var errFailed = errors.New("this program failed, which is a mistake of the program; please report it")

// nothing returns the error for a question about something that the archives do not hold.
func nothing(format string, args ...any) error {
	return &scope.Error{Kind: scope.Nothing, Err: fmt.Errorf(format, args...)}
}

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
