package follow_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"tachograph/store/follow"
	"tachograph/store/layout"
	"tachograph/store/rewrite"
	"tachograph/store/storetest/proof"
)

// TestCopiesComeIntoTheDirectory makes snapshots of a directory in that directory, which is
// where replay puts them, while somebody follows what is recorded there: nothing comes twice
// and nothing is missed, whether one follows all the time, resumes, or takes the copies away.
func TestCopiesComeIntoTheDirectory(t *testing.T) {
	for seed := range uint64(proof.Pick(t, 2, 10)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 11))
			r := newRecorder(t, seed, 200)
			steady := open(t, follow.Options{}, r.dir)
			defer steady.Close()
			got, resumed := streams{}, streams{}
			at := steady.Position()
			var copies []string
			for r.next < len(r.list) {
				r.record()
				switch rnd.IntN(12) {
				case 0:
					copies = append(copies, snapshot(t, r.dir))
				case 1:
					if _, err := r.w.Rotate("test"); err != nil {
						t.Fatal(err)
					}
				case 2:
					if err := r.w.Close(); err != nil {
						t.Fatal(err)
					}
					r.start()
				case 3:
					if len(copies) > 0 {
						if err := os.Remove(copies[0]); err != nil {
							t.Fatal(err)
						}
						copies = copies[1:]
					}
				}
				if rnd.IntN(10) > 0 {
					until(t, steady, got, r.want)
					got.compare(t, "steady", r.want)
				}
				f := open(t, follow.Options{From: at}, r.dir)
				present(t, f, resumed)
				at = f.Position()
				f.Close()
				resumed.compare(t, "resumed", r.want)
			}
			until(t, steady, got, r.want)
			present(t, steady, got)
			got.compare(t, "steady", r.want)
			f := open(t, follow.Options{}, r.dir)
			defer f.Close()
			if f.Position().Archive != at.Archive {
				t.Errorf("who begins at the end follows %s, not the recorder's archive %s", f.Position().Archive, at.Archive)
			}
		})
	}
}

// snapshot makes one of all that stands in dir, there.
func snapshot(t *testing.T, dir string) (path string) {
	t.Helper()
	scratch := filepath.Join(t.TempDir(), "made")
	report, err := rewrite.Copy(scratch, rewrite.CopyOptions{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		path = filepath.Join(dir, layout.FinishedName(report.Archives[0].Host.Name, report.Archives[0].From, report.Archives[0].To, n))
		if _, err := os.Stat(path); os.IsNotExist(err) {
			break
		}
	}
	if err := os.Rename(scratch, path); err != nil {
		t.Fatal(err)
	}
	return path
}
