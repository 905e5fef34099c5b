package store

import (
	"tachograph/store/archive"
)

// A Cohort is the instances of a selection that were first read in the same chunks. A question
// about all processes of several days is answered cohort by cohort: what the reader keeps about
// one, names above all, is dropped before the next one comes.
type Cohort struct {
	census   *census
	from, to uint32
}

// A census numbers the instances of a selection in the order in which they are first read.
type census struct {
	numbers map[spot][]uint32 // by row
	latest  map[*archive.ChunkRef]uint32
	ends    []uint32 // where the cohorts end
}

// A spot is a group of a chunk.
type spot struct {
	ref   *archive.ChunkRef
	group int
}

func (c *Cohort) has(number uint32) bool { return c == nil || c.from <= number && number < c.to }

// misses reports whether a chunk holds no instance of the cohort.
func (c *Cohort) misses(ref *archive.ChunkRef) bool {
	if c == nil {
		return false
	}
	for at, numbers := range c.census.numbers {
		if at.ref != ref {
			continue
		}
		for _, n := range numbers {
			if c.has(n) {
				return false
			}
		}
	}
	return true
}

// rows returns the rows of the cohort.
func (c *Cohort) rows(v *archive.View) []int {
	rows := []int{}
	for row, n := range c.census.numbers[spot{v.Ref, v.Number}] {
		if c.has(n) {
			rows = append(rows, row)
		}
	}
	return rows
}
