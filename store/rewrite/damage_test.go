package rewrite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tachograph/store"
	"tachograph/store/rewrite"
	"tachograph/store/storetest/proof"
)

// TestReadFlippedBits turns a bit of every chunk: nothing is lost, and an archive that is
// made of it is whole.
func TestReadFlippedBits(t *testing.T) {
	proof.Unraced(t)
	dir := t.TempDir()
	src, hurt := filepath.Join(dir, "m.tacho"), filepath.Join(dir, "hurt.tacho")
	machine(t, src, 5, 2000)
	want := read(t, rewrite.ReadOptions{}, src)
	for _, place := range []int{0, 10, 50, 90} { // percent
		damagedCopy(t, src, hurt, func(n int, chunk []byte) { chunk[max(8, len(chunk)*place/100)] ^= 1 << (n % 8) })
		read(t, rewrite.ReadOptions{}, hurt).compare(t, want)
		made := filepath.Join(dir, fmt.Sprint("made", place, ".tacho"))
		report, err := rewrite.Copy(made, rewrite.CopyOptions{}, hurt)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Lost) > 0 {
			t.Errorf("lost: %v", report.Lost)
		}
		read(t, rewrite.ReadOptions{}, made).compare(t, want)
	}
}

// TestReadDamagedBlock spoils 64 bytes in a row of every chunk, somewhere in the values: the
// columns that stand there are absent with the reason, and all else is as it was.
func TestReadDamagedBlock(t *testing.T) {
	proof.Unraced(t)
	dir := t.TempDir()
	src, hurt := filepath.Join(dir, "m.tacho"), filepath.Join(dir, "hurt.tacho")
	machine(t, src, 5, 6000)
	want := read(t, rewrite.ReadOptions{}, src)
	damagedCopy(t, src, hurt, func(_ int, chunk []byte) {
		for i := range min(64, len(chunk)/8) {
			chunk[len(chunk)*3/4+i] ^= 0x5a
		}
	})
	losses := 0
	got := read(t, rewrite.ReadOptions{Note: func(l store.Loss) {
		if losses++; l.From == 0 || l.To < l.From {
			t.Errorf("loss %+v", l)
		}
	}}, hurt)
	if losses == 0 {
		t.Error("no loss is told")
	}
	cells, lost := 0, 0
	for name, ticks := range want {
		if len(got[name]) != len(ticks) {
			t.Fatalf("%s: %d, want %d", name, len(got[name]), len(ticks))
		}
		for i := range ticks {
			old, now := strings.Fields(ticks[i]), strings.Fields(got[name][i])
			cells += len(old)
			lost += strings.Count(got[name][i], "lost to damage")
			if old[0] != now[0] {
				t.Fatalf("%s, number %d:\n%s\nwant\n%s", name, i, got[name][i], ticks[i])
			}
		}
	}
	t.Logf("%d losses; %d of %d values", losses, lost, cells)
	if lost == 0 || lost > cells/4 {
		t.Errorf("%d of %d values are lost", lost, cells)
	}
}
