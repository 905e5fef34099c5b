package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/scope"
	"tachograph/cmd/replay/internal/serve/ask"
	"tachograph/store/fault"
)

// answers returns the function that answers programs' questions from the archives, with the
// commands that people use. Derived metrics come only from the files given here: the server's
// clients do not get the private definitions of the user who started it.
func answers(archives, derived []string, now func() time.Time) ask.Run {
	var given []string
	for _, path := range archives {
		given = append(given, "--archive="+path)
	}
	for _, path := range derived {
		given = append(given, "--derived="+path)
	}
	given = append(given, "--format="+string(out.JSON))
	return func(ctx context.Context, c ask.Command) (ask.Aside, error) {
		var said bytes.Buffer
		a := newApp(io.Discard, &said, now)
		a.sink = c.Begin
		a.OwnDefinitions = func() string { return "" }
		a.Open = func(paths ...string) (reader, error) { return openFor(ctx, paths...) }
		err := a.execute(slices.Concat(given, c.Args))
		a.stderr.Flush()
		aside := ask.Aside{Lost: a.damage}
		if said.Len() > 0 {
			aside.Notes = strings.Split(strings.TrimSuffix(said.String(), "\n"), "\n")
		}
		switch {
		case errors.Is(err, errNo), errors.Is(err, errUntold):
			err = nil
		case errors.Is(err, errFailed):
			err = &scope.Error{Kind: scope.Broken, Err: err}
		case fault.Of(err) == fault.Denied:
			err = &scope.Error{Kind: scope.Unreadable, Err: err}
		}
		return aside, err
	}
}
