package chunk

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tachograph/store/storetest"
)

// eachDamaged calls fn for 30 copies of each of 40 chunks. In each copy it flips, in one
// byte, the bits that wrong returns.
func eachDamaged(t *testing.T, wrong func(w *storetest.World) byte, fn func(seed uint64, at int, data []byte, want storetest.Ledger, n *numbers)) {
	t.Helper()
	for seed := range uint64(40) {
		w := storetest.NewWorld(seed)
		var n numbers
		want := make(storetest.Ledger)
		b := NewBuilder(w.Class)
		for range 40 {
			tick := w.Tick()
			want.Add(tick)
			if err := b.Append(tick); err != nil {
				t.Fatal(err)
			}
		}
		s, err := b.Seal(n.number)
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			data := bytes.Clone(s.Data)
			at := w.R.IntN(len(data))
			data[at] ^= wrong(w)
			fn(seed, at, data, want, &n)
		}
	}
}

// TestFlippedBit flips one bit of a chunk. Nothing must be lost, and Verify must report it.
func TestFlippedBit(t *testing.T) {
	oneBit := func(w *storetest.World) byte { return 1 << w.R.IntN(8) }
	eachDamaged(t, oneBit, func(seed uint64, at int, data []byte, want storetest.Ledger, n *numbers) {
		c, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			// If the version or the length of the directory is damaged, nothing says where
			// the checksum is.
			if at > 3 {
				t.Errorf("seed %d: byte %d of %d: %v", seed, at, len(data), err)
			}
			return
		}
		if err := c.Verify(n.desc); !errors.Is(err, ErrMended) {
			t.Fatalf("seed %d: a flipped bit at %d of %d: %v", seed, at, len(data), err)
		}
		got := make(storetest.Ledger)
		readAll(t, got, c, n)
		got.Compare(t, want)
	})
}

// TestRescue damages chunks. What Rescue keeps must be sound, must hold every cell either as
// it was or as lost to damage, and must keep most of them.
func TestRescue(t *testing.T) {
	kept, lost, hopeless := 0, 0, 0
	twoBits := func(w *storetest.World) byte { return 3 << w.R.IntN(7) }
	eachDamaged(t, twoBits, func(seed uint64, at int, data []byte, want storetest.Ledger, n *numbers) {
		c, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			hopeless++
			return
		}
		if c.Verify(n.desc) == nil {
			t.Fatalf("seed %d: damage at %d of %d went unnoticed", seed, at, len(data))
		}
		r, missing, err := Rescue(c, n.desc)
		if err != nil {
			hopeless++
			return
		}
		if len(missing) == 0 {
			t.Fatalf("seed %d: byte %d: nothing is said to be lost", seed, at)
		}
		sound := open(t, r)
		if err := sound.Verify(n.desc); err != nil {
			t.Fatalf("seed %d: byte %d: what was rescued is damaged: %v", seed, at, err)
		}
		got := make(storetest.Ledger)
		readAll(t, got, sound, n)
		for k, g := range got {
			if len(g) != len(want[k]) {
				t.Fatalf("seed %d: byte %d: %s has %d cells, want %d", seed, at, k, len(g), len(want[k]))
			}
			for i := range g {
				switch {
				case g[i] == want[k][i]:
					kept++
				case strings.HasSuffix(g[i], fmt.Sprint(" 0  ", Damaged)):
					lost++
				default:
					t.Fatalf("seed %d: byte %d: %s is %q, was %q", seed, at, k, g[i], want[k][i])
				}
			}
		}
	})
	t.Logf("%d cells kept, %d lost; %d of 1200 chunks could not be opened", kept, lost, hopeless)
	if kept < 2*lost || hopeless > 600 {
		t.Error("too little was rescued")
	}
}
