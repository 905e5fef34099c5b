package xz

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tachograph/sample/xz/xztest"
)

// texts are of every kind that a compressor treats in its own way.
func texts() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 70_000)
	words := make([]byte, 0, 200_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for len(words) < 200_000 {
		words = fmt.Appendf(words, "%d: unit-%d.service: %x\n", len(words), r.IntN(90), r.Uint64()>>r.IntN(64))
	}
	return map[string][]byte{
		"empty": {}, "byte": []byte("x"), "zeros": make([]byte, 300_000), "noise": noise, "words": words,
		"mixed": append(append([]byte(strings.Repeat("ab", 500)), noise[:5000]...), words[:9000]...),
	}
}

func TestAppend(t *testing.T) {
	for name, text := range texts() {
		if len(text) == 0 {
			continue // a stream without a block
		}
		for _, block := range []int64{0, 1001, 4096} {
			packed := xztest.Pack(t, text, block)
			for _, limit := range []int{1, 65, 4096, 1 << 20} {
				want := text[:min(limit, len(text))]
				got, err := Append([]byte("before"), packed, limit)
				if err != nil || !bytes.Equal(got[6:], want) {
					t.Errorf("%s in blocks of %d to %d: %d bytes, %v", name, block, limit, len(got)-6, err)
				}
			}
		}
	}
}

// TestChunks has chunks that begin with a new dictionary, with new properties, and without
// compression.
func TestChunks(t *testing.T) {
	noise := texts()["noise"][:100]
	raw := func(control byte, text []byte) []byte {
		return append([]byte{control, byte((len(text) - 1) >> 8), byte(len(text) - 1)}, text...)
	}
	head := []byte("\xfd7zXZ\x00\x00\x00....\x02\x00\x21\x01\x00\x00\x00\x00....")
	packed := append(append(append(head, raw(1, noise)...), raw(2, noise)...), 0)
	got, err := Append(nil, packed, 1000)
	if err != nil || !bytes.Equal(got, append(bytes.Clone(noise), noise...)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for n := range len(packed) {
		if got, err := Append(nil, packed[:n], 1000); err == nil {
			t.Fatalf("cut at %d: %d bytes and no error", n, len(got))
		}
	}
	for _, bad := range []byte{2, 3, 0x80, 0xa0, 0xc0} { // nothing to go on with
		if _, err := Append(nil, append(bytes.Clone(head), raw(bad, noise)...), 1000); err == nil {
			t.Errorf("a first chunk of kind %#x is taken", bad)
		}
	}
}

func FuzzAppend(f *testing.F) {
	for name, text := range texts() {
		if len(text) > 0 && name != "noise" {
			f.Add(xztest.Pack(f, text[:min(len(text), 2000)], 1000), uint16(1000))
		}
	}
	f.Fuzz(func(t *testing.T, packed []byte, limit uint16) {
		out, err := Append(nil, packed, int(limit))
		if len(out) > int(limit) {
			t.Fatalf("%d bytes, at most %d were asked for", len(out), limit)
		}
		less, errLess := Append(nil, packed, int(limit)/2)
		if err == nil && (errLess != nil || !bytes.HasPrefix(out, less)) {
			t.Fatalf("less of it is something else: %v", errLess)
		}
	})
}
