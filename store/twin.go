package store

// Twin is a Reader of the same archives, as r sees them now, that may be asked
// while r is: they share the files, and what neither changes. What it opens and
// decodes is its own, and so are the descriptions of archives and the instances
// that it hands out. It is not refreshed or closed, and ends with Join.
func (r *Reader) Twin() *Reader {
	t := &Reader{paths: r.paths, complete: r.complete, instances: make(map[instanceID]*known), twinned: true, until: r.until}
	r.twinned = true
	for _, a := range r.archives {
		t.archives = append(t.archives, &source{File: a.File.Twin()})
	}
	return t
}

// Join notes what a twin could not read: answers that it has a part in lack it.
func (r *Reader) Join(twin *Reader) {
	r.twinned = false
	for i, a := range r.archives {
		for _, l := range twin.archives[i].lost {
			l.Archive = &a.Info
			a.note(l)
		}
	}
}
