package chunk

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

// An archive may hold chunks of several versions: each is decoded by the codec
// that its first byte names, and one that nobody knows is refused.
func TestVersionsAreDispatched(t *testing.T) {
	at := metric.Stamp{Wall: 1e18, Cont: 5, Awake: 5}
	group := &metric.Group{Name: "mem", Metrics: []*metric.Desc{{Name: "mem.free", Type: metric.U64}}}
	b := NewBuilder(metric.Fast)
	block := &metric.Block{Group: group, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{7}}}}
	if err := b.Append(&metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{block}}); err != nil {
		t.Fatal(err)
	}
	sealed, err := b.Seal(func(*metric.Desc) uint32 { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	data := sealed.Data
	decoded := 0
	next := *codecs[Version]
	next.clocks = func(in []byte, n int, withAwake bool) (wall, cont, awake []int64, err error) {
		decoded++
		return decodeClocks(in, n, withAwake)
	}
	codecs[Version+1] = &next
	defer delete(codecs, Version+1)
	for _, c := range []struct {
		version byte
		decoded int
		refused string
	}{
		{Version, 0, ""},
		{Version + 1, 1, ""},
		{Version + 2, 0, "format version 4, known is 2: a newer program is needed"},
		{0, 0, "format version 0"},
	} {
		decoded = 0
		got, err := Open(bytes.NewReader(withVersion(data, c.version)), int64(len(data)))
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("version %d: %v", c.version, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("version %d: %v", c.version, err)
		}
		if _, err := got.Stamps(); err != nil || decoded != c.decoded {
			t.Errorf("version %d: %d times through the codec of version %d, %v", c.version, decoded, Version+1, err)
		}
	}
}

// withVersion is a chunk that says to be of that version.
func withVersion(chunk []byte, version byte) []byte {
	b := bytes.Clone(chunk)
	b[0] = version
	n, w := binary.Uvarint(b[1:])
	end := 1 + w + int(n)
	binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], castagnoli))
	return b
}
