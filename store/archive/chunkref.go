package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"tachograph/sample/metric"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
	"tachograph/store/digest"
	"tachograph/store/layout"
)

// A ChunkRef is a chunk of an archive, or of the unsealed ticks of a live one.
type ChunkRef struct {
	Archive *File
	n       uint32
	Info    chunk.Info
	beside  *Beside    // set for chunks that are not in the file
	Opened  *OpenChunk // nil unless it is open
}

// Beside is a chunk that is not in the file: its bytes, or a Present chunk that has none, or one
// that is present only Later.
type Beside struct {
	Info    chunk.Info
	Data    []byte
	Present *chunk.Chunk
	Later   *Later
}

// A Later is a chunk that is made when it is opened for the first time. Until then only its Info,
// without Values, and its metrics are known.
type Later struct {
	Groups []LaterGroup
	// Make makes the chunk, or returns the one that it has made.
	Make func() (*chunk.Chunk, error)
}

// A LaterGroup gives the domain of a group that is not decoded yet, and the numbers of its metrics.
type LaterGroup struct {
	Indom   string
	Metrics []uint32
}

// present returns a chunk that has no bytes; nil for the others.
func (b *Beside) present() (*chunk.Chunk, error) {
	if b.Later != nil {
		return b.Later.Make()
	}
	return b.Present, nil
}

// Lacks reports whether it is known, without opening it, that the chunk has none of the wanted
// metrics.
func (r *ChunkRef) Lacks(wanted []bool) bool {
	if r.beside == nil || r.beside.Later == nil {
		return false
	}
	for _, g := range r.beside.Later.Groups {
		for _, n := range g.Metrics {
			if int(n) < len(wanted) && wanted[n] {
				return false
			}
		}
	}
	return true
}

// LacksDomain is Lacks for all metrics of a domain.
func (r *ChunkRef) LacksDomain(indom string) bool {
	return r.beside != nil && r.beside.Later != nil &&
		!slices.ContainsFunc(r.beside.Later.Groups, func(g LaterGroup) bool { return g.Indom == indom })
}

// Open opens the chunk, or returns the one that is open.
func (r *ChunkRef) Open() (*OpenChunk, error) {
	if r.Opened != nil {
		return r.Opened, nil
	}
	if r.beside != nil && r.beside.Data == nil {
		c, err := r.beside.present()
		if err != nil {
			return nil, r.Wrong(err)
		}
		r.Opened = &OpenChunk{Ref: r, Chunk: c, views: make([]*View, len(c.Groups))}
		return r.Opened, nil
	}
	src, err := r.source()
	if err != nil {
		return nil, r.Wrong(err)
	}
	c, err := chunk.Open(src, r.Info.Size)
	if err != nil {
		return nil, r.Wrong(err)
	}
	if c.Class != r.Info.Class {
		return nil, r.Wrong(errors.New("it is of another class than the index says"))
	}
	r.Opened = &OpenChunk{Ref: r, Chunk: c, views: make([]*View, len(c.Groups))}
	r.Opened.lead()
	return r.Opened, nil
}

// source returns a reader of the chunk's bytes. The bytes of a live archive are read at once
// and checked, because the writer may reuse their pages later.
func (r *ChunkRef) source() (io.ReaderAt, error) {
	if r.beside != nil {
		return bytes.NewReader(r.beside.Data), nil
	}
	if r.Archive.Info.Live {
		b, err := r.copied()
		if b != nil && errors.Is(err, layout.ErrChecksum) {
			err = nil // its parts have checksums of their own
		}
		return bytes.NewReader(b), err
	}
	b, key, err := r.home()
	if err != nil {
		return nil, err
	}
	s, err := b.Section(key)
	if s == nil || err != nil {
		return nil, errors.Join(errors.New("it is missing"), err)
	}
	if s.Size() != r.Info.Size {
		return nil, fmt.Errorf("it has %d bytes, the index says %d", s.Size(), r.Info.Size)
	}
	return s, nil
}

func (r *ChunkRef) key() []byte { return layout.ChunkKey(r.Info.Class, r.n) }

// home returns the chunk's bucket and key in the latest snapshot.
func (r *ChunkRef) home() (*boltread.Bucket, []byte, error) {
	b, err := r.Archive.latest().Bucket(layout.BucketChunks)
	if b == nil {
		return nil, nil, errors.Join(errors.New("the bucket of the chunks is missing"), err)
	}
	key := r.key()
	b, err = layout.ChunkHome(b, key)
	return b, key, err
}

