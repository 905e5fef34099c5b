package chunk

import (
	"fmt"

	"tachograph/sample/metric"
)

// A codec decodes the parts of chunks of one format version. Every chunk is read with the codec
// that its first byte selects, because compaction copies single chunks unchanged, so that an
// archive can hold several versions. A later version takes from an earlier one what it leaves
// unchanged.
type codec struct {
	directory func(c *Chunk, dir []byte, at int64) error
	clocks    func(in []byte, n int, withAwake bool) (wall, cont, awake []int64, err error)
	strings   func(in []byte, n int) ([]string, error)
	blocks    func(in []byte, ticks []metric.Stamp, n int) ([]blockAt, error)
	instances func(g *Group) (holder, error)
	activity  func(in []byte, lives *lifetimes) (*activity, error)
	column    func(in []byte, lives *lifetimes, act *activity, reasons []metric.Reason, find other, rows []int, until uint32, fn func(i int, s *Series) error) error
	summaries func(in []byte, cols, n int, rows []int, inst func(row int) (*Instance, error), descs func(col int) *metric.Desc, conts []int64, fn func(col, i int, sum *Summary)) error
	// references is the longest chain of series that a series may be predicted through.
	references int
	sketches   func(in []byte, groups []*Group) (sketches, error)
}

// codecs are the readable versions.
var codecs = map[byte]*codec{
	Version: {
		references: maxReferences,
		directory:  (*Chunk).parse,
		clocks:     decodeClocks,
		strings:    decodeStrings,
		blocks:     decodeBlocks,
		instances:  (*Group).instances,
		activity:   openActivity,
		column:     decodeColumn,
		summaries:  decodeSummaries,
		sketches:   decodeSketches,
	},
}

func codecOf(version byte) (*codec, error) {
	c := codecs[version]
	switch {
	case c == nil && version > 0 && version < Version:
		return nil, fmt.Errorf("format version %d, which was never released", version)
	case c == nil:
		return nil, fmt.Errorf("format version %d, known is %d: a newer program is needed, or it is damaged", version, Version)
	}
	return c, nil
}
