package store

// Twin is an Archive of what r sees now that may be asked while r is: they share the
// files, and what neither changes. What it opens and decodes is its own, and so are the
// descriptions of archives and the instances that it hands out. It is not refreshed or
// closed. Whoever has asked it calls end, and r notes what it could not read. A Reader
// that is single has none: nil.
func (r *Reader) Twin() (twin Archive, end func()) {
	if r.single {
		return nil, nil
	}
	t := &Reader{opened: &opened{paths: r.paths, complete: r.complete, instances: make(map[instanceID]*known)},
		twinned: true, until: r.until, limits: r.limits}
	for _, a := range r.archives {
		t.archives = append(t.archives, &source{File: a.File.Twin()})
	}
	r.twinned = true
	return t, func() {
		r.twinned = false
		for i, a := range r.archives {
			for _, l := range t.archives[i].lost {
				l.Archive = &a.Info
				a.note(l)
			}
		}
	}
}
