package chunk

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestMend flips bits. One flipped bit is corrected wherever it is. Two are never mistaken
// for one, and the data then stays as it is.
func TestMend(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 2, 31, 512, 4096, maxMended} {
		whole := make([]byte, size)
		for i := range whole {
			whole[i] = byte(r.Uint32())
		}
		sum := Checksum(whole)
		if b := bytes.Clone(whole); !Mend(b, sum) || !bytes.Equal(b, whole) {
			t.Errorf("%d sound bytes", size)
		}
		for range 64 {
			b := bytes.Clone(whole)
			if !Mend(b, sum^1<<r.IntN(32)) || !bytes.Equal(b, whole) {
				t.Fatalf("%d bytes, a bit of the checksum", size)
			}
			if size == 0 {
				continue
			}
			at, bit := r.IntN(size), r.IntN(8)
			b[at] ^= 1 << bit
			if !Mend(b, sum) || !bytes.Equal(b, whole) {
				t.Fatalf("%d bytes, bit %d of byte %d", size, bit, at)
			}
			b[at] ^= 1 << bit
			b[r.IntN(size)] ^= 1 << ((bit + 1) % 8)
			damaged := bytes.Clone(b)
			if Mend(b, sum) || !bytes.Equal(b, damaged) {
				t.Fatalf("%d bytes, two bits", size)
			}
		}
	}
	long := make([]byte, maxMended+1)
	sum := Checksum(long)
	long[7] ^= 3
	if Mend(long, sum) {
		t.Error("more bytes than may be put right")
	}
}
