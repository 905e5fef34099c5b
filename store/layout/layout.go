package layout

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
	"tachograph/store/digest"
	"tachograph/store/fault"
)

// FormatVersion is the format of the archives this package writes. FORMAT.md
// describes it.
const FormatVersion = 2

// CheckFormat returns an error if this package cannot read that version of the format.
func CheckFormat(version int) error {
	switch {
	case version > FormatVersion:
		return fmt.Errorf("it has format version %d; this program knows version %d: use a newer one", version, FormatVersion)
	case version < FormatVersion:
		return fmt.Errorf("it has format version %d, which was never released; this program knows version %d", version, FormatVersion)
	}
	return nil
}

// The buckets of an archive.
const (
	BucketMeta    = "meta"    // a name -> a fact about the archive
	BucketMetrics = "metrics" // number of the first -> descriptions of metrics
	BucketIndex   = "index"   // class, number -> what is in that chunk
	BucketChunks  = "chunks"  // class, number -> the chunk
	BucketEvents  = "events"  // number -> events
	// BucketDigests holds class, number of the first chunk, and for more than a few chunks their
	// number -> totals, over these chunks, of instances that come and go; KeyWhole and KeyPlaces.
	BucketDigests = "digests"
	// BucketSpare holds the header and the descriptions once more, without their prose: all else
	// is worthless without them.
	BucketSpare = "spare"
)

// Buckets are the buckets that every archive has.
var Buckets = []string{BucketMeta, BucketMetrics, BucketIndex, BucketChunks, BucketEvents, BucketSpare}

// Beside are the buckets of data that was derived from the chunks and answers questions without
// them. Archives of early writers have none of them, and a chunk may have no record there. If
// such a record is missing or damaged, the chunk gives the same answer.
var Beside = []string{BucketDigests}

// KeyWhole is the key, in BucketDigests, of what the series of the system did over all chunks.
const KeyWhole = "whole"

// KeyPlaces is the key, in BucketDigests, of where in the chunks the instances are.
const KeyPlaces = "places"

// The keys of BucketMeta; the header has the same one in BucketSpare.
const (
	MetaArchive   = "archive"   // the header, JSON
	MetaConfig    = "config"    // effective configuration, TOML
	MetaIntervals = "intervals" // JSON: class name -> nanoseconds
	MetaTotals    = "totals"    // JSON: how many chunks, batches and metrics there are
	MetaJournal   = "journal"   // JSON: how much of its journal the archive holds
)

// A Header holds the facts about an archive that never change.
type Header struct {
	Format   int         `json:"format"`
	ID       string      `json:"id"`
	Host     metric.Host `json:"host"`
	BootID   string      `json:"boot"`
	TimeZone string      `json:"timezone"`
	Recorder string      `json:"recorder"`
	Created  int64       `json:"created"`
	// Serial counts the archives of a directory in the order in which they were
	// begun, whatever the clock said; 0 in archives made before it was counted.
	Serial uint64 `json:"serial,omitempty"`
	// Reduced is set if other archives hold the same time in more detail.
	Reduced *Reduction `json:"reduced,omitempty"`
	// Since and Until are set if the archive is a part of others: it holds what was recorded
	// between these wall clocks. Either is 0 if that end is not cut. The data before Since is
	// how things stood then: the last values of everything, read before Since. Readers need them
	// to compute what a counter gained since, and to know the values that have not changed
	// since.
	Since int64 `json:"since,omitempty"`
	Until int64 `json:"until,omitempty"`
}

// Totals counts what an archive holds, so that a reader notices when something is missing
// entirely.
type Totals struct {
	Chunks  map[string]uint32 `json:"chunks,omitempty"` // per class name
	Events  uint32            `json:"events,omitempty"` // batches
	Metrics uint32            `json:"metrics,omitempty"`
	// Finished archives are compacted and never change again.
	Finished bool `json:"finished,omitempty"`
}

// Progress is how far an archive has taken over its journal: every record up
// to Sealed is in the archive.
type Progress struct {
	Sealed uint64 `json:"sealed"`
	// Generation is the generation of the first journal file that holds more. That file was in
	// the directory when this was written. Closed means that there is no more. Archives of early
	// writers have neither field.
	Generation uint64 `json:"generation,omitempty"`
	Closed     bool   `json:"closed,omitempty"`
}

// Missing returns an error for a live archive whose journal is not beside it. The error says
// what is missing: what was recorded after last or, if later generations are there, until those
// begin.
func (p Progress) Missing(path string, last int64, later bool) error {
	name := filepath.Base(JournalName(path, p.Generation))
	if later {
		return fmt.Errorf("its journal is not whole: %s is not beside it, and with that a part of what was recorded is missing; copy the files of a live archive together", name)
	}
	return fmt.Errorf("its journal is not beside it: %s and later ones are missing, and with them what was recorded after %s; copy the files of a live archive together",
		name, fault.UTC(last))
}

// ChunkKey is the key of a chunk and of its index entry.
func ChunkKey(class metric.Class, n uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{byte(class)}, n)
}

