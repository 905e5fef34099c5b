package stacks

import (
	"strconv"

	"tachograph/sample/stack"
	"tachograph/store/query"
)

// spot is a place in an image, in whichever process: it is identified by the image's ID,
// wherever that is mapped.
type spot struct {
	image  string
	offset uint64
}

// spelled is the name of a place, where it is known.
type spelled struct {
	symbol, file string
	line         int32
}

// borrow finds names for places that have none. A recorder that looked at one process had more
// time for names than one that looked at all, and a name that it recorded stays valid for the
// same place of the same image. borrow searches all that was recorded, and only if something
// lacks a name.
func (b *builder) borrow(a query.Archive, all []framed) {
	wanted, images := make(map[spot]bool), make(map[string]bool)
	for i := range all {
		if at, ok := b.spot(&all[i]); ok && all[i].name == "" {
			wanted[at], images[at.image] = true, true
		}
	}
	for i := range all {
		if f := &all[i]; f.name != "" {
			if at, ok := b.spot(f); ok && wanted[at] {
				b.lend(wanted, at, spelled{f.name, f.file, f.line})
			}
		}
	}
	if len(wanted) == 0 {
		return
	}
	ever := query.Window{Hosts: b.r.Hosts}
	ids := make(map[id]string)
	for l := range lives(a, ever, stack.DomainImage, stack.ImageSamples) {
		of := id{l.Archive.BootID, l.Instance.Key}
		known := l.Instance.Label(stack.LabelID)
		if b.r.Wants(l.Archive.Host.ID) && images[known] && len(ids) < maxPlaces && b.texts.keep(&of.boot, &of.key, &known) {
			ids[of] = known
		}
	}
	for l := range lives(a, ever, stack.DomainFrame, stack.FrameSamples) {
		in := l.Instance
		of := ids[id{l.Archive.BootID, in.Label(stack.LabelImage)}]
		if in.Name == "" || of == "" || !b.r.Wants(l.Archive.Host.ID) {
			continue
		}
		offset, _ := strconv.ParseUint(in.Label(stack.LabelOffset), 10, 64)
		if at := (spot{of, offset}); wanted[at] {
			b.lend(wanted, at, spelled{name(in.Name), name(in.Label(stack.LabelFile)), lineOf(in, stack.LabelLine)})
		}
		if len(wanted) == 0 {
			return
		}
	}
}

// lend keeps the name of a place, which is then no longer wanted.
func (b *builder) lend(wanted map[spot]bool, at spot, s spelled) {
	if b.texts.keep(&at.image, &s.symbol, &s.file) {
		b.lent[at] = s
	}
	delete(wanted, at)
}

// spot returns the place of a frame; false if its image is unknown.
func (b *builder) spot(f *framed) (spot, bool) {
	if f.image < 0 || b.p.Images[f.image].ID == "" {
		return spot{}, false
	}
	return spot{b.p.Images[f.image].ID, f.offset}, true
}

// same returns the image that represents all with the same ID: the first that has a path.
func (b *builder) same(image int32) int32 {
	if image < 0 || b.p.Images[image].ID == "" {
		return image
	}
	return b.first[b.p.Images[image].ID]
}
