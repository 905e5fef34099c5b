package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
)

// A Visitor receives what the records of an archive hold. It has a function for each kind of
// record; each may be nil.
type Visitor struct {
	// Records of the bucket meta.
	Header    func(Header)
	Config    func(string)
	Intervals func(metric.Intervals)
	Totals    func(Totals)
	Progress  func(Progress)

	// Descs receives descriptions of metrics and the number of the first.
	Descs func(first uint32, ds []*metric.Desc)

	// The same for the bucket spare.
	SpareHeader func(Header)
	SpareDescs  func(first uint32, ds []*metric.Desc)

	// Index receives the index entry of chunk n.
	Index func(n uint32, in chunk.Info)

	// Digest receives a digest of chunks of a class, the first of which is chunk n.
	Digest func(class metric.Class, n uint32, value []byte)
	// Whole receives what is said about all chunks.
	Whole func(value []byte)
	// Places receives where in the chunks the instances are.
	Places func(value []byte)

	// Chunk is called for each chunk. The chunk's bytes are read only when it calls read.
	Chunk func(class metric.Class, n uint32, read func() ([]byte, error))

	// Events receives the events of batch n. If Events is nil, EventHead receives the batch's
	// head, which can be read without unpacking the batch.
	Events    func(n uint32, events []metric.Event)
	EventHead func(n uint32, h chunk.EventHead, batch []byte)

	// Stored receives the length of each record, its key included.
	Stored func(bytes int)

	// Damaged is called for each record or bucket that is not as it was written.
	Damaged func(*RecordError)
}

// A RecordError says what is wrong with a record.
type RecordError struct {
	Bucket string
	Key    []byte // nil: the whole bucket is wrong
	Err    error
}

// Where names the record for people.
func (e *RecordError) Where() string {
	if e.Key == nil {
		return "bucket " + e.Bucket
	}
	return fmt.Sprintf("record %q of %s", e.Key, e.Bucket)
}

func (e *RecordError) Error() string {
	switch d := (*boltread.Damage)(nil); {
	case errors.As(e.Err, &d):
		return d.Error() // its text includes the place
	case e.Key == nil:
		return "bucket " + e.Bucket + " is missing"
	}
	return fmt.Sprintf("record %x of %s: %v", e.Key, e.Bucket, e.Err)
}

func (e *RecordError) Unwrap() error { return e.Err }

// Some of the errors of a RecordError.
var (
	ErrChecksum = errors.New("the checksum is wrong: it is damaged")
	ErrMissing  = errors.New("it is missing")
	ErrFlags    = errors.New("its flags are damaged")
)

// MaxRecord limits the size of the records that are read, chunks excepted.
const MaxRecord = 64 << 20

// Visit calls v's functions for everything the buckets hold, one bucket after the other, each in
// order. What could not be read of the file itself is in the snapshot's Damage.
func (v *Visitor) Visit(s *boltread.Snapshot, buckets ...string) {
	for _, name := range buckets {
		b, err := s.Bucket(name)
		if b == nil {
			if err == nil && !slices.Contains(Beside, name) {
				err = ErrMissing
			}
			v.damaged(name, nil, err)
			continue
		}
		c := b.Cursor()
		for ok := c.First(); ok; ok = c.Next() {
			key := bytes.Clone(c.Key())
			if name == BucketChunks {
				err = v.chunk(b, key)
			} else {
				err = v.record(name, key, c)
			}
			v.damaged(name, key, err)
		}
	}
}

// VisitAll is Visit for callers that cannot use a damaged archive: it returns the first error in
// the buckets.
func (v *Visitor) VisitAll(s *boltread.Snapshot, buckets ...string) error {
	var first error
	strict := *v
	strict.Damaged = func(e *RecordError) {
		if first == nil {
			first = e
		}
	}
	strict.Visit(s, buckets...)
	if d := s.Damage(); first == nil && len(d) > 0 {
		first = &RecordError{Err: d[0]}
	}
	return first
}

// VisitOne calls v's function for one record, if that exists.
func (v *Visitor) VisitOne(s *boltread.Snapshot, bucket, key string) error {
	b, err := s.Bucket(bucket)
	if err == nil && b == nil {
		err = ErrMissing
	}
	if err != nil {
		return &RecordError{bucket, nil, err}
	}
	c := b.Cursor()
	if !c.Seek([]byte(key)) || string(c.Key()) != key {
		return c.Err()
	}
	if err := v.record(bucket, []byte(key), c); err != nil {
		return &RecordError{bucket, []byte(key), err}
	}
	return nil
}

func (v *Visitor) damaged(bucket string, key []byte, err error) {
	if err != nil && v.Damaged != nil {
		v.Damaged(&RecordError{bucket, key, err})
	}
}

