package mend

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
	"tachograph/store/disk"
	"tachograph/store/fault"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// A Finding is one thing in an archive that is not as it was written.
type Finding struct {
	Path string
	// Where is the place in the file: a page, a chunk, a byte.
	Where string
	What  string
	// From and To are the wall clocks of what is affected; zero where that is
	// not known.
	From, To int64
}

// String is f in one line.
func (f Finding) String() string {
	s := f.Path + ": " + f.Where + ": " + f.What
	if f.From != 0 || f.To != 0 {
		s += " (" + fault.Span(f.From, f.To) + ")"
	}
	return strings.ReplaceAll(s, "\n", "; ")
}

// Verify checks an archive, or all archives and journals of a directory,
// through and through: the structure of the database, every checksum, every
// chunk decoded, the index against the content. progress, if set, is told how
// many bytes of how many are done. An error means that path could not be read
// at all.
//
// A live archive may be verified while it is being written.
func Verify(path string, progress func(done, total int64)) ([]Finding, error) {
	files, err := layout.FilesAt(path)
	if err != nil {
		return nil, err
	}
	v := &verifier{progress: progress, owner: make(map[string]*owner)}
	for _, f := range files {
		if st, err := os.Lstat(f); err == nil {
			v.total += st.Size()
		}
	}
	for len(files) > 0 {
		n := 1
		for n < len(files) && layout.IsJournalName(filepath.Base(files[n])) {
			n++
		}
		v.together(files[:n])
		files = files[n:]
	}
	return v.findings, nil
}

// together checks an archive and the journals behind it. Journals are opened
// before the archive is looked at: a recorder removes one once the archive
// holds what it does.
func (v *verifier) together(files []string) {
	open := make([]*os.File, len(files))
	for i, name := range slices.Backward(files) {
		f, err := disk.OpenNoFollow(name, os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a recorder took it away meanwhile
		}
		if err != nil {
			v.path = name
			v.add("file", 0, 0, err)
			continue
		}
		defer f.Close()
		open[i] = f
	}
	for i, f := range open {
		if f == nil {
			continue
		}
		v.path = files[i]
		at := v.done
		if err := fault.Contain(func() error { v.file(f, files[i+1:]); return nil }); err != nil {
			v.add("file", 0, 0, err)
		}
		if st, err := f.Stat(); err == nil {
			v.done = at + st.Size()
		}
		v.tell()
	}
	if len(files) > 0 && layout.IsLiveName(files[0]) {
		v.path = files[0]
		v.missingJournal(open)
	}
}

type verifier struct {
	path        string
	progress    func(done, total int64)
	done, total int64
	findings    []Finding
	// owner is what live archives say about their journals, by name.
	owner map[string]*owner
}

// owner is what an archive says about its journal.
type owner struct {
	journal.Follower
	progress layout.Progress
	finished bool
}

func (v *verifier) tell() {
	if v.progress != nil {
		v.progress(min(v.done, v.total), v.total)
	}
}

func (v *verifier) add(where string, from, to int64, err error) {
	v.findings = append(v.findings, Finding{Path: v.path, Where: where, What: err.Error(), From: from, To: to})
}

// file checks f; behind are the files that come after it.
func (v *verifier) file(f *os.File, behind []string) {
	if layout.IsJournalName(filepath.Base(v.path)) {
		v.journal(f, behind)
		return
	}
	// A commit may come while the archive is being read; then what was found
	// means nothing.
	const attempts = 8
	before, done := len(v.findings), v.done
	for range attempts {
		v.findings, v.done = v.findings[:before], done
		s, err := boltread.Open(boltread.FileSource(f))
		if err != nil {
			v.add("database", 0, 0, err)
			continue
		}
		v.archive(s, f)
		if changed, err := s.Changed(); len(v.findings) == before || err == nil && !changed {
			return
		}
	}
}