// ParseChunkKey takes apart a key that ChunkKey made.
func ParseChunkKey(key []byte) (class metric.Class, n uint32, err error) {
	if len(key) != 5 {
		return 0, 0, fmt.Errorf("a key of %d bytes", len(key))
	}
	return metric.Class(key[0]), binary.BigEndian.Uint32(key[1:]), nil
}

// DigestKey is the key of the digest of some chunks of a class. The key of a short digest is that
// of its first chunk.
func DigestKey(class metric.Class, first, chunks uint32) []byte {
	key := ChunkKey(class, first)
	if chunks > digest.Span {
		key = binary.BigEndian.AppendUint32(key, chunks)
	}
	return key
}

// DigestKeys returns the keys of the digests that begin with a chunk and are of at most so many
// chunks, the longest first.
func DigestKeys(s *boltread.Snapshot, class metric.Class, first uint32, most int) (keys [][]byte) {
	b, err := s.Bucket(BucketDigests)
	if b == nil || err != nil {
		return nil
	}
	begin := ChunkKey(class, first)
	c := b.Cursor()
	for ok := c.Seek(begin); ok && bytes.HasPrefix(c.Key(), begin); ok = c.Next() {
		if _, _, chunks, err := parseDigestKey(c.Key()); err == nil && int64(chunks) <= int64(most) {
			keys = append(keys, bytes.Clone(c.Key()))
		}
	}
	slices.Reverse(keys)
	return keys
}

// parseDigestKey is the inverse of DigestKey; it returns 0 chunks for a short digest.
func parseDigestKey(key []byte) (class metric.Class, first, chunks uint32, err error) {
	if len(key) == 9 {
		chunks = binary.BigEndian.Uint32(key[5:])
		key = key[:5]
	}
	class, first, err = ParseChunkKey(key)
	return class, first, chunks, err
}

// NumberKey is the key of the n-th batch of events, and of the descriptions of
// metrics from the n-th on.
func NumberKey(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func parseNumber(key []byte) (uint32, error) {
	if len(key) != 4 {
		return 0, fmt.Errorf("a key of %d bytes", len(key))
	}
	return binary.BigEndian.Uint32(key), nil
}

// checksum returns the checksum that is stored behind a record, over its bucket, key and value:
// bbolt has none, and a flipped bit in a key or in a page number must not make one record pass
// for another. Chunks have checksums of their own, which the index confirms.
func checksum(bucket string, key, value []byte) uint32 {
	return chunk.Checksum(placed(bucket, key, value))
}

// placed is a value preceded by its bucket and key.
func placed(bucket string, key, value []byte) []byte {
	return slices.Concat([]byte(bucket), []byte{0}, key, []byte{0}, value)
}

func wrap(bucket string, key, value []byte) []byte {
	out := append(make([]byte, 0, len(value)+4), value...)
	return binary.LittleEndian.AppendUint32(out, checksum(bucket, key, value))
}

func unwrap(bucket string, key, stored []byte) ([]byte, error) {
	n := len(stored) - 4
	if n < 0 || binary.LittleEndian.Uint32(stored[n:]) != checksum(bucket, key, stored[:n]) {
		return nil, ErrChecksum
	}
	return stored[:n:n], nil
}

// Mended returns the value of a record that has one wrong bit, as it was written. The wrong
// bit must not be in the bucket's name or the key.
func Mended(bucket string, key, stored []byte) ([]byte, error) {
	n := len(stored) - 4
	if n < 0 {
		return nil, ErrChecksum
	}
	all, place := placed(bucket, key, stored[:n]), placed(bucket, key, nil)
	if !chunk.Mend(all, binary.LittleEndian.Uint32(stored[n:])) || !bytes.HasPrefix(all, place) {
		return nil, ErrChecksum
	}
	return all[len(place):], nil
}

// Get returns a record's value as it was put; nil if the record is missing or damaged.
func Get(s *boltread.Snapshot, bucket string, key []byte) []byte {
	b, err := s.Bucket(bucket)
	if b == nil || err != nil {
		return nil
	}
	c := b.Cursor()
	if !c.Seek(key) || !bytes.Equal(c.Key(), key) || c.ValueSize() > MaxRecord {
		return nil
	}
	stored, err := c.Value()
	if err != nil {
		return nil
	}
	value, err := unwrap(bucket, key, stored)
	if err != nil {
		value, _ = Mended(bucket, key, stored)
	}
	return value
}

// ChunkHome returns the bucket that holds the chunk with that key; chunks is the bucket of all
// chunks.
func ChunkHome(chunks *boltread.Bucket, key []byte) (*boltread.Bucket, error) {
	if own, err := chunks.Bucket(key); own != nil || err != nil {
		return own, err
	}
	return chunks, nil
}

// IsChurn reports whether events of kind k are the comings and goings of
// processes.
func IsChurn(k metric.EventKind) bool {
	return k == metric.EventProcessStart || k == metric.EventProcessExit || k == metric.EventProcessExec
}

// EventBatch is how many events a batch holds at most.
const EventBatch = 4096

// GapEvent returns an event for a stretch of time without data that ended at the stamp.
func GapEvent(at metric.Stamp, from, length int64, text string) metric.Event {
	return metric.Ended(at, metric.EventGap, time.Unix(0, from), time.Duration(length), text)
}
