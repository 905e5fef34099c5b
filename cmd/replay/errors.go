package main

import (
	"errors"
	"fmt"

	"tachograph/cmd/replay/internal/scope"
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
