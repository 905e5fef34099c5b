package archive

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/digest"
	"tachograph/store/layout"
)

// Whole returns what the archive says about all its chunks together; nil if it says nothing, or
// if it has other chunks.
func (a *File) Whole() *digest.Whole {
	record := layout.Get(a.Snap, layout.BucketDigests, []byte(layout.KeyWhole))
	if record == nil {
		return nil
	}
	if w, err := digest.ParseWhole(record); err == nil && a.chunksAre(w.Sums) {
		return w
	}
	return nil
}

// chunksAre reports whether the archive's chunks are those with these checksums.
func (a *File) chunksAre(sums []uint32) bool {
	return slices.EqualFunc(a.Chunks, sums, func(ref *ChunkRef, sum uint32) bool { return ref.beside == nil && ref.Info.Sum == sum })
}

// readPlaces returns what the archive says about where in its chunks the instances are; nil if it
// says nothing, or if it has other chunks.
func (a *File) readPlaces() *digest.Places {
	record := layout.Get(a.Snap, layout.BucketDigests, []byte(layout.KeyPlaces))
	if record == nil {
		return nil
	}
	p, err := digest.ParsePlaces(record)
	if err != nil || !a.chunksAre(p.Sums) {
		return nil
	}
	var next [metric.NumClasses]uint32 // The record numbers the chunks of a class from 0.
	for _, ref := range a.Chunks {
		if ref.n != next[ref.Info.Class] {
			return nil
		}
		next[ref.Info.Class]++
	}
	return p
}

// lead makes the groups of a chunk whose instances come and go ask where these are.
func (c *OpenChunk) lead() {
	r := c.Ref
	if r.beside != nil || r.Archive.Info.Live {
		return
	}
	for i, g := range c.Groups {
		if metric.PerBoot(g.Indom) {
			g.Lead(func() chunk.Guide {
				if p := r.Archive.places(); p != nil {
					return p.Guide(r.Info.Class, r.n, i)
				}
				return nil
			})
		}
	}
}
