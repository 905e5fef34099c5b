package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/debuginfod"
	"tachograph/cmd/replay/internal/stacks"
	"tachograph/sample/stack/symbol"
)

// symbolsFor returns a function that names functions by the files below a directory, and by those
// that a server has; nil if neither is wanted. done warns of what the server did not give; it
// returns an error if the user ended the program meanwhile.
func (a *app) symbolsFor(f *stackFlags) (symbols stacks.Symbols, done func() error, err error) {
	none := func() error { return nil }
	if f.symbols == "" && f.debuginfod == "" {
		return nil, none, nil
	}
	d, err := symbol.OpenDirectory(f.symbols)
	if err != nil {
		return nil, nil, fmt.Errorf("--symbols %s: %w", f.symbols, cli.Cause(err))
	}
	if f.debuginfod == "" {
		return d.Function, none, nil
	}
	kept, err := os.UserCacheDir()
	if err != nil {
		return nil, nil, errors.New("--debuginfod keeps files in the user's directory of caches, which is unknown: set HOME or XDG_CACHE_HOME")
	}
	ctx, stop := a.untilEnded()
	c, err := debuginfod.New(ctx, f.debuginfod, filepath.Join(kept, "tachograph", "debuginfod"), debuginfod.DefaultLimits)
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("--debuginfod: %w", err)
	}
	d.Ask = c.Fetch
	return d.Function, func() error {
		err := ctx.Err()
		stop()
		if err != nil {
			return err
		}
		for _, text := range c.Said() {
			a.warn(text)
		}
		return nil
	}, nil
}
