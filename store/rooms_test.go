package store_test

import (
	"go/build"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// floors are the packages of the store as the picture in doc.go has them, the
// upper ones first. A package imports what stands on floors below its own.
var floors = [][]string{
	{"query", "recent"},
	{"derive"},
	{"reduce"},
	{"rewrite"},
	{".", "recording", "mend", "follow"},
	{"source"},
	{"archive"},
	{"layout", "gather"},
	{"digest", "journal"},
	{"chunk"},
	{"disk"},
	{"boltread"},
	{"fault", "varint"},
}

func TestImportsGoDown(t *testing.T) {
	floor := make(map[string]int)
	for i, rooms := range floors {
		for _, room := range rooms {
			floor[room] = len(floors) - i
		}
	}
	const root = "tachograph/store"
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	rooms := []string{"."}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "testdata" && e.Name() != "storetest" {
			rooms = append(rooms, e.Name())
		}
	}
	for _, room := range rooms {
		t.Run(room, func(t *testing.T) {
			if floor[room] == 0 {
				t.Fatalf("%s has no place in the picture of doc.go", room)
			}
			p, err := build.ImportDir(filepath.FromSlash(room), 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range p.Imports {
				below, ours := strings.CutPrefix(path, root)
				switch below = strings.TrimPrefix(below, "/"); {
				case !ours:
					if strings.HasPrefix(path, "tachograph/") && path != "tachograph/sample/metric" {
						t.Errorf("it imports %s: the store knows sample/metric and itself", path)
					}
					continue
				case below == "":
					below = "."
				}
				if floor[below] >= floor[room] {
					t.Errorf("it imports %s, which does not stand below it", path)
				}
			}
		})
	}
}
