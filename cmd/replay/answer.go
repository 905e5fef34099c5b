package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/replay/internal/out"
	"tachograph/cmd/replay/internal/serve/ask"
	"tachograph/store"
	"tachograph/store/fault"
)

// answers answers programs out of the archives at paths: by the commands, as people
// are answered. Derived metrics are those of the files given here; a definition
// that whoever started the server keeps for himself is not everybody's.
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
		a.ownDefinitions = func() string { return "" }
		a.open = func(paths ...string) (reader, error) {
			r, err := openArchives(paths...)
			if err != nil {
				return nil, err
			}
			return forClient(ctx, r), nil
		}
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
			err = &ask.Error{Kind: ask.Broken, Err: err}
		case fault.Of(err) == fault.Denied:
			err = &ask.Error{Kind: ask.Unreadable, Err: err}
		}
		return aside, err
	}
}

// forClient prepares a Reader for a question of one of many clients. The answer ends with
// the context.
func forClient(ctx context.Context, r *store.Reader) *store.Reader {
	r.Until(ctx)
	r.Single()
	return r
}

// nothing is the failure to find anything of what was asked for.
func nothing(format string, args ...any) error {
	return &ask.Error{Kind: ask.Nothing, Err: fmt.Errorf(format, args...)}
}
