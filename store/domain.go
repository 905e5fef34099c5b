package store

import (
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/source"
)

// A domainGroup is a group of a chunk that has the instances of a domain.
type domainGroup struct {
	archive int // its number
	of      *source.Source
	sel     *Selection // limited to what to ask of the archive
	chunk   *archive.OpenChunk
	number  int // of the group
}

// group returns the group itself.
func (d *domainGroup) group() *chunk.Group { return d.chunk.Groups[d.number] }

// inDomain calls read for each group of a domain that sel may be about, archive by archive and
// chunk by chunk, until it returns false. Where there are processors for it, it calls warm for
// the same group before: warm decodes what read needs, and leaves errors to it.
func (r *Reader) inDomain(sel *Selection, indom string, warm func(*domainGroup), read func(*domainGroup) bool) {
	r.alone()
	var without schemas // schemas that do not have the domain
	for n, a := range r.archives {
		sel := limited(a, sel)
		each := func(ref *archive.ChunkRef, fn func(*domainGroup)) error {
			if without.has(ref.Info.Schema) || ref.LacksDomain(indom) {
				return nil
			}
			c, err := ref.Open()
			if err != nil {
				return err
			}
			found := false
			for i, g := range c.Groups {
				if g.Indom == indom {
					found = true
					fn(&domainGroup{n, a, sel, c, i})
				}
			}
			if !found {
				without.add(ref.Info.Schema)
			}
			return nil
		}
		goOn, out := true, false // nothing is handed out
		refs := chunksIn(a, sel)
		r.ahead(len(refs), func(i int) { _ = each(refs[i], warm) }, func(i int, done func()) bool {
			a.Contain(&out, func() bool {
				if done != nil {
					done()
				}
				if err := each(refs[i], func(d *domainGroup) { goOn = goOn && read(d) }); err != nil {
					a.Lose(err)
				}
				return true
			})
			goOn = goOn && !r.over()
			return goOn
		})
		if !goOn {
			return
		}
		r.release(a)
	}
}
