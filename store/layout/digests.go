package layout

import (
	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/digest"
)

// Digests makes the digests of a new archive while Builders put its chunks: each chunk is decoded
// once for all digests that it is in.
type Digests struct {
	classes [metric.NumClasses]*digest.Writer
	whole   *digest.WholeWriter
}

// NewDigests returns the Digests of an archive; desc describes its metrics.
func NewDigests(desc func(uint32) *metric.Desc) *Digests {
	d := &Digests{whole: digest.NewWholeWriter(desc)}
	for class := range d.classes {
		d.classes[class] = digest.NewWriter(desc, true, true)
	}
	return d
}

func (d *Digests) add(s *chunk.Sealed) {
	d.classes[s.Info.Class].Add(s.Data)
	d.whole.Add(s.Data)
}

// Digest makes the builder put digests, all of them in Finish. Every builder of the archive must
// get d.
func (b *Builder) Digest(d *Digests) { b.digests = d }

// Describe makes the builder of an archive that grows put digests of its chunks, also of those
// that others put; desc describes the chunks' metrics.
func (b *Builder) Describe(desc func(uint32) *metric.Desc) { b.desc = desc }

// finish puts the digests that an archive lacks when it is finished.
func (b *Builder) finish() {
	switch {
	case b.digests != nil:
		for class, w := range b.digests.classes {
			b.putDigests(metric.Class(class), 0, w)
		}
		b.putWhole(b.digests.whole)
	case b.desc != nil:
		whole := digest.NewWholeWriter(b.desc)
		for class := range metric.NumClasses {
			n := b.totals.Chunks[class.String()]
			if rest := n % digest.Span; rest >= digest.Least {
				b.digest(class, n-rest, n, true, false)
			}
			if n > digest.Span {
				b.digest(class, 0, n, false, true)
			}
			b.stored(class, 0, n, whole.Add)
		}
		b.putWhole(whole)
	}
}

// digest puts short or long digests of some chunks of a class that are in the archive.
func (b *Builder) digest(class metric.Class, from, to uint32, short, long bool) {
	if b.desc == nil {
		return
	}
	w := digest.NewWriter(b.desc, short, long)
	b.stored(class, from, to, w.Add)
	b.putDigests(class, from, w)
}

// stored calls fn for chunks that are in the archive.
func (b *Builder) stored(class metric.Class, from, to uint32, fn func([]byte)) {
	if b.err != nil {
		return
	}
	all := b.tx.Bucket([]byte(BucketChunks))
	for n := from; n < to; n++ {
		key := ChunkKey(class, n)
		home := all
		if own := all.Bucket(key); own != nil {
			home = own
		}
		fn(home.Get(key))
	}
}

// putDigests puts what w made of the chunks from number first on. An archive without digests only
// takes longer to answer.
func (b *Builder) putDigests(class metric.Class, first uint32, w *digest.Writer) {
	for _, r := range w.Records() {
		b.putDigest(DigestKey(class, first+uint32(r.First), uint32(r.Chunks)), r.Data)
	}
}

// putWhole puts the records about the whole archive.
func (b *Builder) putWhole(w *digest.WholeWriter) {
	if record := w.Record(); record != nil {
		b.putDigest([]byte(KeyWhole), record)
	}
	if record := w.Places(); record != nil {
		b.putDigest([]byte(KeyPlaces), record)
	}
}

func (b *Builder) putDigest(key, record []byte) {
	if b.err != nil {
		return
	}
	bucket, err := b.tx.CreateBucketIfNotExists([]byte(BucketDigests)) // an earlier writer's archive has none
	if err != nil {
		b.Fail(err)
		return
	}
	bucket.FillPercent = 1
	b.put(BucketDigests, key, record)
}
