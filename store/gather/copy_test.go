package gather

import (
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

func someCopy(t testing.TB) (b []byte, chunks []*chunk.Sealed, events []metric.Event) {
	var batch Batch
	g := &metric.Group{Name: "g", Metrics: []*metric.Desc{{Name: "m", Type: metric.U64}}}
	for i := range uint64(20) {
		at := metric.Stamp{Wall: int64(i) * 1e9, Cont: int64(i) * 1e9, Awake: int64(i) * 1e9}
		err := batch.Tick(&metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{{
			Group: g, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{i * i}}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := batch.Builders[metric.Fast].Seal(func(*metric.Desc) uint32 { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(eventsTogether + 3) {
		events = append(events, metric.Event{At: metric.Stamp{Wall: i}, Kind: metric.EventGap, Text: "a gap"})
	}
	chunks = []*chunk.Sealed{s, s}
	return AppendCopy(nil, chunks, eventsOf(events)), chunks, events
}

func TestCopy(t *testing.T) {
	b, chunks, events := someCopy(t)
	gotChunks, gotEvents, err := ParseCopy(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(gotChunks) != len(chunks) || len(gotEvents) != len(events) {
		t.Fatalf("%d chunks and %d events of %d and %d", len(gotChunks), len(gotEvents), len(chunks), len(events))
	}
	for i, s := range gotChunks {
		if s.Info != chunks[i].Info || !slices.Equal(s.Data, chunks[i].Data) {
			t.Errorf("chunk %d is another", i)
		}
	}
	for i, e := range gotEvents {
		if e.At != events[i].At || e.Kind != events[i].Kind || e.Text != events[i].Text {
			t.Errorf("event %d is %v", i, e)
		}
	}
	for n := range b {
		if _, _, err := ParseCopy(b[:n]); err == nil && n != len(b)-batchLength(t, b) && n != endOfChunks(chunks) {
			t.Errorf("the first %d bytes of %d are taken for a copy", n, len(b))
		}
	}
}

// endOfChunks returns where the batches of events begin.
func endOfChunks(chunks []*chunk.Sealed) int { return len(AppendCopy(nil, chunks, &Events{})) }

// batchLength returns the length of the second of two batches of events.
func batchLength(t testing.TB, b []byte) int {
	_, chunks, events := someCopy(t)
	return len(b) - len(AppendCopy(nil, chunks, eventsOf(events[:eventsTogether])))
}

func FuzzParseCopy(f *testing.F) {
	b, _, _ := someCopy(f)
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		chunks, events, err := ParseCopy(b)
		if err != nil {
			return
		}
		size := 0
		for _, s := range chunks {
			size += len(s.Data)
		}
		if size > len(b) || len(events) > eventsFree+len(b)*eventsPerByte+chunk.MaxEvents {
			t.Errorf("%d bytes of chunks and %d events in %d bytes", size, len(events), len(b))
		}
	})
}