// record passes the record at c to v.
func (v *Visitor) record(bucket string, key []byte, c *boltread.Cursor) error {
	if c.ValueSize() > MaxRecord {
		return fmt.Errorf("%d bytes are too many", c.ValueSize())
	}
	if c.IsBucket() {
		// No record is a bucket. The checksum shows whether the rest is sound.
		v.damaged(bucket, key, ErrFlags)
	}
	stored, err := c.Value()
	if err != nil {
		return err
	}
	if v.Stored != nil {
		v.Stored(len(key) + len(stored))
	}
	value, err := unwrap(bucket, key, stored)
	if err != nil {
		if value, err = Mended(bucket, key, stored); err != nil {
			return err
		}
		v.damaged(bucket, key, chunk.ErrMended)
	}
	return v.Record(bucket, key, value)
}

// Recognize identifies a record that was found out of its place: the record's checksum shows
// which bucket it belongs to, no matter how it was found. The bucket is empty if this is no
// record.
func Recognize(key []byte, size int64, read func() ([]byte, error)) (bucket string, value []byte, err error) {
	if size > MaxRecord {
		return "", nil, nil
	}
	stored, err := read()
	if err != nil {
		return "", nil, err
	}
	for _, bucket := range slices.Concat(Buckets, Beside) {
		if value, err := unwrap(bucket, key, stored); err == nil {
			return bucket, value, nil
		}
	}
	return "", nil, nil
}

// Record passes a record whose checksum is right to v. Everything that is decoded from an
// archive, except chunks, is decoded here.
func (v *Visitor) Record(bucket string, key, value []byte) error {
	switch bucket {
	case BucketMeta:
		return v.fact(string(key), value)
	case BucketMetrics:
		return descs(key, value, v.Descs)
	case BucketSpare:
		if string(key) == MetaArchive {
			return fromJSON(value, v.SpareHeader)
		}
		return descs(key, value, v.SpareDescs)
	case BucketIndex:
		return v.index(key, value)
	case BucketEvents:
		return v.events(key, value)
	case BucketDigests:
		if string(key) == KeyWhole {
			if v.Whole != nil {
				v.Whole(value)
			}
			return nil
		}
		if string(key) == KeyPlaces {
			if v.Places != nil {
				v.Places(value)
			}
			return nil
		}
		class, n, _, err := parseDigestKey(key)
		if err == nil && v.Digest != nil {
			v.Digest(class, n, value)
		}
		return err
	}
	return nil
}

func (v *Visitor) fact(key string, value []byte) error {
	switch key {
	case MetaArchive:
		return fromJSON(value, v.Header)
	case MetaConfig:
		raw, err := chunk.Unpack(value, chunk.MaxConfig)
		if err == nil && v.Config != nil {
			v.Config(string(raw))
		}
		return err
	case MetaIntervals:
		return fromJSON(value, v.Intervals)
	case MetaTotals:
		return fromJSON(value, v.Totals)
	case MetaJournal:
		return fromJSON(value, v.Progress)
	}
	return nil
}

func fromJSON[T any](value []byte, tell func(T)) error {
	var t T
	err := json.Unmarshal(value, &t)
	if err == nil && tell != nil {
		tell(t)
	}
	return err
}

func descs(key, value []byte, tell func(uint32, []*metric.Desc)) error {
	first, err := parseNumber(key)
	if err != nil {
		return err
	}
	ds, err := parseDescs(value)
	if err == nil && uint64(first)+uint64(len(ds)) > MaxMetrics {
		err = errDescs
	}
	if err == nil && tell != nil {
		tell(first, ds)
	}
	return err
}

func (v *Visitor) index(key, value []byte) error {
	class, n, err := ParseChunkKey(key)
	if err != nil {
		return err
	}
	in, err := chunk.ParseInfo(value)
	if err == nil && in.Class != class {
		err = fmt.Errorf("it is of class %s", in.Class)
	}
	if err == nil && v.Index != nil {
		v.Index(n, in)
	}
	return err
}

func (v *Visitor) events(key, value []byte) error {
	n, err := parseNumber(key)
	if err != nil {
		return err
	}
	if v.Events != nil {
		events, err := chunk.ParseEvents(value)
		if err == nil {
			v.Events(n, events)
		}
		return err
	}
	head, err := chunk.ParseEventHead(value)
	if err == nil && v.EventHead != nil {
		v.EventHead(n, head, value)
	}
	return err
}

func (v *Visitor) chunk(chunks *boltread.Bucket, key []byte) error {
	class, n, err := ParseChunkKey(key)
	if err == nil && v.Chunk != nil {
		v.Chunk(class, n, func() ([]byte, error) {
			home, err := ChunkHome(chunks, key)
			if err != nil {
				return nil, err
			}
			data, err := home.Get(key)
			if data == nil && err == nil {
				err = ErrMissing
			}
			return data, err
		})
	}
	return err
}

// InspectChunk decodes a chunk and returns what its index entry should say.
func InspectChunk(data []byte, desc func(uint32) *metric.Desc) (chunk.Info, error) {
	c, err := chunk.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return chunk.Info{}, err
	}
	in, err := c.Inspect(desc)
	in.Size, in.Sum = int64(len(data)), chunk.Checksum(data)
	return in, err
}
