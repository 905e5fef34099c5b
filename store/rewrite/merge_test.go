package rewrite_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/store"
	"tachograph/store/layout"
	"tachograph/store/mend"
	"tachograph/store/rewrite"
	"tachograph/store/storetest"
	"tachograph/store/storetest/mangle"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// every is where pieces of a length end.
func every(length time.Duration) func(int64) int64 {
	return func(wall int64) int64 { return wall - wall%int64(length) + int64(length) }
}

// TestSplitAndMerge takes recordings apart and puts them together again: the pieces together
// tell what the whole did, and so does what is made of them.
func TestSplitAndMerge(t *testing.T) {
	proof.Unraced(t)
	dir := t.TempDir()
	finished := filepath.Join(dir, "a.tacho")
	machine(t, finished, 3, proof.Pick(t, 1500, 2500))
	killed, _ := recorded.RecordDir(t, 7, 900)
	lengths := []time.Duration{time.Minute, 7 * time.Second, 11 * time.Minute}[:proof.Pick(t, 1, 3)]
	for _, src := range []string{finished, killed} {
		want, wantAnswers := read(t, rewrite.ReadOptions{}, src), answers(t, 0, 0, src)
		want["events"] = slices.Compact(want["events"]) // the turn from one archive to the next is told by both
		if len(want["events"]) == 0 {
			delete(want, "events")
		}
		for _, length := range lengths {
			name := fmt.Sprint(filepath.Base(src), length)
			pieces := filepath.Join(dir, name)
			report, err := split(t, pieces, rewrite.SplitOptions{Edges: every(length)}, src)
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Archives) < 2 || len(report.Lost) > 0 {
				t.Fatalf("%d pieces, lost %v", len(report.Archives), report.Lost)
			}
			proof.Sound(t, pieces)
			same(t, answers(t, 0, 0, pieces), wantAnswers)
			read(t, rewrite.ReadOptions{}, pieces).compare(t, want)
			if t.Failed() {
				t.Fatalf("pieces of %v of %s", length, src)
			}
			whole := filepath.Join(dir, name+".tacho")
			back, err := rewrite.Copy(whole, rewrite.CopyOptions{}, pieces)
			if err != nil {
				t.Fatal(err)
			}
			if len(back.Conflicts) > 0 || len(back.Lost) > 0 {
				t.Errorf("conflicts %v, lost %v", back.Conflicts, back.Lost)
			}
			proof.Sound(t, whole)
			read(t, rewrite.ReadOptions{}, whole).compare(t, want)
			same(t, answers(t, 0, 0, whole), wantAnswers)
			if t.Failed() {
				t.Fatalf("merged of pieces of %v of %s", length, src)
			}
		}
	}
}

// TestMergeOverlapping counts once what snapshots that overlap, or were given twice, tell.
func TestMergeOverlapping(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "a.tacho")
	machine(t, src, 5, 2000)
	r, err := store.Open(src)
	if err != nil {
		t.Fatal(err)
	}
	first, last := r.Archives()[0].From, r.Archives()[0].To
	_ = r.Close()
	third := (last - first) / 3
	var parts []string
	for i, w := range [][2]int64{{0, first + 2*third}, {first + third, last}, {first + third/2, first + third}, {first + third, 0}} {
		path := filepath.Join(dir, fmt.Sprint("part", i, ".tacho"))
		if _, err := rewrite.Copy(path, rewrite.CopyOptions{ReadOptions: rewrite.ReadOptions{From: w[0], To: w[1]}}, src); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, path)
	}
	whole := filepath.Join(dir, "whole.tacho")
	report, err := rewrite.Copy(whole, rewrite.CopyOptions{}, append(parts, parts[0])...)
	if err != nil {
		t.Fatal(err)
	}
	if report.Twice == 0 || len(report.Conflicts) > 0 {
		t.Errorf("%d counted once, conflicts %v", report.Twice, report.Conflicts)
	}
	proof.Sound(t, whole)
	read(t, rewrite.ReadOptions{}, whole).compare(t, read(t, rewrite.ReadOptions{}, src))
}

// TestMergeDamagedCopy puts a damaged copy beside its source, before it and behind it in the
// order of names: what can be read of either is told.
func TestMergeDamagedCopy(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "m.tacho")
	machine(t, src, 5, 2000)
	want := read(t, rewrite.ReadOptions{}, src)
	for _, name := range []string{"a.tacho", "z.tacho"} {
		hurt := filepath.Join(dir, name)
		damagedCopy(t, src, hurt, spoilMiddle)
		made := filepath.Join(dir, "of-"+name)
		report, err := rewrite.Copy(made, rewrite.CopyOptions{}, src, hurt)
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Lost) > 0 || report.Twice == 0 {
			t.Errorf("beside %s: lost %v, %d counted once", name, report.Lost, report.Twice)
		}
		proof.Sound(t, made)
		read(t, rewrite.ReadOptions{}, made).compare(t, want)
	}
}

