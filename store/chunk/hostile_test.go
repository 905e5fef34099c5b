package chunk

import (
	"encoding/binary"
	"math"
	"runtime"
	"testing"

	"tachograph/sample/metric"
)

// allocated returns how much memory fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Few bytes that claim to be very much must be refused, and must take no memory.
func TestBombs(t *testing.T) {
	const most = 64 << 20
	head := func(count uint64) []byte {
		return binary.AppendUvarint([]byte{0, 0}, count)
	}
	raw := []byte{1, 0} // one string, which is empty
	for range 4096 {
		raw = append(raw, make([]byte, 7)...)
		raw = append(binary.AppendUvarint(raw, 3500), make([]byte, 7000)...)
	}
	labels := append(append(head(4096), 0), Pack(raw)...)
	for _, c := range []struct {
		name string
		fn   func() error
	}{
		{"a packed part", func() error { _, err := Unpack(Pack(make([]byte, 60<<20)), MaxConfig); return err }},
		{"a packed part of noughts", func() error { _, err := Unpack(Pack(make([]byte, 16<<20)), MaxDescs); return err }},
		{"events that are not there", func() error {
			_, err := ParseEvents(append(append(head(64<<20), 0), Pack(make([]byte, 30<<20))...))
			return err
		}},
		{"labels of events", func() error { _, err := ParseEvents(labels); return err }},
		{"a count of events", func() error {
			_, err := ParseEvents(append(append(head(math.MaxUint64), 0), Pack([]byte{0})...))
			return err
		}},
		{"kinds of events", func() error {
			_, err := ParseEventHead(append(binary.AppendUvarint(head(1), 1<<24), make([]byte, 1<<24)...))
			return err
		}},
		{"strings", func() error { _, err := decodeStrings(Pack(make([]byte, 30<<20)), 30<<20); return err }},
		{"frames", func() error {
			var f frames
			if f.parse(Pack(append(binary.AppendUvarint(nil, 1<<26), make([]byte, 30<<20)...))) {
				return nil
			}
			return errNames
		}},
		{"a span of all time", func() error {
			in := Info{From: math.MinInt64, To: math.MaxInt64}
			_, err := ParseInfo(in.Marshal())
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var err error
			// Packing also takes memory, but that is not measured here.
			zstdWriter()
			if n := allocated(func() { err = c.fn() }); n > 3*most {
				t.Errorf("it takes %d MB", n>>20)
			}
			if err == nil {
				t.Error("it is not refused")
			}
		})
	}
}

// A recorder's chunks are far below every limit.
func TestManyEventsComeBack(t *testing.T) {
	var events []metric.Event
	for i := range 4096 {
		events = append(events, metric.Event{At: metric.Stamp{Wall: int64(i) * 1e6}, Kind: metric.EventGap})
	}
	got, err := ParseEvents(MarshalEvents(events))
	if err != nil || len(got) != len(events) {
		t.Fatalf("%d of %d events: %v", len(got), len(events), err)
	}
}
