package main

import (
	"context"

	"tachograph/cmd/replay/internal/scope"
	"tachograph/sample/catalog"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/follow"
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

// A follower delivers items as they are recorded: a follow.Follower.
type follower interface {
	Next(context.Context) (archive.Item, error)
	Position() follow.Position
	Close() error
}

// followArchives follows archives on disk.
func followArchives(opt follow.Options, paths ...string) (follower, error) {
	return follow.Open(opt, paths...)
}