// TestMergeOfDamagedCopies merges two copies that are damaged in every chunk, each elsewhere:
// what is damaged in one comes from the other.
func TestMergeOfDamagedCopies(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "m.tacho")
	machine(t, src, 5, 2000)
	want := read(t, rewrite.ReadOptions{}, src)
	var copies []string
	for i, part := range []int{2, 3} {
		copies = append(copies, filepath.Join(dir, fmt.Sprint("copy", i, ".tacho")))
		damagedCopy(t, src, copies[i], func(_ int, chunk []byte) {
			if len(chunk) > 4096 { // else both would be damaged at the same place
				chunk[len(chunk)-len(chunk)/part] ^= 0x5a
			}
		})
	}
	made := filepath.Join(dir, "whole.tacho")
	report, err := rewrite.Copy(made, rewrite.CopyOptions{}, copies...)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Lost) == 0 || len(report.Conflicts) > 0 {
		t.Errorf("lost %v, conflicts %v", report.Lost, report.Conflicts)
	}
	proof.Sound(t, made)
	read(t, rewrite.ReadOptions{}, made).compare(t, want)
}

// spoilMiddle spoils a byte in the middle of a chunk.
func spoilMiddle(_ int, chunk []byte) { chunk[len(chunk)/2] ^= 0x5a }

