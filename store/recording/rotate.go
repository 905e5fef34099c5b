package recording

import (
	"errors"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/disk"
)

// A Rotation is a half-done rotation: the next archive is begun, and the last one waits to be
// finished.
type Rotation struct {
	w *Writer
	l *live
}

// BeginRotation begins the next archive. When it returns, all new records go there, so metrics
// that are read once per archive can be read now; Finish, which may take some time, completes
// the old one.
func (w *Writer) BeginRotation(why string) (*Rotation, error) {
	w.rotating.Lock()
	defer w.rotating.Unlock()
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil, ErrClosed
	}
	on, changes := w.basis(w.cur.jw.Seq()), w.changes
	w.mu.Unlock()
	n, err := w.newLive(on)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		n.closeFiles()
		w.removeLive(n)
		return nil, ErrClosed
	}
	l := w.cur
	now := w.opt.Now()
	e := metric.Event{At: now, Kind: metric.EventRotate, Text: why}
	_ = w.event(&e) // the end of the old one
	w.collect(l, now.Cont)
	w.rotated = append(w.rotated, l)
	w.recordInto(n)
	if changes != w.changes {
		w.catchUp(n)
	}
	_ = w.event(&e) // and the beginning of the new one
	return &Rotation{w: w, l: l}, nil
}

// catchUp records in a new archive what changed while it was being made.
func (w *Writer) catchUp(n *live) {
	conf := w.conf
	n.rest.Descs, n.rest.Conf = w.opt.Catalog, &conf
	_ = w.wrote(n, n.jw.Describe(w.opt.Catalog))
	_ = w.wrote(n, n.jw.Config(&conf))
}

// recordInto makes n the archive that is written.
func (w *Writer) recordInto(n *live) {
	if w.cur != nil {
		w.total.journal += w.cur.jw.Written()
		w.dropSpares(w.cur)
	}
	w.total.bolt += n.made
	w.cur = n
}

// Finish completes the last archive and returns its path. If it fails, the archive stays
// readable as it is; the next Finish or Create tries again.
func (r *Rotation) Finish() (string, error) {
	w := r.w
	w.mu.Lock()
	again := w.unfinished
	w.unfinished = nil
	w.mu.Unlock()
	path, err := w.finishRotated(r.l)
	for _, l := range again {
		_, _ = w.finishRotated(l)
	}
	return path, err
}

// finishRotated finishes an archive that was rotated away, or notes that it must be tried again.
func (w *Writer) finishRotated(l *live) (string, error) {
	path, err := w.finish(l)
	if errors.Is(err, disk.ErrDamaged) && w.giveUp(l) {
		return path, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.unfinished = append(w.unfinished, l)
		return path, err
	}
	w.rotated = slices.DeleteFunc(w.rotated, func(o *live) bool { return o == l })
	return path, nil
}

// Rotate does both halves of a rotation.
func (w *Writer) Rotate(why string) (finished string, err error) {
	r, err := w.BeginRotation(why)
	if err != nil {
		return "", err
	}
	return r.Finish()
}
