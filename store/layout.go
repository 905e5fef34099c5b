package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
)

// FormatVersion is the format of the archives this package writes. FORMAT.md
// describes it.
const FormatVersion = 1

// pageSize is bbolt's page in every archive, whatever machine writes it.
const pageSize = 4096

// The buckets of an archive.
const (
	bucketMeta    = "meta"    // a name -> a fact about the archive
	bucketMetrics = "metrics" // number of the first -> descriptions of metrics
	bucketIndex   = "index"   // class, number -> what is in that chunk
	bucketChunks  = "chunks"  // class, number -> the chunk
	bucketEvents  = "events"  // number -> events
	// bucketSpare holds the header and the descriptions once more, without
	// their prose: all else is worthless without them.
	bucketSpare = "spare"
)

var buckets = []string{bucketMeta, bucketMetrics, bucketIndex, bucketChunks, bucketEvents, bucketSpare}

// The keys of bucketMeta.
const (
	metaArchive   = "archive"   // the header, JSON
	metaConfig    = "config"    // effective configuration, TOML
	metaIntervals = "intervals" // JSON: class name -> nanoseconds
	metaTotals    = "totals"    // JSON: how many chunks, batches and metrics there are
)

// A header is what an archive says about itself and never changes.
type header struct {
	Format   int    `json:"format"`
	ID       string `json:"id"`
	Host     Host   `json:"host"`
	BootID   string `json:"boot"`
	TimeZone string `json:"timezone"`
	Recorder string `json:"recorder"`
	Created  int64  `json:"created"`
	// Serial counts the archives of a directory in the order in which they were
	// begun, whatever the clock said; 0 in archives made before it was counted.
	Serial uint64 `json:"serial,omitempty"`
}

// totals is what an archive holds, so that a reader notices when something is
// gone whole.
type totals struct {
	Chunks  map[string]uint32 `json:"chunks,omitempty"` // per class name
	Events  uint32            `json:"events,omitempty"` // batches
	Metrics uint32            `json:"metrics,omitempty"`
	// Finished archives are compacted and never change again.
	Finished bool `json:"finished,omitempty"`
}

func chunkKey(class metric.Class, n uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{byte(class)}, n)
}

func parseChunkKey(k []byte) (class metric.Class, n uint32, ok bool) {
	if len(k) != 5 {
		return 0, 0, false
	}
	return metric.Class(k[0]), binary.BigEndian.Uint32(k[1:]), true
}

