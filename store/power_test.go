package store_test

import (
	"fmt"
	"maps"
	"math/rand"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/store/disk/disktest"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// TestPowerLoss records on a file layer that notes every operation, rebuilds
// the directory as a crash at each of them may leave it, and compares. What a
// barrier or sync covered must be there; whatever else is there must be right;
// and a writer must be able to go on from it.
func TestPowerLoss(t *testing.T) {
	for seed := range uint64(proof.Pick(t, 1, 4)) {
		dir := t.TempDir()
		d := disktest.New(dir)
		list := proof.Items(seed, proof.Pick(t, 120, 500))
		var after []int
		synctest.Test(t, func(t *testing.T) { after = recordAll(t, d, dir, seed, list) })
		ops := d.Ops()
		stride := max(1, len(ops)/proof.Pick(t, 50, len(ops)))
		rnd := rand.New(rand.NewSource(int64(seed)))
		t.Logf("seed %d: %d operations, %+v", seed, len(ops), d.Counts())
		for at := int(rnd.Int63()) % stride; at <= len(ops); at += stride {
			for _, mode := range []disktest.Mode{disktest.Panic, disktest.PowerCut} {
				if err := crashOnce(t, d, seed, list, after, at, mode, rnd); err != nil {
					t.Fatalf("seed %d, %v at operation %d of %d (%s): %v", seed, mode, at, len(ops), proof.Around(ops, at), err)
				}
			}
		}
	}
}

// recordAll records list and returns the length of the log after each item.
func recordAll(t *testing.T, d *disktest.FS, dir string, seed uint64, list []proof.Item) []int {
	t.Helper()
	clock := proof.From(list[0].At())
	opt := recorded.ProofOptions(dir, seed, clock.Now)
	opt.FS = d
	opt.Sync = 3 * time.Second
	w, err := recording.Create(opt)
	if err != nil {
		t.Fatal(err)
	}
	after := make([]int, len(list))
	for i, it := range list {
		clock.Until(it.At())
		if err := it.Append(w); err != nil {
			t.Fatalf("item %d: %v", i, err)
		}
		after[i] = d.Len()
		if i == len(list)*2/3 {
			if _, err := w.Rotate("test"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return after
}

// covered is how many items must survive a crash at operation at, if all
// before them do: those whose journal file has been made safe since they were
// written to it, or been removed, because the archive has them. If the power
// fails, a full sync of anything must have followed.
func covered(ops []disktest.Op, after []int, at int, mode disktest.Mode) int {
	safe := make(map[string]int) // by journal file: before which operation
	var pending map[string]int
	reset := func() { pending = make(map[string]int) }
	reset()
	for i, op := range ops[:min(at, len(ops))] {
		if strings.Contains(op.Name, ".live.j") && (op.Kind == disktest.Barrier || op.Kind == disktest.Sync || op.Kind == disktest.Remove) {
			pending[op.Name] = i
		}
		if mode == disktest.Panic || op.Kind == disktest.Sync || op.Kind == disktest.SyncDir {
			maps.Copy(safe, pending)
			reset()
		}
	}
	for n, end := range after {
		write := end - 1
		for write >= 0 && (ops[write].Kind != disktest.Write || !strings.Contains(ops[write].Name, ".live.j")) {
			write--
		}
		if write < 0 || safe[ops[write].Name] <= write {
			return n
		}
	}
	return len(after)
}

func crashOnce(t *testing.T, d *disktest.FS, seed uint64, list []proof.Item, after []int, at int, mode disktest.Mode, rnd *rand.Rand) error {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "crash")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := d.Crash(dir, at, mode, rnd); err != nil {
		return err
	}
	c, _, err := proof.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	must := covered(d.Ops(), after, at, mode)
	left, have, err := c.Survivors(list)
	if err != nil {
		return err
	}
	for i := range must {
		if !left[i] {
			return fmt.Errorf("item %d of %d safe ones is lost", i, must)
		}
	}
	// The machine starts again, and so does the recorder.
	clock := proof.NewClock(list[min(have, len(list)-1)].At())
	w, err := recording.Create(recorded.ProofOptions(dir, seed, clock.Now))
	if err != nil {
		return fmt.Errorf("starting again: %w", err)
	}
	for i := have; i < min(have+5, len(list)); i++ {
		clock.Set(list[i].At())
		if err := list[i].Append(w); err != nil {
			return fmt.Errorf("going on: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("going on: %w", err)
	}
	c, damage, err := proof.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading after going on: %w", err)
	}
	now, _, err := c.Survivors(list)
	if err != nil {
		return fmt.Errorf("after going on from %d: %w", have, err)
	}
	for i, was := range left {
		if (was || i >= have && i < have+5) && !now[i] {
			return fmt.Errorf("after going on from %d: item %d is lost", have, i)
		}
	}
	if len(damage) > 0 {
		return fmt.Errorf("after going on, damage: %s", strings.Join(damage, "; "))
	}
	return nil
}
