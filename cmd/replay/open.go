package main

import (
	"tachograph/sample/catalog"
	"tachograph/store"
)

// openStore opens archives on disk. The catalogue supplies what old archives left out of their
// descriptions.
func openStore(paths ...string) (reader, error) {
	return openArchives(paths...)
}

func openArchives(paths ...string) (*store.Reader, error) {
	return store.OpenWith(catalog.Complete, paths...)
}
