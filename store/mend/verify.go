package mend

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
	"tachograph/store/digest"
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
	// From and To are the wall clocks of the affected data; zero if not known.
	From, To int64
}

// String returns f in one line.
func (f Finding) String() string {
	s := f.Path + ": " + f.Where + ": " + f.What
	if f.From != 0 || f.To != 0 {
		s += " (" + fault.Span(f.From, f.To) + ")"
	}
	return strings.ReplaceAll(s, "\n", "; ")
}

// Verify checks an archive, or all archives and journals of a directory, completely: the
// structure of the database, every checksum, every chunk decoded, the index against the content.
// progress, if set, is called with the bytes done and the bytes in all; an error that it returns
// ends the check. Other errors mean that path could not be read at all.
//
// A live archive may be verified while it is being written. In a bundle, all archives are
// checked.
func Verify(path string, progress func(done, total int64) error) ([]Finding, error) {
	files, err := layout.FilesAt(path)
	if err != nil {
		return nil, err
	}
	v := &verifier{progress: progress, owner: make(map[string]*owner)}
	for _, f := range files {
		v.total += sizeOf(f)
	}
	alone := len(files) == 1 && files[0] == path
	for len(files) > 0 {
		n := 1
		for n < len(files) && layout.IsJournalName(filepath.Base(files[n])) {
			n++
		}
		v.together(files[:n])
		files = files[n:]
		if v.ended != nil {
			return nil, v.ended
		}
	}
	if v.foreign && alone {
		return nil, &fault.Error{Path: path, Kind: fault.NotArchive, Err: layout.ErrForeign}
	}
	return v.findings, nil
}

// sizeOf returns the length of a file, 0 if it is not known.
func sizeOf(path string) int64 {
	f, err := layout.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	size, _ := f.Size()
	return size
}

