package store

import (
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// A builder makes archives without a Writer: tests of the layout and of
// reading need no journal.
type builder struct {
	t        testing.TB
	db       *bbolt.DB
	path     string
	cat      *catalogue
	builders map[metric.Class]*chunk.Builder
	totals   totals
}

func openBolt(t testing.TB, path string) *bbolt.DB {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: pageSize, NoSync: true, NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func newBuilder(t testing.TB, path string) *builder {
	t.Helper()
	b := &builder{t: t, db: openBolt(t, path), path: path, cat: newCatalogue(nil), builders: make(map[metric.Class]*chunk.Builder)}
	b.totals.Chunks = make(map[string]uint32)
	h := &header{Format: FormatVersion, ID: "0123", Host: Host{ID: "h", Name: "host"}, BootID: "b", TimeZone: "Europe/Berlin", Recorder: "test"}
	b.update(func(tx *bbolt.Tx) error { return createLayout(tx, h) })
	return b
}

func (b *builder) update(fn func(tx *bbolt.Tx) error) {
	b.t.Helper()
	if err := b.db.Update(fn); err != nil {
		b.t.Fatal(err)
	}
}

func (b *builder) append(t *metric.Tick) {
	b.t.Helper()
	cb := b.builders[t.Class]
	if cb == nil {
		cb = chunk.NewBuilder(t.Class)
		b.builders[t.Class] = cb
	}
	if err := cb.Append(t); err != nil {
		b.t.Fatal(err)
	}
}

// seal seals what has been appended.
func (b *builder) seal(events []metric.Event) {
	b.t.Helper()
	b.update(func(tx *bbolt.Tx) error {
		for class, cb := range b.builders {
			if cb.Ticks() == 0 {
				continue
			}
			s, err := cb.Seal(b.cat.number)
			if err != nil {
				return err
			}
			cb.Reset()
			if err := putChunk(tx, b.totals.Chunks[class.String()], s); err != nil {
				return err
			}
			b.totals.Chunks[class.String()]++
		}
		if first, ds := b.cat.pending(); len(ds) > 0 {
			if err := putMetrics(tx, first, ds); err != nil {
				return err
			}
			b.cat.commit(len(b.cat.descs))
		}
		var err error
		if b.totals.Events, err = putEvents(tx, b.totals.Events, events); err != nil {
			return err
		}
		return putTotals(tx, &b.totals)
	})
}

func (b *builder) close() {
	b.t.Helper()
	if err := b.db.Close(); err != nil {
		b.t.Fatal(err)
	}
}

// finish compacts into path, and returns it.
func (b *builder) finish(path string) string {
	b.t.Helper()
	b.close()
	a, err := openArchive(b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer a.close()
	scratch := filepath.Join(b.t.TempDir(), "scratch")
	dst := openBolt(b.t, scratch)
	if err := compact(dst, a); err != nil {
		b.t.Fatal(err)
	}
	err = dst.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			b.t.Error(err)
		}
		return tx.CopyFile(path, 0o600)
	})
	if err != nil {
		b.t.Fatal(err)
	}
	dst.Close()
	return path
}
