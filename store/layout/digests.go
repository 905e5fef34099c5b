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
	places  *digest.PlacesWriter
}

// NewDigests returns the Digests of an archive; desc describes its metrics.
func NewDigests(desc func(uint32) *metric.Desc) *Digests {
	d := &Digests{whole: digest.NewWholeWriter(desc), places: digest.NewPlacesWriter()}
	for class := range d.classes {
		d.classes[class] = digest.NewWriter(desc, true, true)
	}
	return d
}

func (d *Digests) add(s *chunk.Sealed) {
	d.classes[s.Info.Class].Add(s.Data)
	d.whole.Add(s.Data)
	d.places.Add(s.Data)
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
		b.putRecord(KeyWhole, b.digests.whole.Record())
		b.putRecord(KeyPlaces, b.digests.places.Record())
	case b.desc != nil:
		whole, places := digest.NewWholeWriter(b.desc), digest.NewPlacesWriter()
		for class := range metric.NumClasses {
			n := b.totals.Chunks[class.String()]
			if rest := n % digest.Span; rest >= digest.Least {
				b.digest(class, n-rest, n, true, false)
			}
			if n > digest.Span {
				b.digest(class, 0, n, false, true)
			}
			b.stored(class, 0, n, func(data []byte) {
				whole.Add(data)
				places.Add(data)
			})
		}
		b.putRecord(KeyWhole, whole.Record())
		b.putRecord(KeyPlaces, places.Record())
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

// putRecord puts what is known of all chunks together, if anything is.
func (b *Builder) putRecord(key string, record []byte) {
	if record != nil {
		b.putDigest([]byte(key), record)
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
