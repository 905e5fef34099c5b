package store

// Twin returns a second Archive of what r sees now, for a second goroutine. The two share the
// files. The twin opens and decodes chunks for itself, and returns its own descriptions of
// archives and instances. The caller calls end when it has no more questions: r then notes what
// the twin could not read. A twin must not be refreshed or closed. A Reader that is single has
// none, and returns nil.
func (r *Reader) Twin() (twin Archive, end func()) {
	if r.single {
		return nil, nil
	}
	t := &Reader{opened: &opened{paths: r.paths, complete: r.complete},
		scope: scope{&shared{instances: newInstances()}, r.limits, r.until, true}}
	for _, a := range r.archives {
		t.archives = append(t.archives, a.Twin())
	}
	r.twinned = true
	return t, func() {
		r.twinned = false
		for i, a := range r.archives {
			a.NoteAll(t.archives[i].TakeLosses())
		}
	}
}