// archive checks everything in s.
func (v *verifier) archive(s *boltread.Snapshot, f *os.File) {
	for _, d := range s.Check(nil) {
		v.add(fmt.Sprintf("page %d at byte %d", d.Page, d.Offset), 0, 0, errors.New(d.What))
	}
	a := &contents{s: s, v: v, descs: make(map[uint32]*metric.Desc), chunks: make(map[string]uint32)}
	a.meta()
	a.metrics()
	a.spare()
	index := a.index()
	a.eachChunk(index)
	a.events()
	a.compareTotals()
	if a.totals == nil || !a.totals.Finished {
		return
	}
	// A finished archive ends with its last page; one being written grows ahead.
	a.own.finished = true
	meta := s.Meta()
	if st, err := f.Stat(); err == nil && st.Size() > meta.Bytes() {
		v.add(fmt.Sprintf("byte %d", meta.Bytes()), 0, 0, fmt.Errorf("%d bytes behind the end of the archive do not belong to it", st.Size()-meta.Bytes()))
	}
}

// contents is what a verifier knows about an archive.
type contents struct {
	s      *boltread.Snapshot
	v      *verifier
	totals *layout.Totals
	descs  map[uint32]*metric.Desc
	chunks map[string]uint32 // that are in order, by class
	nev    uint32
	own    owner
}

// each calls fn for the records of a bucket whose checksums are right.
func (a *contents) each(bucket string, fn func(key, value []byte) error) {
	b, err := a.s.Bucket(bucket)
	if b == nil {
		if err == nil {
			err = errors.New("it is missing")
		}
		a.v.add("bucket "+bucket, 0, 0, err)
		return
	}
	c := b.Cursor()
	for ok := c.First(); ok; ok = c.Next() {
		// A damaged flag can make a record look like a bucket, of which the
		// structure's check tells; its value is read all the same.
		stored, err := c.Value()
		var value []byte
		if err == nil {
			value, err = layout.Unwrap(bucket, c.Key(), stored)
		}
		if err == nil {
			err = fn(c.Key(), value)
		}
		if err != nil {
			a.v.add(fmt.Sprintf("record %q of %s", c.Key(), bucket), 0, 0, err)
		}
	}
}

func (a *contents) meta() {
	var h *layout.Header
	a.each(layout.BucketMeta, func(key, value []byte) error {
		switch string(key) {
		case layout.MetaArchive:
			h = &layout.Header{}
			return json.Unmarshal(value, h)
		case layout.MetaTotals:
			a.totals = &layout.Totals{}
			return json.Unmarshal(value, a.totals)
		case layout.MetaJournal:
			err := json.Unmarshal(value, &a.own.progress)
			a.own.Seq, a.own.First, a.own.Counted = a.own.progress.Sealed, a.own.progress.Generation, true
			return err
		case layout.MetaIntervals:
			return json.Unmarshal(value, &map[string]int64{})
		case layout.MetaConfig:
			_, err := chunk.Unpack(value, chunk.MaxConfig)
			return err
		}
		return nil
	})
	a.v.owner[filepath.Base(a.v.path)] = &a.own
	if h != nil {
		a.own.Archive, a.own.Last = h.ID, h.Created
	}
	switch {
	case h == nil:
		a.v.add("header", 0, 0, errors.New("it is missing"))
	case h.Format > layout.FormatVersion || h.Format < 1:
		a.v.add("header", 0, 0, fmt.Errorf("format version %d; this program knows versions up to %d", h.Format, layout.FormatVersion))
	}
}

func (a *contents) metrics() {
	next := uint32(0)
	a.each(layout.BucketMetrics, func(key, value []byte) error {
		ds, err := layout.ParseDescs(value)
		if err != nil {
			return err
		}
		if len(key) != 4 {
			return fmt.Errorf("a key of %d bytes", len(key))
		}
		first := binary.BigEndian.Uint32(key)
		if first != next {
			err = fmt.Errorf("metrics %d to %d are not described", next, int64(first)-1)
		}
		for i, d := range ds {
			a.descs[first+uint32(i)] = d
		}
		next = first + uint32(len(ds))
		return err
	})
}

// spare checks what the archive holds twice.
func (a *contents) spare() {
	n := 0
	a.each(layout.BucketSpare, func(key, value []byte) error {
		if string(key) == layout.MetaArchive {
			return json.Unmarshal(value, &layout.Header{})
		}
		ds, err := layout.ParseDescs(value)
		n += len(ds)
		return err
	})
	if n != len(a.descs) {
		a.v.add("bucket "+layout.BucketSpare, 0, 0, fmt.Errorf("%d metrics are described, %d in the catalogue", n, len(a.descs)))
	}
}

