package main

import (
	"tachograph/sample/catalog"
	"tachograph/store"
)

// openStore opens archives on disk. What archives of the past left out of
// their descriptions the catalogue tells.
func openStore(paths ...string) (reader, error) {
	return openArchives(paths...)
}

func openArchives(paths ...string) (*store.Reader, error) {
	return store.OpenWith(catalog.Complete, paths...)
}
