// Package mangle changes archives as damage does, or as a stranger who knows their format would,
// to test the code that reads them.
package mangle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// Directory changes the archives and journals in a directory as damage does, or as a stranger
// would who knows the format: then every checksum is right again. It returns a few words about
// what it did. The same rnd does the same.
func Directory(rnd *rand.Rand, dir string) (string, error) {
	m := mangler{rnd: rnd, torn: make(map[string]bool)}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var archives, journals []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.Contains(e.Name(), ".live.j"):
			journals = append(journals, path)
		case strings.HasSuffix(e.Name(), ".tacho") || strings.HasSuffix(e.Name(), ".live"):
			archives = append(archives, path)
		}
	}
	all := append(slices.Clone(archives), journals...)
	if len(all) == 0 {
		return "", fmt.Errorf("nothing to mangle in %s", dir)
	}
	for range 1 + rnd.IntN(3) {
		switch n := rnd.IntN(10); {
		case n < 2:
			err = m.raw(all[rnd.IntN(len(all))])
		case n < 5 && len(journals) > 0:
			err = m.journal(journals[rnd.IntN(len(journals))])
		case len(archives) > 0:
			err = m.archive(archives[rnd.IntN(len(archives))])
		}
		if err != nil {
			return strings.Join(m.did, ", "), err
		}
	}
	return strings.Join(m.did, ", "), nil
}

type mangler struct {
	rnd  *rand.Rand
	did  []string
	torn map[string]bool // files that were changed without regard for their format
}

func (m *mangler) note(format string, args ...any) {
	m.did = append(m.did, fmt.Sprintf(format, args...))
}

// pick returns one of some at random.
func pick[T any](rnd *rand.Rand, some ...T) T { return some[rnd.IntN(len(some))] }

// extreme returns a number of a kind that code often does not expect.
func (m *mangler) extreme() uint64 {
	return pick(m.rnd, 0, 1, 127, 128, 1<<16, 1<<20, 1<<26, 1<<31-1, 1<<31, 1<<32-1, 1<<32, 1<<40, 1<<61, 1<<62, 1<<63-1, 1<<63, math.MaxUint64,
		math.MaxUint64-1, math.Float64bits(math.NaN()), math.Float64bits(math.Inf(1)), m.rnd.Uint64()>>m.rnd.IntN(64))
}

// bytes changes b a little: bits, numbers, pieces.
func (m *mangler) bytes(b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + m.rnd.IntN(4) {
		if len(b) == 0 {
			return append(b, byte(m.rnd.Uint32()))
		}
		at := m.rnd.IntN(len(b))
		if m.rnd.IntN(3) == 0 {
			at = m.rnd.IntN(min(len(b), 24)) // Heads hold the lengths of what follows.
		}
		switch m.rnd.IntN(8) {
		case 0, 1:
			b[at] ^= 1 << m.rnd.IntN(8)
		case 2:
			b[at] = pick(m.rnd, byte(0), 1, 0x7f, 0x80, 0xff, byte(m.rnd.Uint32()))
		case 3:
			b = slices.Insert(b, at, binary.AppendUvarint(nil, m.extreme())...)
		case 4:
			number := binary.AppendUvarint(nil, m.extreme())
			b = slices.Replace(b, at, min(at+len(number), len(b)), number...)
		case 5:
			b = b[:at]
		case 6:
			n := min(m.rnd.IntN(64), len(b)-at)
			clear(b[at : at+n])
		case 7:
			n := min(m.rnd.IntN(64), len(b)-at)
			b = slices.Insert(b, at, bytes.Clone(b[at:at+n])...)
		}
	}
	return b
}

// raw changes a file and no checksum.
func (m *mangler) raw(path string) error {
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		return err
	}
	m.torn[path] = true
	switch m.rnd.IntN(4) {
	case 0:
		b = b[:m.rnd.IntN(len(b))]
		m.note("%s cut to %d bytes", filepath.Ext(path), len(b))
	case 1:
		at := m.rnd.IntN(len(b))
		n := min(1<<m.rnd.IntN(14), len(b)-at)
		for i := range n {
			b[at+i] = byte(m.rnd.Uint32())
		}
		m.note("%s: %d bytes of noise at %d", filepath.Ext(path), n, at)
	default:
		for range 1 + m.rnd.IntN(8) {
			b[m.rnd.IntN(len(b))] ^= 1 << m.rnd.IntN(8)
		}
		m.note("%s: bits turned", filepath.Ext(path))
	}
	return os.WriteFile(path, b, 0o600)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// wrap returns a record with its checksum.
