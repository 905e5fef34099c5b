package archive

import (
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
	w, err := digest.ParseWhole(record)
	if err != nil || len(w.Sums) != len(a.Chunks) {
		return nil
	}
	for i, ref := range a.Chunks {
		if ref.beside != nil || ref.Info.Sum != w.Sums[i] {
			return nil
		}
	}
	return w
}
