package proof

import (
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/disk"
	"tachograph/store/layout"
)

// A Builder makes archives without a Writer: tests of the layout and of reading need no journal.
type Builder struct {
	t        testing.TB
	db       *bbolt.DB
	Path     string
	cat      *layout.Catalog
	builders map[metric.Class]*chunk.Builder
	totals   layout.Totals
}

func openBolt(t testing.TB, path string) *bbolt.DB {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: disk.PageSize, NoSync: true, NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func NewBuilder(t testing.TB, path string) *Builder {
	t.Helper()
	b := &Builder{t: t, db: openBolt(t, path), Path: path, cat: layout.NewCatalog(nil), builders: make(map[metric.Class]*chunk.Builder)}
	h := &layout.Header{Format: layout.FormatVersion, ID: "0123", Host: metric.Host{ID: "h", Name: "host"}, BootID: "b", TimeZone: "Europe/Berlin", Recorder: "test"}
	b.Update(func(b *layout.Builder) { b.Create(h) })
	return b
}

func (b *Builder) Update(fn func(*layout.Builder)) {
	b.t.Helper()
	if err := b.db.Update(layout.Build(&b.totals, fn)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *Builder) Append(t *metric.Tick) {
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

// Seal seals what has been appended.
func (b *Builder) Seal(events []metric.Event) {
	b.t.Helper()
	b.Update(func(to *layout.Builder) {
		for _, cb := range b.builders {
			if cb.Ticks() == 0 {
				continue
			}
			s, err := cb.Seal(b.cat.Number)
			if err != nil {
				to.Fail(err)
				return
			}
			cb.Reset()
			to.Chunk(s)
		}
		to.Descs(b.cat.Pending())
		to.Events(slices.Values(events))
		to.Count()
	})
	b.cat.Commit(len(b.cat.Descs))
}

func (b *Builder) Close() {
	b.t.Helper()
	if err := b.db.Close(); err != nil {
		b.t.Fatal(err)
	}
}

// Finish compacts the archive into path, and returns path.
func (b *Builder) Finish(path string) string {
	b.t.Helper()
	b.Close()
	a, err := archive.Open(b.Path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer a.Close()
	Compact(b.t, a, path)
	return path
}

// Compact makes a finished archive of a.
func Compact(t testing.TB, a *archive.File, path string) {
	t.Helper()
	dst := openBolt(t, filepath.Join(t.TempDir(), "scratch"))
	defer dst.Close()
	if err := archive.Compact(dst, a); err != nil {
		t.Fatal(err)
	}
	if err := dst.View(func(tx *bbolt.Tx) error { return tx.CopyFile(path, 0o600) }); err != nil {
		t.Fatal(err)
	}
	Sound(t, path)
}
