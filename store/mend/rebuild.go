package mend

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/bbolt"

	"tachograph/store/disk"
	"tachograph/store/layout"
)

// write makes the new archive: first in a scratch file beside it, because bbolt leaves slack in
// the files it writes, then page by page under its name.
func (r *repair) write(dst string) (err error) {
	scratch := dst + layout.TmpSuffix
	if err := os.Remove(scratch); err != nil && !os.IsNotExist(err) {
		return err
	}
	db, err := disk.OS.OpenBolt(scratch, 0o600, bbolt.Options{NoSync: true, NoGrowSync: true, NoFreelistSync: true})
	if err != nil {
		return err
	}
	defer func() {
		db.Close()
		os.Remove(scratch)
	}()
	var t layout.Totals
	if err := db.Update(layout.Build(&t, r.writeFacts)); err != nil {
		return err
	}
	digests := layout.NewDigests(r.cat.Desc)
	// One transaction a chunk keeps memory small for a large archive.
	for _, p := range r.rebuilt {
		if err := db.Update(layout.Build(&t, func(b *layout.Builder) {
			b.Digest(digests)
			b.Chunk(p.sealed)
		})); err != nil {
			return err
		}
	}
	err = db.Update(layout.Build(&t, func(b *layout.Builder) {
		for events := range slices.Chunk(r.allEvents, layout.EventBatch) {
			b.Events(slices.Values(events))
		}
		b.Digest(digests)
		b.Finish()
	}))
	if err != nil {
		return err
	}
	return publish(db, dst)
}

func (r *repair) writeFacts(b *layout.Builder) {
	h := r.header
	if h == nil {
		h = &layout.Header{Format: layout.FormatVersion, ID: filepath.Base(r.report.Source)}
		if len(r.rebuilt) > 0 {
			h.Created = r.rebuilt[0].sealed.Info.From
		}
		r.lose(0, 0, "what the archive says about itself: its host, boot and time zone")
	}
	r.report.ID = h.ID
	b.Create(h)
	b.Settings(r.config, r.intervals)
	b.Descs(r.cat.Pending())
}

// publish compacts db into dst.
func publish(db *bbolt.DB, dst string) (err error) {
	compacted := dst + layout.TmpSuffix + layout.TmpSuffix
	if err := os.Remove(compacted); err != nil && !os.IsNotExist(err) {
		return err
	}
	to, err := disk.OS.OpenBolt(compacted, 0o600, bbolt.Options{NoSync: true, NoGrowSync: true, NoFreelistSync: true})
	if err != nil {
		return err
	}
	defer func() {
		to.Close()
		os.Remove(compacted)
	}()
	if err := bbolt.Compact(to, db, 1<<22); err != nil {
		return fmt.Errorf("compacting: %w", err)
	}
	f, err := disk.OpenNoFollow(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			os.Remove(dst)
		}
	}()
	err = to.View(func(tx *bbolt.Tx) error {
		_, err := tx.WriteTo(io.Writer(f))
		return err
	})
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return disk.OS.SyncDir(filepath.Dir(dst))
}
