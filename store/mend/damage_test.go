package mend_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
)

// damaged returns a damaged copy of b, and a description of the damage.
func damaged(b []byte, rnd *rand.Rand) ([]byte, string) {
	if rnd.Intn(8) == 0 {
		n := rnd.Intn(len(b))
		return b[:n:n], fmt.Sprintf("cut to %d of %d bytes", n, len(b))
	}
	b = bytes.Clone(b)
	at, bit := rnd.Intn(len(b)), rnd.Intn(8)
	b[at] ^= 1 << bit
	return b, fmt.Sprintf("bit %d of byte %d of %d flipped", bit, at, len(b))
}

// compareDamaged reads a damaged directory. It returns the share of the values that were
// found and whether damage was reported. It fails if a value differs from the one in whole.
func compareDamaged(dir string, whole *proof.Content) (share float64, reported bool, err error) {
	c, damage, err := proof.ReadDir(dir)
	if err != nil {
		// If nothing of a file can be read, Open returns an error.
		return 0, true, nil
	}
	for at, v := range c.Values {
		if want, ok := whole.Values[at]; !ok || want != v {
			return 0, false, fmt.Errorf("%v is %s, was recorded as %s", at, v, want)
		}
	}
	for at, v := range c.Events {
		if want, ok := whole.Events[at]; !ok || want != v {
			return 0, false, fmt.Errorf("event at %d is %s, was recorded as %s", at, v, want)
		}
	}
	n := len(whole.Values) + len(whole.Events)
	return float64(len(c.Values)+len(c.Events)) / float64(n), len(damage) > 0, nil
}

// damageFile damages a file of a directory in many ways. Readers must not fail, must not
// find anything that was not recorded, and must report what is missing. Only a journal that
// is cut between two records looks as if a kill had left it so; then a beginning of list
// must be there.
func damageFile(t *testing.T, name string, whole *proof.Content, list []proof.Item, tries int, rnd *rand.Rand) {
	t.Helper()
	sound, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	kept, worst, worstBy := 0.0, 1.0, ""
	for range tries {
		b, what := damaged(sound, rnd)
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		share, reported, err := compareDamaged(filepath.Dir(name), whole)
		switch {
		case err != nil:
			t.Errorf("%s: %v", what, err)
		case share < 1 && !reported && layout.IsJournalName(filepath.Base(name)) && len(b) < len(sound):
			c, _, err := proof.ReadDir(filepath.Dir(name))
			if err == nil {
				_, err = c.CheckPrefix(list, 0)
			}
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		case share < 1 && !reported:
			t.Errorf("%s: %.2f%% is missing without a report", what, 100-100*share)
		}
		kept += share
		if len(b) == len(sound) && share < worst {
			worst, worstBy = share, what
		}
	}
	t.Logf("%s: damaged %d times, %.2f%% of all values still read on average, at worst %.2f%% (%s)",
		filepath.Base(name), tries, 100*kept/float64(tries), 100*worst, worstBy)
	if err := os.WriteFile(name, sound, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedArchive damages an archive of some chunks.
func TestDamagedArchive(t *testing.T) {
	rec := makeArchive(t, 11, 120, 120)
	if err := os.Remove(rec.journal); err != nil {
		t.Fatal(err)
	}
	whole, damage, err := proof.ReadDir(filepath.Dir(rec.archive))
	if err != nil || len(damage) > 0 {
		t.Fatalf("undamaged: %v, %v", err, damage)
	}
	list := proof.SealedItems(11, 120)
	if n, err := whole.CheckPrefix(list, len(list)); err != nil {
		t.Fatalf("undamaged: %d of %d items, %v", n, len(list), err)
	}
	damageFile(t, rec.archive, whole, list, proof.Pick(t, 150, 20000), rand.New(rand.NewSource(3)))
}
