package chunk

import (
	"bytes"
	"encoding/binary"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/storetest"
)

// seeds are encoded chunks of random ticks.
func seeds(f *testing.F) (sealed []*Sealed, n *numbers) {
	n = &numbers{}
	for seed := range uint64(12) {
		w := storetest.NewWorld(seed)
		b := NewBuilder(w.Class)
		for range 30 {
			if err := b.Append(w.Tick()); err != nil {
				f.Fatal(err)
			}
		}
		s, err := b.Seal(n.number)
		if err != nil {
			f.Fatal(err)
		}
		sealed = append(sealed, s)
	}
	return sealed, n
}

// FuzzOpen opens hostile bytes as they are.
func FuzzOpen(f *testing.F) {
	sealed, n := seeds(f)
	for _, s := range sealed {
		f.Add(s.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Open(bytes.NewReader(data), int64(len(data)))
		if err == nil {
			_ = c.Verify(n.desc)
		}
	})
}

// unchecked opens data whatever its checksums are: it corrects them, so that the code behind
// the checks is reached.
func unchecked(data []byte) *Chunk {
	if len(data) < 2 {
		return nil
	}
	dirLen, n := binary.Uvarint(data[1:])
	from := 1 + n
	if n <= 0 || dirLen > uint64(len(data)-from) || from+int(dirLen)+4 > len(data) {
		return nil
	}
	all := from + int(dirLen) + 4
	c := &Chunk{codec: codecs[Version], in: bytes.NewReader(data), size: int64(len(data))}
	if c.parse(data[from:all-4], int64(all)) != nil {
		return nil
	}
	parts := []*section{&c.timesAt, &c.wordsAt, &c.sketchesAt}
	for _, g := range c.Groups {
		parts = append(parts, &g.blocksAt, &g.livesAt, &g.indexAt, &g.namesAt, &g.activeAt, &g.sumsAt)
		for i := range g.packs {
			parts = append(parts, &g.packs[i])
		}
	}
	for _, p := range parts {
		if end := p.at + int64(p.len); end <= int64(len(data)) {
			p.sum = Checksum(data[p.at:end])
		}
	}
	return c
}

// FuzzDecode decodes all of a chunk with hostile content and right checksums.
func FuzzDecode(f *testing.F) {
	sealed, n := seeds(f)
	for _, s := range sealed {
		f.Add(s.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		c := unchecked(data)
		if c == nil {
			return
		}
		for _, g := range c.Groups {
			_, _ = g.Find("1 2")
			_, conts, err := g.Times()
			insts, err2 := g.Instances()
			if err != nil || err2 != nil {
				continue
			}
			for i := range g.Columns {
				d := n.desc(g.Columns[i].Number)
				_ = g.Series(i, nil, func(k int, s *Series) error {
					if d != nil && g.Blocks > 0 {
						s.Summarize(d, &insts[k], conts, 0, uint32(g.Blocks-1))
					}
					return nil
				})
			}
		}
		_ = c.Verify(n.desc)
	})
}

// FuzzEvents decodes hostile batches of events.
func FuzzEvents(f *testing.F) {
	f.Add(MarshalEvents([]metric.Event{{Kind: metric.EventGap, Text: "t", At: metric.Stamp{Wall: 5, Cont: -1}, Labels: []metric.Label{{Name: "a", Value: "b"}}}, {}}))
	// An event at another time than the head of the batch allows.
	f.Add([]byte("\x00\x00\x01\x02\x03g\x00\x00\x00\x00\x05\r\xc0\x1e\x97\u2439Q\x03gap!t\x00\x01a\x01b\n\v\xcf\xcf\xcf\xcf\xcf\xcf\xcf\xcf\xcf\xcf\xcf\xcf\xcf\xc6\xf3\xce\xce\xce\x01\xce\xce\xce\xce\f\x00\x00\x01\x03\x04\x00\xffPE"))
	f.Fuzz(func(t *testing.T, in []byte) {
		events, err := ParseEvents(in)
		if err != nil {
			return
		}
		again, err := ParseEvents(MarshalEvents(events))
		if err != nil || len(again) != len(events) {
			t.Fatalf("%d events came back as %d: %v", len(events), len(again), err)
		}
	})
}

