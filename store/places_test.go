package store_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/chunk"
	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
)

// TestPlacesChangeNoAnswer asks an archive for each of its processes, before and after it has lost
// what it knows about where they are.
func TestPlacesChangeNoAnswer(t *testing.T) {
	b := proof.NewBuilder(t, filepath.Join(t.TempDir(), "live"))
	g := &metric.Group{Name: "process", Indom: "process", Metrics: []*metric.Desc{
		{Name: "proc.psinfo.utime", Type: metric.U64, Sem: metric.Counter, Indom: "process", Class: metric.Process}}}
	var rows []*metric.Instance
	keys := []string{"1/2"}
	for i := range 2900 {
		if i%10 == 0 { // One comes, one goes, and one that stays gets another name.
			in := &metric.Instance{ID: uint64(i + 1), Rev: 1, Key: fmt.Sprintf("%d/%d", 10+i*7%50, i), Name: fmt.Sprintf("%06d p%d", 10+i*7%50, i%3)}
			rows = append(slices.Clone(rows), in)
			keys = append(keys, in.Key)
			if len(rows) > 30 {
				rows = slices.Delete(rows, i%20, i%20+1)
				renamed := *rows[i%7]
				renamed.Rev++
				renamed.Name += "x"
				rows[i%7] = &renamed
			}
		}
		at := metric.Stamp{Wall: 1e18 + int64(i)*5e9, Cont: int64(i) * 5e9}
		block := &metric.Block{Group: g, At: at, Rows: rows, Cols: make([]metric.Column, 1)}
		for k := range rows {
			block.Cols[0].Bits = append(block.Cols[0].Bits, uint64(i*k))
		}
		b.Append(&metric.Tick{At: at, Class: metric.Process, Blocks: []*metric.Block{block}})
		if i%290 == 289 {
			b.Seal(nil)
		}
	}
	path := b.Finish(filepath.Join(t.TempDir(), "x.tacho"))
	answer := func() (out []string) {
		r, err := store.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, key := range keys {
			for l := range r.Lives("process", 0, 0, key) {
				out = append(out, fmt.Sprintln("life", l.Instance.Key, l.Instance.Name, l.From, l.To, l.Names))
			}
			for run := range r.Select(store.Selection{Keys: []string{key}}) {
				out = append(out, fmt.Sprintln("run", run.Instance.Key, run.Instance.Name, run.Wall, run.Bits))
			}
		}
		for _, pid := range []uint64{17, 24, 59, 99} {
			s := &store.Sought{Traits: []chunk.Trait{{Ends: []chunk.Ending{{Value: pid, First: true}}}}}
			found, few := r.Keys("process", 0, 0, s, func(in *metric.Instance) bool { return in.Name[:6] == fmt.Sprintf("%06d", pid) })
			slices.Sort(found)
			out = append(out, fmt.Sprintln("keys", pid, found, few))
		}
		if lost := r.Losses(); len(lost) > 0 {
			t.Error(lost)
		}
		return out
	}
	with := answer()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		digests := tx.Bucket([]byte(layout.BucketDigests))
		if digests.Get([]byte(layout.KeyPlaces)) == nil {
			t.Error("the archive does not say where its processes are")
		}
		return digests.Delete([]byte(layout.KeyPlaces))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	without := answer()
	for i := range max(len(with), len(without)) {
		if i >= len(with) || i >= len(without) || with[i] != without[i] {
			t.Fatalf("%d and %d answers differ from number %d on: %.300s and %.300s", len(with), len(without), i, with[min(i, len(with)-1)], without[min(i, len(without)-1)])
		}
	}
	if len(with) < 200 {
		t.Errorf("%d answers", len(with))
	}
}