func wrap(bucket string, key, value []byte) []byte {
	sum := crc32.New(castagnoli)
	for _, b := range [][]byte{[]byte(bucket), {0}, key, {0}, value} {
		sum.Write(b)
	}
	return binary.LittleEndian.AppendUint32(bytes.Clone(value), sum.Sum32())
}

// archive changes a record of an archive, and its checksum with it.
func (m *mangler) archive(path string) error {
	if m.torn[path] {
		return nil // It is no longer a database.
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoFreelistSync: true})
	if err != nil {
		return nil // It has been mangled before, and is no longer a database.
	}
	defer db.Close()
	err = func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = nil // As above.
			}
		}()
		return db.Update(func(tx *bbolt.Tx) error {
			switch m.rnd.IntN(7) {
			case 0:
				return m.record(tx, "meta")
			case 1:
				return m.record(tx, pick(m.rnd, "metrics", "spare"))
			case 2, 3:
				return m.index(tx)
			case 4:
				return m.record(tx, "events")
			default:
				return m.chunk(tx)
			}
		})
	}()
	return err
}

// someKey returns a key of a bucket, nil if it is empty.
func (m *mangler) someKey(b *bbolt.Bucket) []byte {
	var keys [][]byte
	if b != nil {
		b.ForEach(func(k, _ []byte) error { keys = append(keys, bytes.Clone(k)); return nil })
	}
	if len(keys) == 0 {
		return nil
	}
	return keys[m.rnd.IntN(len(keys))]
}

func (m *mangler) record(tx *bbolt.Tx, bucket string) error {
	b := tx.Bucket([]byte(bucket))
	key := m.someKey(b)
	if key == nil {
		return nil
	}
	stored := b.Get(key)
	if len(stored) < 4 {
		return nil
	}
	value := m.value(bucket, string(key), bytes.Clone(stored[:len(stored)-4]))
	m.note("%s %q", bucket, key)
	if m.rnd.IntN(8) == 0 {
		key = m.bytes(key)
		if len(key) == 0 {
			return nil
		}
	}
	return b.Put(key, wrap(bucket, key, value))
}

// value changes the value of a record.
func (m *mangler) value(bucket, key string, value []byte) []byte {
	switch {
	case bucket == "events":
		events, err := chunk.ParseEvents(value)
		if err != nil || m.rnd.IntN(3) == 0 {
			break
		}
		return chunk.MarshalEvents(m.events(events))
	case bucket == "meta" && key != "config" || bucket == "spare" && key == "archive":
		if m.rnd.IntN(2) == 0 {
			return m.json(value)
		}
	default: // Packed.
		if m.rnd.IntN(6) == 0 {
			m.note("a bomb")
			n := 1 << (10 + m.rnd.IntN(16))
			return chunk.Pack(append(binary.AppendUvarint(nil, uint64(n)), make([]byte, n)...))
		}
		if raw, err := chunk.Unpack(value, 64<<20); err == nil {
			return chunk.Pack(m.bytes(raw))
		}
	}
	return m.bytes(value)
}

// json replaces a number by another.
func (m *mangler) json(b []byte) []byte {
	var starts []int
	for i := 1; i < len(b); i++ {
		if b[i] >= '0' && b[i] <= '9' && (b[i-1] == ':' || b[i-1] == ',') {
			starts = append(starts, i)
		}
	}
	if len(starts) == 0 {
		return m.bytes(b)
	}
	at := starts[m.rnd.IntN(len(starts))]
	end := at
	for end < len(b) && b[end] >= '0' && b[end] <= '9' {
		end++
	}
	number := fmt.Sprint(pick(m.rnd, int64(m.extreme()), int64(uint32(m.extreme()))))
	return slices.Replace(bytes.Clone(b), at, end, []byte(number)...)
}