// FuzzInfo decodes hostile index entries.
func FuzzInfo(f *testing.F) {
	f.Add((&Info{Class: metric.Fast, Ticks: 3, Values: 9, From: 1, To: 5, First: metric.Stamp{Wall: 1}, Last: metric.Stamp{Wall: 5}, Size: 100}).Marshal())
	f.Fuzz(func(t *testing.T, in []byte) {
		info, err := ParseInfo(in)
		if err != nil {
			return
		}
		if again, err := ParseInfo(info.Marshal()); err != nil || again != info {
			t.Fatalf("%+v came back as %+v: %v", info, again, err)
		}
	})
}

// FuzzSeries codes the given changes and compares.
func FuzzSeries(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 5, 0, 0, 255}, uint8(3))
	f.Add([]byte{1, 2, 3, 200, 5, 0, 0, 255}, uint8(131))
	f.Fuzz(func(t *testing.T, in []byte, shift uint8) {
		if len(in) == 0 || len(in) > 4096 {
			return
		}
		var at []uint32
		var vals []uint64
		v := uint64(0)
		for i, b := range in {
			if b%3 == 0 && i > 0 {
				continue
			}
			v += uint64(int64(int8(b))) << (shift % 64)
			if n := len(vals); n == 0 || vals[n-1] != v {
				at, vals = append(at, uint32(i)), append(vals, v)
			}
		}
		n := uint32(len(in))
		var m seriesModel
		m.init(shift >= 128)
		var e encoder
		e.begin(nil)
		e.series(&m, at, vals, n, nil, nil)
		ref := &reference{factor: int64(v) >> 20}
		e.series(&m, at, vals, n, nil, &guide{reference: *ref, at: at, bits: vals})
		out := e.end()
		m.init(shift >= 128)
		var d decoder
		d.begin(out)
		for range 2 {
			var s Series
			err := s.decode(&d, &m, n, nil, nil, func(*reference, uint32) (*Series, error) { return &Series{At: at, Bits: vals, Life: n}, nil }, wholeSeries)
			if err != nil || d.short() {
				t.Fatal(err, d.short())
			}
			if len(s.At) != len(at) {
				t.Fatalf("%d changes, want %d", len(s.At), len(at))
			}
			for i := range at {
				if s.At[i] != at[i] || s.Bits[i] != vals[i] {
					t.Fatalf("change %d is %d at %d, want %d at %d", i, s.Bits[i], s.At[i], vals[i], at[i])
				}
			}
		}
	})
}

// FuzzSketches decodes hostile sketches. What comes out must be in order and within the
// limits.
func FuzzSketches(f *testing.F) {
	sealed, _ := seeds(f)
	for _, s := range sealed {
		c := unchecked(s.Data)
		in, err := c.read(c.sketchesAt, "sketches")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(in)
	}
	groups := []*Group{{Size: 3, Columns: make([]Column, 5)}, {Size: 1, Columns: make([]Column, 2)}, {Size: 1 << 20, Columns: make([]Column, 1<<16)}}
	f.Fuzz(func(t *testing.T, in []byte) {
		all, err := decodeSketches(in, groups)
		if err != nil {
			return
		}
		total := 0
		for i, g := range all {
			for n, s := range g {
				if n < 0 || n >= groups[i].Size*len(groups[i].Columns) || len(s) == 0 {
					t.Fatalf("series %d has %v", n, s)
				}
				total += len(s)
				for k, b := range s {
					if b.Count < 1 || b.Count > MaxTicks || b.Index < -lastBucket || b.Index > lastBucket || k > 0 && b.Index <= s[k-1].Index {
						t.Fatalf("series %d has %v", n, s)
					}
				}
			}
		}
		if total > sketchRoom+len(in)*sketchRoomPerByte {
			t.Fatalf("%d buckets of %d bytes", total, len(in))
		}
	})
}
