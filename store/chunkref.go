package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"tachograph/store/boltread"
	"tachograph/store/chunk"
)

// A chunkRef is a chunk of an archive, or of what a live one has not sealed.
type chunkRef struct {
	a      *archive
	n      uint32
	info   chunk.Info
	memory []byte // of chunks that are not in the file
	opened *openChunk
}

// open opens the chunk, or returns the one that is open.
func (r *chunkRef) open() (*openChunk, error) {
	if r.opened != nil {
		return r.opened, nil
	}
	src, err := r.source()
	if err != nil {
		return nil, r.wrong(err)
	}
	c, err := chunk.Open(src, r.info.Size)
	if err != nil {
		return nil, r.wrong(err)
	}
	if c.Class != r.info.Class {
		return nil, r.wrong(errors.New("it is of another class than the index says"))
	}
	r.opened = &openChunk{ref: r, Chunk: c, views: make([]*view, len(c.Groups))}
	return r.opened, nil
}

// source is where the chunk's bytes are. Those of a live archive are taken at
// once and checked, because the writer may reuse their pages later.
func (r *chunkRef) source() (io.ReaderAt, error) {
	if r.memory != nil {
		return bytes.NewReader(r.memory), nil
	}
	if r.a.info.Live {
		b, err := r.copied()
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
	if s.Size() != r.info.Size {
		return nil, fmt.Errorf("it has %d bytes, the index says %d", s.Size(), r.info.Size)
	}
	return s, nil
}

// home is where the chunk stands by the latest snapshot.
func (r *chunkRef) home() (*boltread.Bucket, []byte, error) {
	b, err := r.a.latest().Bucket(bucketChunks)
	if b == nil {
		return nil, nil, errors.Join(errors.New("the bucket of the chunks is missing"), err)
	}
	key := chunkKey(r.info.Class, r.n)
	b, err = chunkHome(b, key)
	return b, key, err
}

// copied takes the chunk out of a live archive. Where that has moved on, the
// chunk is looked for again: it keeps its key, not its place.
func (r *chunkRef) copied() ([]byte, error) {
	for try := 1; ; try++ {
		b, key, err := r.home()
		var v []byte
		if err == nil {
			v, err = b.Get(key)
		}
		if err == nil && (int64(len(v)) != r.info.Size || chunk.Checksum(v) != r.info.Sum) {
			err = errRecord
		}
		if err == nil {
			return v, nil
		}
		if changed, e := r.a.latest().Changed(); e != nil || !changed || try == loadTries {
			return nil, err
		}
		if snap, e := boltread.Open(boltread.FileSource(r.a.file)); e == nil {
			r.a.late = snap
		}
	}
}

// latest is the snapshot in which chunks are looked for.
func (a *archive) latest() *boltread.Snapshot {
	if a.late != nil {
		return a.late
	}
	return a.snap
}

func (r *chunkRef) wrong(err error) error {
	return fmt.Errorf("store: chunk %d of class %v (%s to %s): %w", r.n, r.info.Class, clock(r.info.From), clock(r.info.To), err)
}