// damagedCopy copies an archive and has its chunks spoiled, given their number.
func damagedCopy(t *testing.T, src, dst string, spoil func(n int, chunk []byte)) {
	t.Helper()
	file, err := os.ReadFile(src)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dst, file, 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := mangle.Records(dst, layout.BucketChunks, func(_, value []byte) []byte {
		at := bytes.Index(file, value)
		if at < 0 {
			t.Fatal("a chunk does not stand in one piece")
		}
		spoil(n, file[at:at+len(value)])
		n++
		return nil // it stays
	}); err != nil || n == 0 {
		t.Fatal(n, err)
	}
	if err := os.WriteFile(dst, file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestMergeDisagreeing names what two archives tell differently of the same instant.
func TestMergeDisagreeing(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i := range 2 {
		path := filepath.Join(dir, fmt.Sprint(i, ".tacho"))
		a := about
		a.ID = ""
		w, err := rewrite.Create(path, a)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 20 {
			for _, tick := range storetest.NewMachine(1).Ticks(n) {
				if i == 1 && n == 13 {
					tick.Blocks[0].Cols[0].Bits[0]++
				}
				if err := w.Append(tick); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	report, err := rewrite.Copy(filepath.Join(dir, "whole.tacho"), rewrite.CopyOptions{}, paths...)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Conflicts) != 1 || !strings.Contains(report.Conflicts[0], "in one and") {
		t.Errorf("conflicts %q", report.Conflicts)
	}
}

// bundle makes one of three boots of two hosts, and returns what is in it.
func bundle(t testing.TB, dir string) (path string, sources []string) {
	t.Helper()
	for i, who := range [][2]string{{"host-1", "boot-1"}, {"host-1", "boot-2"}, {"host-2", "boot-3"}} {
		src := filepath.Join(dir, fmt.Sprint("src", i, ".tacho"))
		a := about
		a.Host.ID, a.Host.Name, a.Boot, a.ID = who[0], who[0], who[1], ""
		w, err := rewrite.Create(src, a)
		if err != nil {
			t.Fatal(err)
		}
		m := storetest.NewMachine(uint64(i))
		for n := range 60 {
			for _, tick := range m.Ticks(n) {
				tick.At.Wall += int64(i) * int64(time.Hour)
				for _, b := range tick.Blocks {
					b.At.Wall += int64(i) * int64(time.Hour)
				}
				if err := w.Append(tick); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		sources = append(sources, src)
	}
	path = filepath.Join(dir, "all.tacho")
	if _, err := rewrite.Copy(path, rewrite.CopyOptions{}, sources...); err != nil {
		t.Fatal(err)
	}
	return path, sources
}

// TestBundle reads a bundle as a directory of its archives: whole, and one of them, and
// unpacked.
func TestBundle(t *testing.T) {
	dir := t.TempDir()
	path, sources := bundle(t, dir)
	if found, err := mend.Verify(path, nil); err != nil || len(found) > 0 {
		t.Fatalf("verify: %v %v", found, err)
	}
	want := read(t, rewrite.ReadOptions{}, sources...)
	read(t, rewrite.ReadOptions{}, path).compare(t, want)
	same(t, answers(t, 0, 0, path), answers(t, 0, 0, sources...))
	r, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if len(r.Archives()) != 3 || len(r.Hosts()) != 2 {
		t.Fatalf("%d archives of %d hosts", len(r.Archives()), len(r.Hosts()))
	}
	one := r.Archives()[1].Path
	if filepath.Dir(one) != path {
		t.Errorf("a member is at %s", one)
	}
	read(t, rewrite.ReadOptions{}, one).compare(t, read(t, rewrite.ReadOptions{}, sources[1]))
	if err := r.Refresh(); err != nil || len(r.Archives()) != 3 {
		t.Errorf("refreshed: %v", err)
	}
	// It is an ordinary tar.
	out := filepath.Join(dir, "out")
	unpack(t, path, out)
	proof.Sound(t, out)
	read(t, rewrite.ReadOptions{}, out).compare(t, want)
	// A bundle is merged like anything else, and repaired one by one.
	again := filepath.Join(dir, "again.tacho")
	if _, err := rewrite.Copy(again, rewrite.CopyOptions{Boots: []string{"boot-2", "boot-3"}}, path); err != nil {
		t.Fatal(err)
	}
	read(t, rewrite.ReadOptions{}, again).compare(t, read(t, rewrite.ReadOptions{}, sources[1:]...))
	if _, err := mend.Repair(path, filepath.Join(dir, "x.tacho"), nil); err == nil || !strings.Contains(err.Error(), "one by one") {
		t.Errorf("repair: %v", err)
	}
	if _, err := mend.Repair(one, filepath.Join(dir, "y.tacho"), nil); err != nil {
		t.Errorf("repair of a member: %v", err)
	}
	hosts := filepath.Join(dir, "hosts")
	apart, err := split(t, hosts, rewrite.SplitOptions{ByHost: true}, path)
	if err != nil || len(apart.Archives) != 2 {
		t.Fatalf("split by host: %+v, %v", apart, err)
	}
	read(t, rewrite.ReadOptions{}, hosts).compare(t, want)
}

func unpack(t *testing.T, path, dir string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	in := tar.NewReader(f)
	for {
		h, err := in.Next()
		if err == io.EOF {
			return
		}
		if err != nil || h.Format != tar.FormatUSTAR {
			t.Fatalf("%v, format %v", err, h.Format)
		}
		b, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		proof.PutFile(t, filepath.Join(dir, h.Name), b)
	}
}

// TestBundleDamaged says of a bundle that is cut short, at any place, what is missing, and
// reads what is whole.
func TestBundleDamaged(t *testing.T) {
	dir := t.TempDir()
	path, _ := bundle(t, dir)
	all, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.tacho")
	for _, n := range []int{100, 512, 700, 4096, len(all) / 3, len(all) / 2, len(all) - 3000} {
		proof.PutFile(t, cut, all[:n])
		found, err := mend.Verify(cut, nil)
		if err == nil && len(found) == 0 {
			t.Errorf("%d of %d bytes: verify finds nothing", n, len(all))
		}
		r, err := store.Open(cut)
		if err != nil {
			continue
		}
		losses := r.Losses()
		if len(losses) == 0 || len(r.Archives()) > 2 {
			t.Errorf("%d of %d bytes: %d archives, losses %v", n, len(all), len(r.Archives()), losses)
		}
		_ = r.Close()
	}
	// Two of one name.
	var twice bytes.Buffer
	w := tar.NewWriter(&twice)
	for range 2 {
		_ = w.WriteHeader(&tar.Header{Name: "a.tacho", Size: 10, Mode: 0o600, Format: tar.FormatUSTAR})
		_, _ = w.Write(make([]byte, 10))
	}
	_ = w.Close()
	proof.PutFile(t, cut, twice.Bytes())
	if found, err := mend.Verify(cut, nil); err != nil || !slices.ContainsFunc(found, func(f mend.Finding) bool { return strings.Contains(f.What, "two archives") }) {
		t.Errorf("two of one name: %v %v", found, err)
	}
}

// split splits the archives at path.
func split(t *testing.T, dir string, opt rewrite.SplitOptions, path string) (*rewrite.Report, error) {
	t.Helper()
	r, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return rewrite.Split(dir, opt, r)
}
