package mend

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/disk"
	"tachograph/store/layout"
)

// write makes the new archive: first in a scratch file beside it, since bbolt
// leaves slack in what it writes, then page by page under its name.
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
	// One transaction a rebuilt keeps a large archive out of memory.
	t := layout.Totals{Chunks: make(map[string]uint32), Finished: true}
	if err := db.Update(func(tx *bbolt.Tx) error { return r.writeFacts(tx, &t) }); err != nil {
		return err
	}
	for _, p := range r.pieces {
		err := db.Update(func(tx *bbolt.Tx) error {
			class := p.sealed.Info.Class.String()
			t.Chunks[class]++
			return layout.PutChunk(tx, t.Chunks[class]-1, p.sealed)
		})
		if err != nil {
			return err
		}
	}
	if err := db.Update(func(tx *bbolt.Tx) error { return r.writeEvents(tx, &t) }); err != nil {
		return err
	}
	return publish(db, dst)
}

func (r *repair) writeFacts(tx *bbolt.Tx, t *layout.Totals) error {
	h := r.header
	if h == nil {
		h = &layout.Header{Format: layout.FormatVersion, ID: filepath.Base(r.report.Source)}
		if len(r.pieces) > 0 {
			h.Created = r.pieces[0].sealed.Info.From
		}
		r.lose(0, 0, "what the archive says about itself: its host, boot and time zone")
	}
	r.report.ID = h.ID
	if err := layout.Create(tx, h); err != nil {
		return err
	}
	if err := layout.PutConfig(tx, string(r.config)); err != nil {
		return err
	}
	iv := make(map[metric.Class]int64)
	for name, ns := range r.iv {
		if c, err := metric.ParseClass(name); err == nil {
			iv[c] = ns
		}
	}
	if err := layout.PutIntervals(tx, iv); err != nil {
		return err
	}
	first, ds := r.cat.Pending()
	t.Metrics = uint32(len(ds))
	if len(ds) == 0 {
		return nil
	}
	return layout.PutMetrics(tx, first, ds)
}

func (r *repair) writeEvents(tx *bbolt.Tx, t *layout.Totals) error {
	for rest := r.allEvents; len(rest) > 0; {
		n := min(len(rest), layout.EventBatch)
		var err error
		if t.Events, err = layout.PutEvents(tx, t.Events, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return layout.PutTotals(tx, t)
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
