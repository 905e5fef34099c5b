package layout

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/digest"
)

// A Builder puts records into an archive, in one transaction, and counts what
// they hold. After an error it does nothing more.
type Builder struct {
	tx     *bbolt.Tx
	totals *Totals
	desc   func(uint32) *metric.Desc
	err    error
	// digests are those of a new archive, all of whose chunks come from its Builders.
	digests *Digests
}

// Build returns a transaction, for bbolt's Update, in which fn builds. It adds to the counts in
// t, which mean nothing if the transaction fails.
func Build(t *Totals, fn func(*Builder)) func(*bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		b := Builder{tx: tx, totals: t}
		fn(&b)
		return b.err
	}
}

// Fail makes the transaction fail.
func (b *Builder) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// put puts a record, with its checksum.
func (b *Builder) put(bucket string, key, value []byte) {
	if b.err == nil {
		b.err = b.tx.Bucket([]byte(bucket)).Put(key, wrap(bucket, key, value))
	}
}

func (b *Builder) putJSON(bucket, key string, v any) {
	value, err := json.Marshal(v)
	if err != nil {
		b.Fail(err)
	}
	b.put(bucket, []byte(key), value)
}

// Create makes the buckets and puts the header.
func (b *Builder) Create(h *Header) {
	for _, name := range slices.Concat(Buckets, Beside) {
		bucket, err := b.tx.CreateBucketIfNotExists([]byte(name))
		if err != nil {
			b.Fail(err)
			return
		}
		// Keys only grow: pages are filled to the brim.
		bucket.FillPercent = 1
	}
	b.putJSON(BucketSpare, MetaArchive, h)
	b.putJSON(BucketMeta, MetaArchive, h)
}

// Settings puts the configuration and the intervals of the classes that belong to it.
func (b *Builder) Settings(config string, intervals metric.Intervals) {
	b.put(BucketMeta, []byte(MetaConfig), chunk.Pack([]byte(config)))
	b.putJSON(BucketMeta, MetaIntervals, intervals)
}

// Progress puts how far the journal has been taken over.
func (b *Builder) Progress(p Progress) { b.putJSON(BucketMeta, MetaJournal, p) }

// Descs puts descriptions, the first of which has number first. Those that are nil are left out;
// their numbers stay taken.
func (b *Builder) Descs(first uint32, ds []*metric.Desc) {
	if len(ds) == 0 {
		return
	}
	b.totals.Metrics = first + uint32(len(ds))
	for len(ds) > 0 {
		n := slices.Index(ds, nil)
		if n < 0 {
			n = len(ds)
		}
		if n > 0 {
			b.put(BucketSpare, NumberKey(first), marshalDescs(bare(ds[:n])))
			b.put(BucketMetrics, NumberKey(first), marshalDescs(ds[:n]))
		}
		n = min(n+1, len(ds))
		first, ds = first+uint32(n), ds[n:]
	}
}

// bare returns the descriptions without their prose.
func bare(ds []*metric.Desc) []*metric.Desc {
	out := make([]*metric.Desc, len(ds))
	for i, d := range ds {
		b := *d
		b.Source, b.Help, b.LongHelp, b.Unsupported = "", "", "", ""
		out[i] = &b
	}
	return out
}

// Chunk puts the next chunk of its class and its entry in the index.
func (b *Builder) Chunk(s *chunk.Sealed) {
	b.chunk(s, func(all *bbolt.Bucket, _ []byte) (*bbolt.Bucket, error) {
		all.FillPercent = 1
		return all, nil
	})
}

// ChunkApart is Chunk for an archive that still grows. bbolt keeps a value in a leaf with up to
// three neighbours, all of which it writes again when another joins them. So in such an archive
// each chunk has a bucket of its own, and is in it under its key.
func (b *Builder) ChunkApart(s *chunk.Sealed) { b.chunk(s, (*bbolt.Bucket).CreateBucket) }

func (b *Builder) chunk(s *chunk.Sealed, home func(all *bbolt.Bucket, key []byte) (*bbolt.Bucket, error)) {
	if b.err != nil {
		return
	}
	class := s.Info.Class.String()
	key := ChunkKey(s.Info.Class, b.totals.Chunks[class])
	bucket, err := home(b.tx.Bucket([]byte(BucketChunks)), key)
	if err == nil {
		err = bucket.Put(key, s.Data)
	}
	if err != nil {
		b.Fail(err)
		return
	}
	b.put(BucketIndex, key, s.Info.Marshal())
	if b.totals.Chunks == nil {
		b.totals.Chunks = make(map[string]uint32)
	}
	b.totals.Chunks[class]++
	if b.digests != nil {
		b.digests.add(s)
	} else if n := b.totals.Chunks[class]; n%digest.Span == 0 {
		b.digest(s.Info.Class, n-digest.Span, n, true, false)
	}
}

// Events puts events in batches. Starts and ends of processes, which are many, have batches of
// their own, so that a reader of the few others need not wade through them. Events goes through
// events twice, and holds one batch at a time.
func (b *Builder) Events(events iter.Seq[metric.Event]) {
	for _, churn := range []bool{false, true} {
		var batch []metric.Event
		put := func() {
			if len(batch) > 0 {
				b.put(BucketEvents, NumberKey(b.totals.Events), chunk.MarshalEvents(batch))
				b.totals.Events++
			}
			batch = batch[:0]
		}
		for e := range events {
			if IsChurn(e.Kind) != churn {
				continue
			}
			if batch = append(batch, e); len(batch) == EventBatch {
				put()
			}
		}
		put()
	}
}

// Count puts the totals.
func (b *Builder) Count() { b.putJSON(BucketMeta, MetaTotals, b.totals) }

// Finish puts the totals and marks the archive as complete.
func (b *Builder) Finish() {
	b.finish()
	b.totals.Finished = true
	b.Count()
}

// Clone returns a copy of t that can be changed without changing t.
func (t Totals) Clone() Totals {
	t.Chunks = maps.Clone(t.Chunks)
	return t
}
