package main

import "tachograph/store"

// openStore opens archives on disk.
func openStore(paths ...string) (reader, error) { return store.Open(paths...) }
