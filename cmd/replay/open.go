package main

import (
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store"
)

// openStore opens archives on disk. What archives of the past left out of
// their descriptions the catalogue tells.
func openStore(paths ...string) (reader, error) {
	return openArchives(paths...)
}

func openArchives(paths ...string) (*store.Reader, error) {
	return store.OpenWith(complete, paths...)
}

func complete(in *store.ArchiveInfo, d *metric.Desc) {
	switch in.Host.Platform {
	case "macos":
		catalog.Complete(catalog.Darwin, d)
	case "linux":
		catalog.Complete(catalog.Linux, d)
	}
}
