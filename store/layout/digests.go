package layout

import (
	"tachograph/sample/metric"
	"tachograph/store/digest"
)

// Digests makes the digests of a new archive while Builders put its chunks: each chunk is decoded
// once for all digests that it is in.
type Digests struct {
	desc    func(uint32) *metric.Desc
	writers [metric.NumClasses]*digest.Writer
}

// NewDigests returns the Digests of an archive; desc describes its metrics.
func NewDigests(desc func(uint32) *metric.Desc) *Digests { return &Digests{desc: desc} }

func (d *Digests) of(class metric.Class) *digest.Writer {
	if d.writers[class] == nil {
		d.writers[class] = digest.NewWriter(d.desc, true, true)
	}
	return d.writers[class]
}

// Digest makes the builder put digests, all of them in Finish. Every builder of the archive must
// get d.
func (b *Builder) Digest(d *Digests) { b.digests = d }

// Describe makes the builder of an archive that grows put digests of its chunks, also of those
// that others put; desc describes the chunks' metrics.
func (b *Builder) Describe(desc func(uint32) *metric.Desc) { b.desc = desc }

// lastDigests puts the digests of a class that an archive lacks when it is finished.
func (b *Builder) lastDigests(class metric.Class) {
	n := b.totals.Chunks[class.String()]
	if rest := n % digest.Span; rest >= digest.Least {
		b.digest(class, n-rest, n, true, false)
	}
	if n > digest.Span {
		b.digest(class, 0, n, false, true)
	}
}

// digest puts short or long digests of some chunks of a class that are in the archive.
func (b *Builder) digest(class metric.Class, from, to uint32, short, long bool) {
	if b.err != nil || b.desc == nil {
		return
	}
	w := digest.NewWriter(b.desc, short, long)
	all := b.tx.Bucket([]byte(BucketChunks))
	for n := from; n < to; n++ {
		key := ChunkKey(class, n)
		home := all
		if own := all.Bucket(key); own != nil {
			home = own
		}
		w.Add(home.Get(key))
	}
	b.putDigests(class, from, w)
}

// putDigests puts what w made of the chunks from number first on. An archive without digests only
// takes longer to answer.
func (b *Builder) putDigests(class metric.Class, first uint32, w *digest.Writer) {
	records := w.Records()
	if len(records) == 0 || b.err != nil {
		return
	}
	bucket, err := b.tx.CreateBucketIfNotExists([]byte(BucketDigests)) // an earlier writer's archive has none
	if err != nil {
		b.Fail(err)
		return
	}
	bucket.FillPercent = 1
	for _, r := range records {
		b.put(BucketDigests, DigestKey(class, first+uint32(r.First), uint32(r.Chunks)), r.Data)
	}
}
