package main

import (
	"context"

	"tachograph/cmd/replay/internal/scope"
	"tachograph/sample/catalog"
	"tachograph/store"
)

// openStore opens archives on disk. The catalogue supplies what old archives left out of their
// descriptions.
func openStore(paths ...string) (scope.Reader, error) {
	return openArchives(paths...)
}

func openArchives(paths ...string) (*store.Reader, error) {
	return store.OpenWith(catalog.Complete, paths...)
}

// openFor opens archives for one client's question, beside those of other clients. The answer
// ends with ctx.
func openFor(ctx context.Context, paths ...string) (*store.Reader, error) {
	r, err := openArchives(paths...)
	if err == nil {
		r.Until(ctx)
		r.Single()
	}
	return r, err
}
