package rewrite_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tachograph/store"
	"tachograph/store/rewrite"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// What several archives hold of a boot is told once: whatever copies lie beside an archive,
// everything is answered as by it alone.
func TestCopiesBesideTheirSource(t *testing.T) {
	proof.Unraced(t)
	finished := filepath.Join(t.TempDir(), "m.tacho")
	machine(t, finished, 5, 2000)
	killed, _ := recorded.RecordDir(t, 7, 700)
	for name, src := range map[string]string{"finished": finished, "killed": killed} {
		r, err := store.Open(src)
		if err != nil {
			t.Fatal(err)
		}
		infos := r.Archives()
		first, last := infos[0].From, infos[len(infos)-1].To
		_ = r.Close()
		at := func(part float64) int64 { return first + int64(part*float64(last-first)) }
		snapshot := func(t *testing.T, dst string, from, to float64, paths ...string) string {
			t.Helper()
			if _, err := rewrite.Copy(dst, rewrite.CopyOptions{ReadOptions: rewrite.ReadOptions{From: at(from), To: at(to)}}, paths...); err != nil {
				t.Fatal(err)
			}
			return dst
		}
		// The turn from one archive to the next is told by both.
		once := func(all map[string][]string) map[string][]string {
			if events := all["events"]; len(events) > 0 {
				slices.Sort(events)
				all["events"] = slices.Compact(events)
			}
			return all
		}
		want, stream := once(answers(t, first, last, src)), read(t, rewrite.ReadOptions{}, src)
		for _, c := range []struct {
			beside string
			make   func(t *testing.T, dir string) []string
		}{
			{"a snapshot", func(t *testing.T, dir string) []string {
				return []string{snapshot(t, filepath.Join(dir, "a.tacho"), 0.3, 0.6, src)}
			}},
			{"snapshots that overlap", func(t *testing.T, dir string) []string {
				return []string{snapshot(t, filepath.Join(dir, "a.tacho"), 0.3, 0.6, src), snapshot(t, filepath.Join(dir, "z.tacho"), 0.5, 1, src),
					snapshot(t, filepath.Join(dir, "b.tacho"), 0, 0.35, src)}
			}},
			{"all of it in pieces", func(t *testing.T, dir string) []string {
				dir = filepath.Join(dir, "pieces")
				if _, err := split(t, dir, rewrite.SplitOptions{Edges: every(time.Minute)}, src); err != nil {
					t.Fatal(err)
				}
				pieces, _ := filepath.Glob(filepath.Join(dir, "*.tacho"))
				return pieces
			}},
			{"all of it merged", func(t *testing.T, dir string) []string {
				return []string{snapshot(t, filepath.Join(dir, "a.tacho"), 0, 1, src)}
			}},
		} {
			t.Run(name+" beside "+c.beside, func(t *testing.T) {
				all := append([]string{src}, c.make(t, t.TempDir())...)
				same(t, once(answers(t, first, last, all...)), want)
				streams(once(read(t, rewrite.ReadOptions{}, all...))).compare(t, once(stream))
				for _, part := range [][2]float64{{0.2, 0.4}, {0.35, 0.55}, {0.58, 0.9}} {
					from, to := at(part[0]), at(part[1])
					same(t, once(answers(t, from, to, all...)), once(answers(t, from, to, src)))
				}
			})
		}
	}
}

// A copy that is damaged takes nothing away from its source, wherever it stands by its name,
// and what can be read of two damaged ones is told.
func TestDamagedCopyBesideItsSource(t *testing.T) {
	proof.Unraced(t)
	dir := t.TempDir()
	src := filepath.Join(dir, "m.tacho")
	machine(t, src, 5, 2000)
	r, err := store.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	first, last := r.Archives()[0].From, r.Archives()[0].To
	_ = r.Close()
	want := answers(t, first, last, src)
	for _, c := range []struct {
		name string
		hurt func(int) bool
	}{
		{"a.tacho", func(int) bool { return true }},
		{"z.tacho", func(int) bool { return true }},
		{"b.tacho", func(n int) bool { return n == 1 }},
		{"y.tacho", func(n int) bool { return n%2 == 0 }},
	} {
		hurt := filepath.Join(dir, c.name)
		damagedCopy(t, src, hurt, func(n int, chunk []byte) {
			if c.hurt(n) {
				spoilMiddle(n, chunk)
			}
		})
		same(t, answers(t, first, last, src, hurt), want)
		if err := os.Remove(hurt); err != nil {
			t.Fatal(err)
		}
	}
}
