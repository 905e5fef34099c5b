package systemd

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
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

func packXZ(t testing.TB, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := xz.WriterConfig{CheckSum: xz.CRC32, DictCap: 1 << 18}.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestXZ(t *testing.T) {
	for name, text := range texts() {
		packed := packXZ(t, text)
		if len(text) == 0 {
			continue // a stream without a block
		}
		for _, limit := range []int{1, 65, 4096, 1 << 20} {
			want := text[:min(limit, len(text))]
			got, err := appendXZ([]byte("before"), packed, limit)
			if err != nil || !bytes.Equal(got[6:], want) {
				t.Errorf("%s to %d: %d bytes, %v", name, limit, len(got)-6, err)
			}
		}
	}
}

// TestXZOfChunks has chunks that begin with a new dictionary, with new properties, and without
// compression.
func TestXZOfChunks(t *testing.T) {
	noise := texts()["noise"][:100]
	raw := func(control byte, text []byte) []byte {
		return append([]byte{control, byte((len(text) - 1) >> 8), byte(len(text) - 1)}, text...)
	}
	head := []byte("\xfd7zXZ\x00\x00\x00....\x02\x00\x21\x01\x00\x00\x00\x00....")
	packed := append(append(append(head, raw(1, noise)...), raw(2, noise)...), 0)
	got, err := appendXZ(nil, packed, 1000)
	if err != nil || !bytes.Equal(got, append(bytes.Clone(noise), noise...)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for n := range len(packed) {
		if got, err := appendXZ(nil, packed[:n], 1000); err == nil {
			t.Fatalf("cut at %d: %d bytes and no error", n, len(got))
		}
	}
	for _, bad := range []byte{2, 3, 0x80, 0xa0, 0xc0} { // nothing to go on with
		if _, err := appendXZ(nil, append(bytes.Clone(head), raw(bad, noise)...), 1000); err == nil {
			t.Errorf("a first chunk of kind %#x is taken", bad)
		}
	}
}

// TestLZ4 unpacks blocks written by hand; those of the fixtures were written by journald's own
// compressor.
func TestLZ4(t *testing.T) {
	long := strings.Repeat("a", 15+255+3)
	for _, c := range []struct{ packed, want string }{
		{"\x10x", "x"},
		{"\x50hello", "hello"},
		{"\xf0\xff\x03" + long, long},
		{"\x11a\x01\x00\x10b", "aaaaaab"},
		{"\x34abc\x03\x00\x10.", "abcabcabcab."},
		{"\x1fa\x01\x00\xff\x00\x10z", strings.Repeat("a", 1+4+15+255) + "z"},
	} {
		for limit := 1; limit < len(c.want)+3; limit++ {
			got, err := appendLZ4([]byte("ab"), []byte(c.packed), limit)
			if want := "ab" + c.want[:min(limit, len(c.want))]; err != nil || string(got) != want {
				t.Fatalf("%q to %d: %q, %v", c.packed, limit, got, err)
			}
		}
		for n := range len(c.packed) {
			if got, err := appendLZ4(nil, []byte(c.packed[:n]), 1000); err == nil && !strings.HasPrefix(c.want, string(got)) {
				t.Fatalf("%q cut at %d: %q", c.packed, n, got)
			}
		}
	}
	for _, bad := range []string{"", "\x11a\x02\x00", "\x11a\x00\x00", "\x01\x01\x00", "\xf0\xff\xff", "\x11a\x01", "\x50hell"} {
		if got, err := appendLZ4([]byte("before"), []byte(bad), 100); err == nil {
			t.Errorf("%q: %q", bad, got)
		}
	}
}

func FuzzLZ4(f *testing.F) {
	f.Add([]byte("\x34abc\x03\x00\x10."), uint16(100))
	f.Add([]byte("\xf0\xff\xff\xff\x00"), uint16(65535))
	f.Fuzz(func(t *testing.T, packed []byte, limit uint16) {
		out, err := appendLZ4(nil, packed, int(limit))
		if len(out) > int(limit) {
			t.Fatalf("%d bytes, at most %d were asked for", len(out), limit)
		}
		less, errLess := appendLZ4(nil, packed, int(limit)/2)
		if err == nil && (errLess != nil || !bytes.HasPrefix(out, less)) {
			t.Fatalf("less of it is something else: %v", errLess)
		}
	})
}

func FuzzXZ(f *testing.F) {
	for name, text := range texts() {
		if len(text) > 0 && name != "noise" {
			f.Add(packXZ(f, text[:min(len(text), 2000)]), uint16(1000))
		}
	}
	f.Fuzz(func(t *testing.T, packed []byte, limit uint16) {
		out, err := appendXZ(nil, packed, int(limit))
		if len(out) > int(limit) {
			t.Fatalf("%d bytes, at most %d were asked for", len(out), limit)
		}
		less, errLess := appendXZ(nil, packed, int(limit)/2)
		if err == nil && (errLess != nil || !bytes.HasPrefix(out, less)) {
			t.Fatalf("less of it is something else: %v", errLess)
		}
	})
}
