package layout

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
)

// FormatVersion is the format of the archives this package writes. FORMAT.md
// describes it.
const FormatVersion = 1

// The buckets of an archive.
const (
	BucketMeta    = "meta"    // a name -> a fact about the archive
	BucketMetrics = "metrics" // number of the first -> descriptions of metrics
	BucketIndex   = "index"   // class, number -> what is in that chunk
	BucketChunks  = "chunks"  // class, number -> the chunk
	BucketEvents  = "events"  // number -> events
	// bucketSpare holds the header and the descriptions once more, without
	// their prose: all else is worthless without them.
	BucketSpare = "spare"
)

var Buckets = []string{BucketMeta, BucketMetrics, BucketIndex, BucketChunks, BucketEvents, BucketSpare}

// The keys of bucketMeta.
const (
	MetaArchive   = "archive"   // the header, JSON
	MetaConfig    = "config"    // effective configuration, TOML
	MetaIntervals = "intervals" // JSON: class name -> nanoseconds
	MetaTotals    = "totals"    // JSON: how many chunks, batches and metrics there are
)

// A Header is what an archive says about itself and never changes.
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
}

// Totals is what an archive holds, so that a reader notices when something is
// gone whole.
type Totals struct {
	Chunks  map[string]uint32 `json:"chunks,omitempty"` // per class name
	Events  uint32            `json:"events,omitempty"` // batches
	Metrics uint32            `json:"metrics,omitempty"`
	// Finished archives are compacted and never change again.
	Finished bool `json:"finished,omitempty"`
}

func ChunkKey(class metric.Class, n uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{byte(class)}, n)
}

func ParseChunkKey(k []byte) (class metric.Class, n uint32, ok bool) {
	if len(k) != 5 {
		return 0, 0, false
	}
	return metric.Class(k[0]), binary.BigEndian.Uint32(k[1:]), true
}

func NumberKey(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// Records are stored with a checksum over bucket, key and value behind them:
// bbolt has none, and a flipped bit in a key or in a page number must not make
// one record pass for another. Chunks have checksums of their own, which the
// index confirms.
func checksum(bucket string, key, value []byte) uint32 {
	b := make([]byte, 0, len(bucket)+len(key)+len(value)+2)
	b = append(append(b, bucket...), 0)
	b = append(append(b, key...), 0)
	return chunk.Checksum(append(b, value...))
}

func wrap(bucket string, key, value []byte) []byte {
	out := append(make([]byte, 0, len(value)+4), value...)
	return binary.LittleEndian.AppendUint32(out, checksum(bucket, key, value))
}

var ErrRecord = errors.New("the checksum is wrong: it is damaged")

func Unwrap(bucket string, key, stored []byte) ([]byte, error) {
	n := len(stored) - 4
	if n < 0 || binary.LittleEndian.Uint32(stored[n:]) != checksum(bucket, key, stored[:n]) {
		return nil, fmt.Errorf("record %x of %s: %w", key, bucket, ErrRecord)
	}
	return stored[:n:n], nil
}

// ChunkHome is the bucket in which the chunk of that key stands, given the
// bucket of all chunks.
func ChunkHome(chunks *boltread.Bucket, key []byte) (*boltread.Bucket, error) {
	if own, err := chunks.Bucket(key); own != nil || err != nil {
		return own, err
	}
	return chunks, nil
}

func IsChurn(k metric.EventKind) bool {
	return k == metric.EventProcessStart || k == metric.EventProcessExit || k == metric.EventProcessExec
}

// EventBatch is how many events a batch holds at most.
const EventBatch = 4096

// MaxRecord bounds what is read of a record that is no chunk.
const MaxRecord = 64 << 20

func GetJSON(tx *bbolt.Tx, key string, v any) error {
	stored := tx.Bucket([]byte(BucketMeta)).Get([]byte(key))
	if stored == nil {
		return fmt.Errorf("%w: it has no %s", ErrForeign, key)
	}
	b, err := Unwrap(BucketMeta, []byte(key), stored)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRecord, key, err)
	}
	return nil
}

// EachInfo calls fn for every entry of the index.
func EachInfo(tx *bbolt.Tx, fn func(*chunk.Info)) error {
	return tx.Bucket([]byte(BucketIndex)).ForEach(func(k, v []byte) error {
		v, err := Unwrap(BucketIndex, k, v)
		if err != nil {
			return err
		}
		info, err := chunk.ParseInfo(v)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrRecord, err)
		}
		fn(&info)
		return nil
	})
}

func Nanoseconds(m map[metric.Class]time.Duration) map[metric.Class]int64 {
	out := make(map[metric.Class]int64, len(m))
	for c, d := range m {
		out[c] = int64(d)
	}
	return out
}

var ErrForeign = errors.New("not an archive of this program")

// GapEvent tells of a stretch of time without data that ended at at.
func GapEvent(at metric.Stamp, from, length int64, text string) metric.Event {
	return metric.Ended(at, metric.EventGap, time.Unix(0, from), time.Duration(length), text)
}
