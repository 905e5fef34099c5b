package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/chunk"
	"tachograph/store/fault"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
	"tachograph/store/storetest/mangle"
	"tachograph/store/storetest/proof"
	"tachograph/testdata/patience"
)

// stranger is a sound archive with a bucket's records changed.
func stranger(t *testing.T, bucket string, fn func(key, value []byte) []byte) string {
	t.Helper()
	parts, err := querytest.Load("testdata/mac.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := writeParts(t, parts[:1], t.TempDir())[0]
	paths, err := filepath.Glob(filepath.Join(dir, "*.live"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v %v", paths, err)
	}
	if err := mangle.Records(paths[0], bucket, fn); err != nil {
		t.Fatal(err)
	}
	return dir
}

// comesToAnEnd fails the test where fn goes on for longer than somebody waits.
func comesToAnEnd(t *testing.T, fn func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fn()
	}()
	select {
	case <-ended:
	case <-patience.Context(t, time.Minute).Done():
		t.Fatal("it does not come to an end")
	}
}

// An index that says decades makes no question run without end.
func TestDecades(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	const year = int64(365 * 24 * time.Hour)
	dir := stranger(t, "index", func(_, value []byte) []byte {
		in, err := chunk.ParseInfo(value)
		if err != nil {
			t.Fatal(err)
		}
		in.From -= 30 * year
		in.To += 10 * year
		return in.Marshal()
	})
	for _, q := range everyQuestion(dir) {
		t.Run(strings.ReplaceAll(strings.Join(q, " "), dir, "DIR"), func(t *testing.T) {
			comesToAnEnd(t, func() { replay(openStore, append(q, "--utc")...) })
		})
	}
	for _, q := range []string{"values kernel.all.load --step 1s", "rates mem.util.used/mem.physmem --step 1s", "ranges kernel.all.load --step 1s", "find kernel.all.load>0 --step 1s"} {
		t.Run(q, func(t *testing.T) {
			_, errs, status := replay(openStore, append(strings.Fields(q), "--utc", "--archive", dir)...)
			if status != cli.Failed || !strings.Contains(errs, "take longer steps, or a shorter window") || strings.Count(errs, "\n") != 1 {
				t.Errorf("replay %s: status %d, %q", q, status, errs)
			}
		})
	}
	// Where something was recorded it is shown.
	out, errs, status := replay(openStore, "values", "kernel.all.load", "--step", "1m", "--from", "2026-11-20 03:00", "--to", "2026-11-20 03:20", "--utc", "--archive", dir)
	if status != cli.Yes || strings.Count(out, "\n") < 10 {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}

// Nor do instants from 1682 to 2260, the distance of which no count of
// nanoseconds holds: those of processes are all over these years.
func TestCenturies(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	parts, err := querytest.Load("testdata/mac.txt")
	if err != nil {
		t.Fatal(err)
	}
	from, to := time.Date(1682, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(), time.Date(2260, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	rnd := rand.New(rand.NewPCG(1682, 2260))
	for _, tick := range parts[0].Ticks {
		if tick.Class != metric.Process {
			continue
		}
		tick.At.Wall = from + int64(rnd.Uint64N(uint64(to)-uint64(from)))
		for _, b := range tick.Blocks {
			b.At.Wall = tick.At.Wall
		}
	}
	work, dir := t.TempDir(), t.TempDir()
	w := beginPart(t, parts[0], work)
	defer w.Close()
	copyFiles(t, work, dir, ".live")
	for i, q := range append(everyQuestion(dir), []string{dir}) {
		format := []string{"table", "json"}[i%2]
		q = append(q, "--utc", "--format", format)
		t.Run(strings.ReplaceAll(strings.Join(q, " "), dir, "DIR"), func(t *testing.T) {
			comesToAnEnd(t, func() {
				if _, errs, _ := replay(openStore, q...); strings.Contains(errs, "this program failed") {
					t.Error(errs)
				}
			})
		})
	}
}

// Times in a chunk that its index does not know of are damage, however far away
// they are.
func TestTimesBesideTheIndex(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	dir := stranger(t, "index", func(_, value []byte) []byte {
		in, err := chunk.ParseInfo(value)
		if err != nil {
			t.Fatal(err)
		}
		in.From, in.To = in.From-int64(time.Hour), in.From+int64(time.Minute)
		in.First.Wall, in.Last.Wall = in.From, in.To
		return in.Marshal()
	})
	_, errs, _ := replay(openStore, "values", "kernel.all.load", "--step", "1m", "--utc", "--archive", dir)
	if !strings.Contains(errs, "other times than the index says") {
		t.Errorf("it is not told: %s", errs)
	}
}

// Descriptions, or totals, that claim millions are told of and take
// nothing.
func TestClaims(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	for name, dir := range map[string]string{
		"descriptions": stranger(t, "metrics", func(_, _ []byte) []byte {
			return chunk.Pack(append(binary.AppendUvarint(nil, 60<<20), make([]byte, 60<<20)...))
		}),
		"events": stranger(t, "events", func(_, _ []byte) []byte {
			raw := append([]byte{1, 0}, make([]byte, 60<<20)...)
			return append(append(binary.AppendUvarint([]byte{0, 0}, 60<<20), 0), chunk.Pack(raw)...)
		}),
		"totals": stranger(t, "meta", func(key, value []byte) []byte {
			var totals map[string]any
			if string(key) != "totals" || json.Unmarshal(value, &totals) != nil {
				return nil
			}
			totals["chunks"] = map[string]uint32{"fast": 1<<32 - 1, "process": 1<<32 - 1}
			totals["metrics"], totals["events"] = uint32(1<<32-1), uint32(1<<32-1)
			b, _ := json.Marshal(totals)
			return b
		}),
	} {
		t.Run(name, func(t *testing.T) {
			for _, q := range everyQuestion(dir) {
				comesToAnEnd(t, func() { replay(openStore, append(q, "--utc")...) })
			}
			paths, _ := filepath.Glob(filepath.Join(dir, "*.live"))
			comesToAnEnd(t, func() { replay(openStore, "repair", paths[0], "-o", filepath.Join(t.TempDir(), "new.tacho")) })
			if status, out, _ := runReplay("verify", dir); status != cli.No {
				t.Errorf("verify: status %d, %s", status, out)
			}
			if _, err := os.Stat(dir); err != nil {
				t.Error(err)
			}
		})
	}
}

// What makes this program fail stays with its file, is told, and is no success.
func TestFailureStaysWithItsFile(t *testing.T) {
	t.Parallel()
	archive, err := openText("testdata/mac.txt")
	if err != nil {
		t.Fatal(err)
	}
	info := archive.Archives()[0]
	archive.(memory).Lost = []store.Loss{{Loss: fault.Loss{What: "this program failed over what it holds"}, Path: info.Path, Archive: info, Kind: fault.Bug}}
	open := func(...string) (reader, error) { return archive, nil }
	out, errs, status := replay(open, "events", "--utc", "--archive", "testdata/mac.txt")
	if status != cli.Failed || out == "" || !strings.Contains(errs, "failed over what it holds") {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}

// A tree as deep as a stranger likes stays a table.
func TestDeepTree(t *testing.T) {
	t.Parallel()
	const n = 20_000
	list := make([]*query.Process, n)
	for i := range list {
		list[i] = &query.Process{PID: i + 1, PPID: i, Instance: &metric.Instance{Key: fmt.Sprint(i)}, Archive: &store.ArchiveInfo{}}
	}
	order, prefix := treeOrder(list)
	for _, p := range order {
		if len(prefix[p]) > deepest+8 {
			t.Fatalf("the lines before pid %d take %d bytes", p.PID, len(prefix[p]))
		}
	}
	if len(order) != n {
		t.Errorf("%d of %d processes", len(order), n)
	}
}

// Descriptions that give columns another type than they have are told of, by
// every question and by repair.
func TestOtherTypes(t *testing.T) {
	proof.Unraced(t)
	t.Parallel()
	const fieldType = 3
	dir := stranger(t, "metrics", func(_, value []byte) []byte {
		raw, err := chunk.Unpack(value, chunk.MaxDescs)
		if err != nil {
			t.Fatal(err)
		}
		for from, to := range map[metric.Type]metric.Type{metric.U64: metric.F64, metric.F32: metric.U32, metric.U32: metric.I64} {
			raw = bytes.ReplaceAll(raw, []byte{fieldType, 1, byte(from)}, []byte{fieldType, 1, byte(to) | 0x40})
		}
		for i := 2; i < len(raw); i++ {
			if raw[i-2] == fieldType && raw[i-1] == 1 && raw[i] < 0x80 {
				raw[i] &^= 0x40
			}
		}
		return chunk.Pack(raw)
	})
	for _, q := range everyQuestion(dir) {
		t.Run(strings.ReplaceAll(strings.Join(q, " "), dir, "DIR"), func(t *testing.T) {
			if _, errs, _ := replay(openStore, append(q, "--utc")...); strings.Contains(errs, "this program failed") {
				t.Errorf("replay %s: %s", strings.Join(q, " "), errs)
			}
		})
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "*.live"))
	out, errs, status := replay(openStore, "repair", paths[0], "-o", filepath.Join(t.TempDir(), "new.tacho"))
	if status == cli.Yes || strings.Contains(out+errs, "this program failed") || strings.Contains(out, " 0 in part") {
		t.Errorf("repair: status %d, %s%s", status, out, errs)
	}
}
