package archive

import (
	"maps"
	"slices"
	"sync"

	"tachograph/store/chunk"
)

// twin returns a copy of b that can be read while b is.
func (b *Beside) twin() *Beside {
	switch {
	case b.Present != nil:
		return &Beside{Info: b.Info, Present: b.Present.Twin()}
	case b.Later != nil:
		return &Beside{Info: b.Info, Later: &Later{b.Later.Groups, sync.OnceValues(func() (*chunk.Chunk, error) {
			c, err := b.Later.Make()
			if err != nil {
				return nil, err
			}
			return c.Twin(), nil
		})}}
	}
	return b
}

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
		if r.beside != nil {
			refs[i].beside = r.beside.twin()
		}
		t.Chunks[i] = &refs[i]
	}
	return t
}