func numberKey(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

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

var errRecord = errors.New("the checksum is wrong: it is damaged")

func unwrap(bucket string, key, stored []byte) ([]byte, error) {
	n := len(stored) - 4
	if n < 0 || binary.LittleEndian.Uint32(stored[n:]) != checksum(bucket, key, stored[:n]) {
		return nil, fmt.Errorf("store: record %x of %s: %w", key, bucket, errRecord)
	}
	return stored[:n:n], nil
}

// put stores a record.
func put(tx *bbolt.Tx, bucket string, key, value []byte) error {
	return tx.Bucket([]byte(bucket)).Put(key, wrap(bucket, key, value))
}

func putJSON(tx *bbolt.Tx, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return put(tx, bucketMeta, []byte(key), b)
}

// createLayout makes the buckets and stores what never changes.
func createLayout(tx *bbolt.Tx, h *header) error {
	for _, name := range buckets {
		b, err := tx.CreateBucketIfNotExists([]byte(name))
		if err != nil {
			return err
		}
		// Keys only grow: pages are filled to the brim.
		b.FillPercent = 1
	}
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := put(tx, bucketSpare, []byte(metaArchive), b); err != nil {
		return err
	}
	return put(tx, bucketMeta, []byte(metaArchive), b)
}

func putConfig(tx *bbolt.Tx, config string) error {
	return put(tx, bucketMeta, []byte(metaConfig), chunk.Pack([]byte(config)))
}

func putIntervals(tx *bbolt.Tx, intervals map[metric.Class]int64) error {
	m := make(map[string]int64)
	for c, ns := range intervals {
		m[c.String()] = ns
	}
	return putJSON(tx, metaIntervals, m)
}

func putTotals(tx *bbolt.Tx, t *totals) error { return putJSON(tx, metaTotals, t) }

// putChunk stores chunk number n of its class and its entry in the index.
func putChunk(tx *bbolt.Tx, n uint32, s *chunk.Sealed) error {
	key := chunkKey(s.Info.Class, n)
	b := tx.Bucket([]byte(bucketChunks))
	b.FillPercent = 1
	if err := b.Put(key, s.Data); err != nil {
		return err
	}
	return put(tx, bucketIndex, key, s.Info.Marshal())
}

// putChunkApart is putChunk for an archive that goes on growing. A value stands
// in the same leaf as up to three neighbours, all of which bbolt writes again
// when another comes beside them, so there a chunk has a bucket of its own, in
// which it stands under its key.
func putChunkApart(tx *bbolt.Tx, n uint32, s *chunk.Sealed) error {
	key := chunkKey(s.Info.Class, n)
	b, err := tx.Bucket([]byte(bucketChunks)).CreateBucket(key)
	if err != nil {
		return err
	}
	if err := b.Put(key, s.Data); err != nil {
		return err
	}
	return put(tx, bucketIndex, key, s.Info.Marshal())
}

// chunkHome is the bucket in which the chunk of that key stands, given the
// bucket of all chunks.
func chunkHome(chunks *boltread.Bucket, key []byte) (*boltread.Bucket, error) {
	if own, err := chunks.Bucket(key); own != nil || err != nil {
		return own, err
	}
	return chunks, nil
}

// putEvents stores events in batches, the first of which has number n, and
// returns the number of the next. The comings and goings of processes, which
// are many, have batches of their own, so that who asks for the few others
// need not wade through them.
func putEvents(tx *bbolt.Tx, n uint32, events []metric.Event) (uint32, error) {
	var churn, rest []metric.Event
	for _, e := range events {
		if isChurn(e.Kind) {
			churn = append(churn, e)
		} else {
			rest = append(rest, e)
		}
	}
	for _, batch := range [][]metric.Event{rest, churn} {
		for part := range slices.Chunk(batch, eventBatch) {
			if err := put(tx, bucketEvents, numberKey(n), chunk.MarshalEvents(part)); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

func isChurn(k metric.EventKind) bool {
	return k == metric.EventProcessStart || k == metric.EventProcessExit || k == metric.EventProcessExec
}

// putMetrics stores descriptions, the first of which has number first.
func putMetrics(tx *bbolt.Tx, first uint32, ds []*metric.Desc) error {
	bare := make([]*metric.Desc, len(ds))
	for i, d := range ds {
		b := *d
		b.Source, b.Help, b.LongHelp, b.Unsupported = "", "", "", ""
		bare[i] = &b
	}
	if err := put(tx, bucketSpare, numberKey(first), marshalDescs(bare)); err != nil {
		return err
	}
	return put(tx, bucketMetrics, numberKey(first), marshalDescs(ds))
}

// eventBatch is how many events a batch holds at most.
const eventBatch = 4096

// maxRecord bounds what is read of a record that is no chunk.
const maxRecord = 64 << 20

func getJSON(tx *bbolt.Tx, key string, v any) error {
	stored := tx.Bucket([]byte(bucketMeta)).Get([]byte(key))
	if stored == nil {
		return fmt.Errorf("%w: it has no %s", errForeign, key)
	}
	b, err := unwrap(bucketMeta, []byte(key), stored)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %s: %w", errRecord, key, err)
	}
	return nil
}

// eachInfo calls fn for every entry of the index.
func eachInfo(tx *bbolt.Tx, fn func(*chunk.Info)) error {
	return tx.Bucket([]byte(bucketIndex)).ForEach(func(k, v []byte) error {
		v, err := unwrap(bucketIndex, k, v)
		if err != nil {
			return err
		}
		info, err := chunk.ParseInfo(v)
		if err != nil {
			return fmt.Errorf("%w: %w", errRecord, err)
		}
		fn(&info)
		return nil
	})
}

func nanoseconds(m map[metric.Class]time.Duration) map[metric.Class]int64 {
	out := make(map[metric.Class]int64, len(m))
	for c, d := range m {
		out[c] = int64(d)
	}
	return out
}