func (a *contents) index() map[string]chunk.Info {
	index := make(map[string]chunk.Info)
	a.each(layout.BucketIndex, func(key, value []byte) error {
		class, _, ok := layout.ParseChunkKey(key)
		if !ok {
			return fmt.Errorf("a key of %d bytes", len(key))
		}
		in, err := chunk.ParseInfo(value)
		if err == nil && in.Class != class {
			err = fmt.Errorf("it is of class %s", in.Class)
		}
		if err == nil {
			index[string(key)] = in
			a.own.Last = max(a.own.Last, in.To)
		}
		return err
	})
	return index
}

// eachChunk decodes every chunk and compares it with its index entry.
func (a *contents) eachChunk(index map[string]chunk.Info) {
	b, err := a.s.Bucket(layout.BucketChunks)
	if b == nil {
		if err == nil {
			err = errors.New("it is missing")
		}
		a.v.add("bucket "+layout.BucketChunks, 0, 0, err)
		return
	}
	c := b.Cursor()
	for ok := c.First(); ok; ok = c.Next() {
		class, n, ok := layout.ParseChunkKey(c.Key())
		if !ok {
			a.v.add("bucket "+layout.BucketChunks, 0, 0, fmt.Errorf("a key of %d bytes", len(c.Key())))
			continue
		}
		where := fmt.Sprintf("chunk %d of class %s", n, class)
		in, listed := index[string(c.Key())]
		delete(index, string(c.Key()))
		data, err := chunkAt(c)
		if err == nil {
			err = a.chunk(class, in, listed, data)
		}
		if err != nil {
			a.v.add(where, in.From, in.To, err)
		} else {
			a.chunks[class.String()]++
		}
		a.v.done += int64(len(data))
		a.v.tell()
	}
	for _, key := range slices.Sorted(maps.Keys(index)) {
		class, n, _ := layout.ParseChunkKey([]byte(key))
		in := index[key]
		a.v.add(fmt.Sprintf("chunk %d of class %s", n, class), in.From, in.To, errors.New("it is in the index and nowhere else"))
	}
}

// chunkAt is the chunk at c, which may stand in a bucket of its own.
func chunkAt(c *boltread.Cursor) ([]byte, error) {
	if !c.IsBucket() {
		return c.Value()
	}
	b, err := c.Bucket()
	if err != nil {
		return nil, err
	}
	data, err := b.Get(c.Key())
	if data == nil && err == nil {
		err = errors.New("its bucket is empty")
	}
	return data, err
}

func (a *contents) chunk(class metric.Class, in chunk.Info, listed bool, data []byte) error {
	c, err := chunk.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	got, err := c.Inspect(func(n uint32) *metric.Desc { return a.descs[n] })
	if err != nil {
		return err
	}
	got.Size, got.Sum = int64(len(data)), chunk.Checksum(data)
	switch {
	case !listed:
		return errors.New("it is not in the index")
	case got.Class != class:
		return fmt.Errorf("its content is of class %s", got.Class)
	case got != in:
		return errors.New("it is not the chunk that the index describes")
	}
	return nil
}

func (a *contents) events() {
	next := uint32(0)
	a.each(layout.BucketEvents, func(key, value []byte) error {
		if len(key) != 4 {
			return fmt.Errorf("a key of %d bytes", len(key))
		}
		if a.nev++; a.nev == 1 {
			next = binary.BigEndian.Uint32(key)
		}
		_, err := chunk.ParseEvents(value)
		if n := binary.BigEndian.Uint32(key); n != next && err == nil {
			err = fmt.Errorf("batch %d was expected", next)
		} else {
			next = n
		}
		next++
		return err
	})
}

func (a *contents) compareTotals() {
	if a.totals == nil {
		a.v.add("totals", 0, 0, errors.New("they are missing"))
		return
	}
	t := a.totals
	for _, class := range slices.Sorted(maps.Keys(t.Chunks)) {
		if have := a.chunks[class]; have != t.Chunks[class] {
			a.v.add("chunks of class "+class, 0, 0, fmt.Errorf("%d are in order, %d were written", have, t.Chunks[class]))
		}
	}
	if a.nev != t.Events {
		a.v.add("events", 0, 0, fmt.Errorf("%d batches are there, %d were written", a.nev, t.Events))
	}
	if n := uint32(len(a.descs)); n != t.Metrics {
		a.v.add("metrics", 0, 0, fmt.Errorf("%d are described, %d were", n, t.Metrics))
	}
}
