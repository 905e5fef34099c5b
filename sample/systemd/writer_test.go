package systemd

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tachograph/sample/xz/xztest"
)

// writer writes a journal file as journald does, but for hash tables, which readers of all entries
// do not need.
type writer struct {
	bytes   []byte
	compact bool
	pack    byte // how fields are compressed that are longer than 20 bytes
	data    map[string]uint64
	array   int // the last, and how many entries it has
	used    int
	room    int
	count   uint64
}

func newWriter(flags uint32, file, sequence byte) *writer {
	w := &writer{bytes: make([]byte, headerLeast), compact: flags&isCompact != 0, data: make(map[string]uint64)}
	switch {
	case flags&hasXZ != 0:
		w.pack = isXZ
	case flags&hasLZ4 != 0:
		w.pack = isLZ4
	case flags&hasZSTD != 0:
		w.pack = isZSTD
	}
	copy(w.bytes, signature)
	binary.LittleEndian.PutUint32(w.bytes[12:], flags)
	w.bytes[16] = 1 // online
	w.bytes[24], w.bytes[72] = file, sequence
	w.set(88, headerLeast)
	return w
}

func (w *writer) set(at int, value uint64) { binary.LittleEndian.PutUint64(w.bytes[at:], value) }

// object adds one of a type that takes size bytes.
func (w *writer) object(kind, flags byte, size int) int {
	at := len(w.bytes)
	w.bytes = append(w.bytes, make([]byte, (size+7)/8*8)...)
	w.bytes[at], w.bytes[at+1] = kind, flags
	w.set(at+8, uint64(size))
	w.set(96, uint64(len(w.bytes)-headerLeast))
	return at
}

func (w *writer) field(t testing.TB, text string) uint64 {
	if at, ok := w.data[text]; ok {
		return at
	}
	payload, flags := text, byte(0)
	if w.pack != 0 && len(text) > 20 {
		payload, flags = packed(t, w.pack, text), w.pack
	}
	head := 64
	if w.compact {
		head = 72
	}
	at := w.object(typeData, flags, head+len(payload))
	copy(w.bytes[at+head:], payload)
	w.data[text] = uint64(at)
	return uint64(at)
}

func packed(t testing.TB, kind byte, text string) string {
	t.Helper()
	switch kind {
	case isXZ:
		return string(xztest.Pack(t, []byte(text), 0))
	case isLZ4:
		// One sequence, without a copy.
		out := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
		if n := len(text) - 15; n >= 0 {
			out = append(out, 0xf0)
			for ; n >= 255; n -= 255 {
				out = append(out, 255)
			}
			out = append(out, byte(n))
		} else {
			out = append(out, byte(len(text)<<4))
		}
		return string(out) + text
	}
	return string(encoder().EncodeAll([]byte(text), nil))
}

// encoder writes frames as libzstd does of a text that it has as a whole.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(true))
	if err != nil {
		panic(err)
	}
	return e
})

func (w *writer) item() int {
	if w.compact {
		return 4
	}
	return 8
}

func (w *writer) put(at int, offset uint64) {
	if w.compact {
		binary.LittleEndian.PutUint32(w.bytes[at:], uint32(offset))
	} else {
		w.set(at, offset)
	}
}

// add writes an entry.
func (w *writer) add(t testing.TB, s Stamp, fields ...string) {
	t.Helper()
	var items []uint64
	for _, f := range fields {
		items = append(items, w.field(t, f))
	}
	step := 16
	if w.compact {
		step = 4
	}
	at := w.object(typeEntry, 0, entryHead+step*len(items))
	w.set(at+16, s.Seq)
	w.set(at+24, s.Received)
	w.set(at+32, s.Monotonic)
	copy(w.bytes[at+40:], s.Boot[:])
	for i, offset := range items {
		w.put(at+entryHead+i*step, offset)
	}
	if w.used == w.room {
		room := max(2*w.room, 4)
		next := w.object(typeEntryArray, 0, 24+room*w.item())
		if w.array == 0 {
			w.set(176, uint64(next))
		} else {
			w.set(w.array+16, uint64(next))
		}
		w.array, w.used, w.room = next, 0, room
	}
	w.put(w.array+24+w.used*w.item(), uint64(at))
	w.used++
	w.count++
	w.set(152, w.count)
	w.set(160, s.Seq)
	w.set(192, s.Received)
	if w.count == 1 {
		w.set(168, s.Seq)
		w.set(184, s.Received)
	}
}

// line writes an entry that says its number, which is also its time in seconds.
func (w *writer) line(t testing.TB, numbers ...uint64) {
	for _, n := range numbers {
		w.add(t, Stamp{Seq: n, Received: start + n*1e6, Monotonic: n * 1e6, Boot: ID{7}}, "MESSAGE="+strconv.FormatUint(n, 10), "PRIORITY=6", "_TRANSPORT=journal", "_UID=0", "_HOSTNAME=box")
	}
}

const start = 1_763_900_000_000_000

// save writes into the same file, as journald does.
func (w *writer) save(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(w.bytes, 0); err != nil {
		t.Fatal(err)
	}
}