// copied reads the whole chunk. If a live archive has changed meanwhile, it looks for the chunk
// again: the chunk keeps its key, not its place. It returns a damaged chunk along with
// layout.ErrChecksum.
func (r *ChunkRef) copied() ([]byte, error) {
	for try := 1; ; try++ {
		b, key, err := r.home()
		var v []byte
		if err == nil {
			v, err = b.Get(key)
		}
		if err == nil && (int64(len(v)) != r.Info.Size || chunk.Checksum(v) != r.Info.Sum) {
			err = layout.ErrChecksum
		}
		if err == nil {
			return v, nil
		}
		if changed, e := r.Archive.latest().Changed(); e != nil || !changed || try == LoadTries {
			if e != nil || changed || int64(len(v)) != r.Info.Size {
				v = nil
			}
			return v, err
		}
		if snap, e := boltread.Open(r.Archive.file); e == nil {
			lateness.Lock()
			r.Archive.late = snap
			lateness.Unlock()
		}
	}
}

// Sealed returns the encoded chunk; nil for a chunk that has no bytes.
func (r *ChunkRef) Sealed() (*chunk.Sealed, error) {
	if r.beside != nil {
		if r.beside.Data == nil {
			return nil, nil
		}
		return &chunk.Sealed{Info: r.Info, Data: r.beside.Data}, nil
	}
	b, err := r.copied()
	if err != nil {
		return nil, r.Wrong(err)
	}
	return &chunk.Sealed{Info: r.Info, Data: b}, nil
}

// Digests yields the digests that were made of the chunk and of the first chunks of after, the
// longest first, with the columns that want accepts by the number of their metric. It leaves out
// those of which something is hidden. It looks for them in the first snapshot only. If that
// snapshot's pages have been reused, the checksums show it.
func (r *ChunkRef) Digests(after []*ChunkRef, want func(number uint32) bool) iter.Seq[*digest.Digest] {
	return func(yield func(*digest.Digest) bool) {
		if r.beside != nil {
			return
		}
		for _, key := range layout.DigestKeys(r.Archive.Snap, r.Info.Class, r.n, len(after)+1) {
			if d := r.digest(key, after, want); d != nil && !yield(d) {
				return
			}
		}
	}
}

// digest reads one of the chunk's digests; it returns nil if that does not fit the chunks.
func (r *ChunkRef) digest(key []byte, after []*ChunkRef, want func(number uint32) bool) *digest.Digest {
	record := layout.Get(r.Archive.Snap, layout.BucketDigests, key)
	if record == nil {
		return nil
	}
	d, err := digest.ParseColumns(record, want)
	if err != nil || len(d.Sums) > len(after)+1 || d.Sums[0] != r.Info.Sum {
		return nil
	}
	if d.From.Wall < r.Info.From || d.From.Cont < r.Info.First.Cont {
		return nil
	}
	last := r
	for i, sum := range d.Sums[1:] {
		last = after[i]
		if last.beside != nil || last.Info.Class != r.Info.Class || last.n != r.n+uint32(i)+1 || last.Info.Sum != sum {
			return nil
		}
	}
	if d.To.Wall > last.Info.To || r.Archive.hidesOf(r.Info.From, last.Info.To) {
		return nil
	}
	return d
}

// lateness guards the late snapshots of all archives, as several chunks of one may be opened at
// a time.
var lateness sync.Mutex

// latest returns the snapshot in which chunks are looked for.
func (a *File) latest() *boltread.Snapshot {
	lateness.Lock()
	defer lateness.Unlock()
	if a.late != nil {
		return a.late
	}
	return a.Snap
}

// Wrong wraps err to say that the chunk cannot be read, and when it was recorded.
func (r *ChunkRef) Wrong(err error) error {
	return &ChunkError{Class: r.Info.Class, Number: r.n, From: r.Info.From, To: r.Info.To, Err: err}
}

// A ChunkError says that a chunk cannot be read.
type ChunkError struct {
	Class    metric.Class
	Number   uint32
	From, To int64 // wall clocks, from the index
	Err      error
}

func (e *ChunkError) Error() string {
	return fmt.Sprintf("chunk %d of class %v (%s to %s): %v", e.Number, e.Class, clock(e.From), clock(e.To), e.Err)
}

func (e *ChunkError) Unwrap() error { return e.Err }
