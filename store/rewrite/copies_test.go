package rewrite_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/reduce"
	"tachograph/store/rewrite"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// What several archives hold of a boot is told once: whatever copies lie beside an archive,
// everything is answered as by it alone.
func TestCopiesBesideTheirSource(t *testing.T) {
	proof.Unraced(t)
	finished := filepath.Join(t.TempDir(), "m.tacho")
	machine(t, finished, 5, proof.Pick(t, 800, 2000))
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
		want, stream := answers(t, first, last, src), read(t, rewrite.ReadOptions{}, src)
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
			{"reduced steps of it", func(t *testing.T, dir string) []string {
				whole := snapshot(t, filepath.Join(t.TempDir(), "a.tacho"), 0, 1, src)
				return []string{steps(t, filepath.Join(dir, "a.tacho"), 10*time.Second, whole), steps(t, filepath.Join(dir, "z.tacho"), time.Minute, whole)}
			}},
			{"all of it merged", func(t *testing.T, dir string) []string {
				return []string{snapshot(t, filepath.Join(dir, "a.tacho"), 0, 1, src)}
			}},
		} {
			t.Run(name+" beside "+c.beside, func(t *testing.T) {
				all := append([]string{src}, c.make(t, t.TempDir())...)
				same(t, answers(t, first, last, all...), want)
				read(t, rewrite.ReadOptions{}, all...).compare(t, stream)
				for _, part := range [][2]float64{{0.2, 0.4}, {0.35, 0.55}, {0.58, 0.9}} {
					from, to := at(part[0]), at(part[1])
					same(t, answers(t, from, to, all...), answers(t, from, to, src))
				}
			})
		}
	}
}

// steps makes a reduced archive of another one.
func steps(t *testing.T, dst string, step time.Duration, src string) string {
	t.Helper()
	f, err := archive.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := reduce.Archive(context.Background(), dst, []*archive.File{f}, reduce.Options{Step: step}); err != nil {
		t.Fatal(err)
	}
	return dst
}

// within is what was answered but for the values before the window, which steps may tell of.
func within(all map[string][]string) map[string][]string {
	maps.DeleteFunc(all, func(name string, _ []string) bool { return strings.Contains(name, " true") })
	return all
}

// Where steps are all that is left of some of a recording, each event is told once still: by
// them or by what lies beside them.
func TestStepsBesideAPart(t *testing.T) {
	proof.Unraced(t)
	src := filepath.Join(t.TempDir(), "m.tacho")
	machine(t, src, 5, 2000)
	r, err := store.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	first, last := r.Archives()[0].From, r.Archives()[0].To
	_ = r.Close()
	whole := answers(t, first, last, src)
	for _, part := range [][2]float64{{0, 0.4}, {0.3, 0.6}, {0.5, 1}} {
		from, to := first+int64(part[0]*float64(last-first)), first+int64(part[1]*float64(last-first))
		dir := t.TempDir()
		left := filepath.Join(dir, "m.tacho")
		if _, err := rewrite.Copy(left, rewrite.CopyOptions{ReadOptions: rewrite.ReadOptions{From: from, To: to}}, src); err != nil {
			t.Fatal(err)
		}
		all := []string{left, steps(t, filepath.Join(dir, "a.tacho"), 10*time.Second, src), steps(t, filepath.Join(dir, "z.tacho"), time.Minute, src)}
		got := answers(t, first, last, all...)
		slices.Sort(got["events"])
		want := slices.Sorted(slices.Values(whole["events"]))
		same(t, map[string][]string{"events": got["events"]}, map[string][]string{"events": want})
		same(t, within(answers(t, from, to, all...)), within(answers(t, from, to, src)))
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
