package chunk

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestMend turns bits. One is put right wherever it is; two never pass for one, and
// what is left then is as it was.
func TestMend(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 2, 31, 512, 4096, maxMended} {
		whole := make([]byte, size)
		for i := range whole {
			whole[i] = byte(r.Uint32())
		}
		sum := Checksum(whole)
		if turned, ok := Mend(bytes.Clone(whole), sum); turned != 0 || !ok {
			t.Errorf("%d sound bytes: %d turned, %v", size, turned, ok)
		}
		for range 64 {
			b := bytes.Clone(whole)
			if turned, ok := Mend(b, sum^1<<r.IntN(32)); turned != 0 || !ok || !bytes.Equal(b, whole) {
				t.Fatalf("%d bytes, a bit of the checksum: %d turned, %v", size, turned, ok)
			}
			if size == 0 {
				continue
			}
			at, bit := r.IntN(size), r.IntN(8)
			b[at] ^= 1 << bit
			if turned, ok := Mend(b, sum); turned != 1 || !ok || !bytes.Equal(b, whole) {
				t.Fatalf("%d bytes, bit %d of byte %d: %d turned, %v", size, bit, at, turned, ok)
			}
			b[at] ^= 1 << bit
			b[r.IntN(size)] ^= 1 << ((bit + 1) % 8)
			damaged := bytes.Clone(b)
			if turned, ok := Mend(b, sum); turned != 0 || ok || !bytes.Equal(b, damaged) {
				t.Fatalf("%d bytes, two bits: %d turned, %v", size, turned, ok)
			}
		}
	}
	long := make([]byte, maxMended+1)
	sum := Checksum(long)
	long[7] ^= 3
	if _, ok := Mend(long, sum); ok {
		t.Error("more bytes than may be put right")
	}
}
