package archive

import (
	"maps"
	"slices"
)

// Twin returns a copy of what a shows now, which can be read while a is. No chunk of it is
// open.
func (a *File) Twin() *File {
	t := new(File)
	*t = *a
	t.completed, t.moved, t.damage = maps.Clone(a.completed), maps.Clone(a.moved), maps.Clone(a.damage)
	t.Info.Damage, t.Events = slices.Clone(a.Info.Damage), slices.Clone(a.Events)
	refs := make([]ChunkRef, len(a.Chunks))
	t.Chunks = make([]*ChunkRef, len(a.Chunks))
	for i, r := range a.Chunks {
		refs[i] = ChunkRef{Archive: t, n: r.n, Info: r.Info, beside: r.beside}
		if b := r.beside; b != nil && b.Present != nil {
			refs[i].beside = &Beside{Info: b.Info, Data: b.Data, Present: b.Present.Twin()}
		}
		t.Chunks[i] = &refs[i]
	}
	return t
}