// together checks an archive and its journals, which follow it in files. Journals are opened
// before the archive is read, because a recorder removes a journal once the archive holds its
// records.
func (v *verifier) together(files []string) {
	open := make([]*layout.File, len(files))
	for i, name := range slices.Backward(files) {
		f, err := layout.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a recorder removed it meanwhile
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
		if f == nil || v.ended != nil {
			continue
		}
		v.path = files[i]
		at := v.done
		if err := fault.Contain(func() error { v.file(f, files[i+1:]); return nil }); err != nil {
			v.add("file", 0, 0, err)
		}
		if size, err := f.Size(); err == nil {
			v.done = at + size
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
	progress    func(done, total int64) error
	ended       error // what progress returned
	done, total int64
	findings    []Finding
	foreign     bool // the archive file that was checked last is not an archive
	// owner holds, by name, what live archives say about their journals.
	owner map[string]*owner
}

// An owner is what an archive says about its journal.
type owner struct {
	journal.Follower
	progress layout.Progress
	finished bool
}

func (v *verifier) tell() {
	if v.progress != nil && v.ended == nil {
		v.ended = v.progress(min(v.done, v.total), v.total)
	}
}

func (v *verifier) add(where string, from, to int64, err error) {
	v.findings = append(v.findings, Finding{Path: v.path, Where: where, What: err.Error(), From: from, To: to})
}

// file checks f; behind are the files that come after it.
func (v *verifier) file(f *layout.File, behind []string) {
	if !f.InBundle() && layout.IsBundle(f) {
		if _, _, err := layout.BundleAt(v.path); err != nil {
			v.add("bundle", 0, 0, err)
		}
		return
	}
	if layout.IsJournalName(filepath.Base(v.path)) {
		v.journal(f, behind)
		return
	}
	// A commit may happen while the archive is being read; then the findings mean nothing.
	const attempts = 8
	before, done := len(v.findings), v.done
	for range attempts {
		v.findings, v.done = v.findings[:before], done
		s, err := boltread.Open(f)
		if v.foreign = isForeign(f, err); v.foreign {
			v.add("file", 0, 0, layout.ErrForeign)
			continue
		}
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

// isForeign reports whether a file that failed to open with err is not like a database at all.
func isForeign(f *layout.File, err error) bool { return err != nil && !boltread.Resembles(f) }

// archive checks everything in s.
func (v *verifier) archive(s *boltread.Snapshot, f *layout.File) {
	for _, d := range s.Check(nil) {
		v.add(fmt.Sprintf("page %d at byte %d", d.Page, d.Offset), 0, 0, errors.New(d.What))
	}
	a := &contents{v: v, descs: make(map[uint32]*metric.Desc), index: make(map[string]chunk.Info), digests: make(map[string][][]byte), chunks: make(map[string]uint32)}
	a.whole = digest.NewWholeWriter(a.desc)
	a.visit(s)
	a.compareTotals()
	if a.totals == nil || !a.totals.Finished {
		return
	}
	// A finished archive ends with its last page; one that is being written has space beyond it.
	a.own.finished = true
	end := s.Meta().Bytes()
	if size, err := f.Size(); err == nil && size > end {
		v.add(fmt.Sprintf("byte %d", end), 0, 0, fmt.Errorf("%d bytes behind the end of the archive do not belong to it", size-end))
	}
}

// contents is what a verifier knows about an archive.
type contents struct {
	v      *verifier
	header *layout.Header
	totals *layout.Totals
	descs  map[uint32]*metric.Desc
	next   uint32 // number of the next metric
	spare  int    // metrics described in the bucket spare
	index  map[string]chunk.Info
	chunks map[string]uint32 // sound ones, by class
	// digests are the digests whose chunks have not been seen, by the key of the first; open are
	// those whose chunks are being seen.
	digests map[string][][]byte
	open    []*digested
	// The digests of all chunks, nil if there are none, and what they should say.
	wholeRecord, placesRecord []byte
	whole                     *digest.WholeWriter
	nev                       uint32 // number of batches of events
	batch                     uint32 // number of the next batch
	own                       owner
}

// digested is a digest whose chunks are being checked.
type digested struct {
	where string
	*digest.Checker
}

// digest compares digests with their chunks; data is the next chunk.
func (a *contents) digest(key string, data []byte) {
	for _, record := range a.digests[key] {
		class, n, _ := layout.ParseChunkKey([]byte(key))
		d := &digested{where: fmt.Sprintf("digest of chunk %d of class %s", n, class)}
		var err error
		if d.Checker, err = digest.NewChecker(record, a.desc); err != nil {
			a.v.add(d.where, 0, 0, err)
			continue
		}
		a.open = append(a.open, d)
	}
	delete(a.digests, key)
	a.open = slices.DeleteFunc(a.open, func(d *digested) bool {
		if !d.Add(data) {
			return false
		}
		if err := d.Err(); err != nil {
			a.v.add(d.where, 0, 0, err)
		}
		return true
	})
}

// desc describes a metric.
func (a *contents) desc(number uint32) *metric.Desc { return a.descs[number] }

// visit checks every record of s.
func (a *contents) visit(s *boltread.Snapshot) {
	v := layout.Visitor{
		Damaged:  a.damaged,
		Header:   func(h layout.Header) { a.header = &h },
		Totals:   func(t layout.Totals) { a.totals = &t },
		Progress: a.progress,
		Descs:    a.metrics,
		SpareDescs: func(_ uint32, ds []*metric.Desc) {
			a.spare += len(ds)
		},
		Index: func(n uint32, in chunk.Info) {
			a.index[string(layout.ChunkKey(in.Class, n))] = in
			a.own.Last = max(a.own.Last, in.To)
		},
		Digest: func(class metric.Class, n uint32, value []byte) {
			key := string(layout.ChunkKey(class, n))
			a.digests[key] = append(a.digests[key], bytes.Clone(value))
		},
		Whole:  func(value []byte) { a.wholeRecord = bytes.Clone(value) },
		Places: func(value []byte) { a.placesRecord = bytes.Clone(value) },
		Chunk:  a.chunk,
		Events: a.events,
	}
	v.Visit(s, layout.BucketMeta)
	a.checkHeader()
	v.Visit(s, layout.BucketMetrics, layout.BucketSpare)
	if a.spare != len(a.descs) {
		a.v.add("bucket "+layout.BucketSpare, 0, 0, fmt.Errorf("%d metrics are described, %d in the catalogue", a.spare, len(a.descs)))
	}
	v.Visit(s, layout.BucketIndex, layout.BucketDigests, layout.BucketChunks)
	for _, key := range slices.Sorted(maps.Keys(a.digests)) {
		class, n, _ := layout.ParseChunkKey([]byte(key))
		a.v.add(fmt.Sprintf("digest of chunk %d of class %s", n, class), 0, 0, errors.New("there is no such chunk"))
	}
	for _, d := range a.open {
		a.v.add(d.where, 0, 0, errors.New("it is of chunks that are not there"))
	}
	if a.wholeRecord != nil {
		if err := a.whole.Check(a.wholeRecord); err != nil {
			a.v.add("digest of all chunks", 0, 0, err)
		}
	}
	if a.placesRecord != nil {
		if err := a.whole.CheckPlaces(a.placesRecord); err != nil {
			a.v.add("digest of places", 0, 0, err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(a.index)) {
		class, n, _ := layout.ParseChunkKey([]byte(key))
		in := a.index[key]
		a.v.add(fmt.Sprintf("chunk %d of class %s", n, class), in.From, in.To, errors.New("it is in the index and nowhere else"))
	}
	v.Visit(s, layout.BucketEvents)
}

func (a *contents) damaged(e *layout.RecordError) {
	// A damaged flag can make a record look like a bucket, which the check of the structure
	// reports; the record's value is read all the same.
	if !errors.Is(e, layout.ErrFlags) {
		a.v.add(e.Where(), 0, 0, e.Err)
	}
}

func (a *contents) progress(p layout.Progress) {
	a.own.progress = p
	a.own.Seq, a.own.First, a.own.Counted = p.Sealed, p.Generation, true
}

func (a *contents) checkHeader() {
	a.v.owner[filepath.Base(a.v.path)] = &a.own
	h := a.header
	if h == nil {
		a.v.add("header", 0, 0, errors.New("it is missing"))
		return
	}
	a.own.Archive, a.own.Last = h.ID, h.Created
	if err := layout.CheckFormat(h.Format); err != nil {
		a.v.add("header", 0, 0, err)
	}
}

func (a *contents) metrics(first uint32, ds []*metric.Desc) {
	if first != a.next {
		a.damaged(&layout.RecordError{Bucket: layout.BucketMetrics, Key: layout.NumberKey(first),
			Err: fmt.Errorf("metrics %d to %d are not described", a.next, int64(first)-1)})
	}
	for i, d := range ds {
		a.descs[first+uint32(i)] = d
	}
	a.next = first + uint32(len(ds))
}

// chunk decodes a chunk and compares it with its index entry.
func (a *contents) chunk(class metric.Class, n uint32, read func() ([]byte, error)) {
	if a.v.ended != nil {
		return
	}
	key := string(layout.ChunkKey(class, n))
	in, listed := a.index[key]
	delete(a.index, key)
	data, err := read()
	if err == nil {
		err = a.compare(class, in, listed, data)
	}
	if err != nil {
		a.v.add(fmt.Sprintf("chunk %d of class %s", n, class), in.From, in.To, err)
		a.wholeRecord, a.placesRecord = nil, nil // What they say about this chunk cannot be checked.
	} else {
		a.chunks[class.String()]++
	}
	a.digest(key, data)
	if a.wholeRecord != nil || a.placesRecord != nil {
		a.whole.Add(data)
	}
	a.v.done += int64(len(data))
	a.v.tell()
}

func (a *contents) compare(class metric.Class, in chunk.Info, listed bool, data []byte) error {
	got, err := layout.InspectChunk(data, a.desc)
	switch {
	case err != nil:
		return err
	case !listed:
		return errors.New("it is not in the index")
	case got.Class != class:
		return fmt.Errorf("its content is of class %s", got.Class)
	case got != in:
		return errors.New("it is not the chunk that the index describes")
	}
	return nil
}

func (a *contents) events(n uint32, _ []metric.Event) {
	if a.nev++; a.nev > 1 && n != a.batch {
		a.damaged(&layout.RecordError{Bucket: layout.BucketEvents, Key: layout.NumberKey(n), Err: fmt.Errorf("batch %d was expected", a.batch)})
	}
	a.batch = n + 1
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
