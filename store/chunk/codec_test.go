package chunk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

// An archive may hold chunks of several versions. The first byte selects the codec, and an
// unknown version is refused.
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
		{Version - 1, 0, "format version 1, which was never released"},
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

// withVersion returns a chunk that claims a version.
func withVersion(chunk []byte, version byte) []byte {
	b := bytes.Clone(chunk)
	b[0] = version
	n, w := binary.Uvarint(b[1:])
	end := 1 + w + int(n)
	binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], castagnoli))
	return b
}

// A chain of references is no longer than the version allows. Otherwise somebody who knows
// the format could chain series without end.
func TestReferencesEnd(t *testing.T) {
	b := NewBuilder(metric.Fast)
	for _, tick := range chained() {
		if err := b.Append(tick); err != nil {
			t.Fatal(err)
		}
	}
	var n numbers
	sealed, err := b.Seal(n.number)
	if err != nil {
		t.Fatal(err)
	}
	few := *codecs[Version]
	codecs[Version+1] = &few
	defer delete(codecs, Version+1)
	for few.references = 0; few.references <= maxReferences; few.references++ {
		c, err := Open(bytes.NewReader(withVersion(sealed.Data, Version+1)), int64(len(sealed.Data)))
		if err != nil {
			t.Fatal(err)
		}
		err = c.Verify(n.desc)
		if refused := errors.Is(err, errReference); refused != (few.references < maxReferences) {
			t.Errorf("with at most %d references: %v", few.references, err)
		}
	}
}

// chained returns ticks of counters. Each counts what the one before counts, twice, and
// something more; later ones count more of that.
func chained() []*metric.Tick {
	rnd := rand.New(rand.NewPCG(3, 5))
	g := &metric.Group{Name: "g", Indom: "disk"} // series without instances hardly refer to each other
	disk := &metric.Instance{ID: 1, Key: "sda"}
	for i := range maxReferences + 3 {
		g.Metrics = append(g.Metrics, &metric.Desc{Name: fmt.Sprint("counter", i), Type: metric.U64, Sem: metric.Counter, Indom: "disk"})
	}
	values := make([]uint64, len(g.Metrics))
	var ticks []*metric.Tick
	for i := range int64(500) {
		at := metric.Stamp{Wall: 1e18 + i*1e9, Cont: i * 1e9, Awake: i * 1e9}
		b := &metric.Block{Group: g, At: at, Rows: []*metric.Instance{disk}, Cols: make([]metric.Column, len(g.Metrics))}
		gain := uint64(rnd.IntN(1 << 20))
		for c := range values {
			gain = 2*gain + uint64(rnd.IntN(1<<(3*c)))
			values[c] += gain
			b.Cols[c].Bits = []uint64{values[c]}
		}
		ticks = append(ticks, &metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{b}})
	}
	return ticks
}