func (m *mangler) events(events []metric.Event) []metric.Event {
	for range 1 + m.rnd.IntN(4) {
		if len(events) == 0 {
			break
		}
		e := &events[m.rnd.IntN(len(events))]
		switch m.rnd.IntN(5) {
		case 0:
			e.At.Wall = int64(m.extreme())
		case 1:
			e.At.Cont, e.At.Awake = int64(m.extreme()), int64(m.extreme())
		case 2:
			e.Kind = pick(m.rnd, metric.EventSleep, metric.EventWake, metric.EventGap, metric.EventBoot, metric.EventProcessExit, metric.EventStart, "x\x1b[2J")
		case 3:
			e.Text, e.Key, e.Indom = "\x1b]0;t\x07\n", string(m.bytes([]byte(e.Key))), pick(m.rnd, "process", "", "x")
		case 4:
			for range 1 << m.rnd.IntN(10) {
				e.Labels = append(e.Labels, metric.Label{Name: "how", Value: strings.Repeat("x", m.rnd.IntN(100))})
			}
		}
	}
	if m.rnd.IntN(6) == 0 {
		for range m.rnd.IntN(200_000) {
			events = append(events, events[0])
		}
	}
	return events
}

// index changes the index entry of a chunk.
func (m *mangler) index(tx *bbolt.Tx) error {
	b := tx.Bucket([]byte("index"))
	key := m.someKey(b)
	if key == nil {
		return nil
	}
	stored := b.Get(key)
	in, err := chunk.ParseInfo(stored[:len(stored)-4])
	if err != nil {
		return nil
	}
	year := int64(365 * 24 * 3600 * 1e9)
	switch m.rnd.IntN(6) {
	case 0:
		in.To += year * int64(m.rnd.IntN(60))
		in.Last.Wall = in.To
	case 1:
		in.From -= year * int64(m.rnd.IntN(60))
		in.First.Wall = in.From
	case 2:
		in.From, in.To = int64(m.extreme()), int64(m.extreme())
	case 3:
		in.First.Cont, in.Last.Cont = int64(m.extreme()), int64(m.extreme())
	case 4:
		in.Ticks, in.Values = m.extreme(), m.extreme()
	case 5:
		in.Size, in.Sum, in.Schema = int64(m.extreme()), uint32(m.extreme()), uint32(m.extreme())
	}
	m.note("index %x", key)
	return b.Put(key, wrap("index", key, in.Marshal()))
}

// chunk changes a chunk, its checksums, and its index entry.
func (m *mangler) chunk(tx *bbolt.Tx) error {
	chunks := tx.Bucket([]byte("chunks"))
	key := m.someKey(chunks)
	if key == nil {
		return nil
	}
	home := chunks
	if own := chunks.Bucket(key); own != nil {
		home = own
	}
	data := bytes.Clone(home.Get(key))
	if len(data) == 0 {
		return nil
	}
	data = m.remake(data)
	m.note("chunk %x", key)
	if err := home.Put(key, data); err != nil {
		return err
	}
	index := tx.Bucket([]byte("index"))
	stored := index.Get(key)
	if len(stored) < 4 {
		return nil
	}
	in, err := chunk.ParseInfo(stored[:len(stored)-4])
	if err != nil {
		return nil
	}
	in.Size, in.Sum = int64(len(data)), chunk.Checksum(data)
	return index.Put(key, wrap("index", key, in.Marshal()))
}

// Records replaces the value of each record of a bucket by fn's result for it, with the right
// checksum. Where fn returns nil, the record stays as it is.
func Records(path, bucket string, fn func(key, value []byte) []byte) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		changed := make(map[string][]byte)
		if err := b.ForEach(func(k, v []byte) error {
			if now := fn(k, bytes.Clone(v[:len(v)-4])); now != nil {
				changed[string(k)] = wrap(bucket, k, now)
			}
			return nil
		}); err != nil {
			return err
		}
		for k, v := range changed {
			if err := b.Put([]byte(k), v); err != nil {
				return err
			}
		}
		return nil
	})
}
