package systemd

import (
	"cmp"
	"errors"
	"os"
	"slices"
)

// stream is a chain of files of which each continues the one before: those that journald has
// rotated away, and the one that it writes.
type stream struct {
	name    string // "log/system"
	journal string // "system"
	folder  int    // one of Directory.folders
	files   []known
	mark    StreamMark
	begun   bool // the mark is that of an entry, or of the place before the first

	file    *File // that is being read
	handle  *os.File
	next    int   // entry in it
	ahead   Stamp // of that entry
	waiting bool  // ahead is of an entry that has not been taken
}

// known holds the facts about a file that is not open.
type known struct {
	path    string
	journal string
	head    header
	done    bool // nobody writes it any more
	refused bool // it could not be opened, since the directory was listed
	opened  bool // its entries were found, and it is not opened again once nobody writes it
}

// order sorts files of a stream as they were written; the one that is written now is the last.
func order(a, b known) int {
	switch {
	case a.done != b.done:
		if a.done {
			return -1
		}
		return 1
	case a.head.sequence == b.head.sequence:
		return cmp.Compare(a.head.firstSeq, b.head.firstSeq)
	}
	return cmp.Compare(a.head.firstTime, b.head.firstTime)
}

// begin makes a mark where there is none, or where it lies too far back: reading begins with the
// last entries, and not before a time.
func (d *Directory) begin(s *stream) {
	var mark StreamMark
	left := d.limits.Last
	for _, k := range slices.Backward(s.files) {
		f, handle, err := d.open(k.path)
		if err != nil || f.Len() == 0 {
			closeAll(handle)
			continue
		}
		first := max(f.Len()-left, f.Since(d.since))
		stamp, err := f.Stamp(min(first, f.Len()-1))
		handle.Close()
		switch {
		case err == nil && stamp.Seq > 0 && first < f.Len():
			mark = StreamMark{Sequence: f.Sequence(), Seq: stamp.Seq - 1, Received: stamp.Received}
		case mark == StreamMark{}:
			mark = StreamMark{Sequence: f.Sequence(), Seq: f.head.lastSeq, Received: f.head.lastTime}
		}
		if left -= f.Len() - first; first > 0 || left <= 0 {
			break
		}
	}
	if s.begun && mark.Sequence == s.mark.Sequence && mark.Seq < s.mark.Seq {
		return
	}
	mark.Stream = s.name
	s.mark, s.begun = mark, true
}

// unread says whether a file has entries behind the mark. That of another sequence has them where
// it was begun later.
func (s *stream) unread(k known) bool {
	if k.head.entries == 0 {
		return false
	}
	if k.head.sequence == s.mark.Sequence {
		return k.head.lastSeq > s.mark.Seq
	}
	return k.head.firstTime > s.mark.Received
}

// advance finds the next entry of a stream, and says whether there is one.
func (d *Directory) advance(s *stream, w *work) bool {
	for !s.waiting {
		for s.file != nil && s.next < s.file.Len() && !w.done() {
			stamp, err := s.file.Stamp(s.next)
			w.entries++
			w.charge(s.file)
			switch {
			case err != nil && s.emptied():
				s.close()
			case err != nil:
				w.Damaged++
				s.next++
			case s.file.Sequence() == s.mark.Sequence && stamp.Seq <= s.mark.Seq:
				s.next++
			default:
				s.ahead, s.waiting = stamp, true
				return true
			}
		}
		if w.done() || !d.step(s) {
			return false
		}
	}
	return true
}

// step goes on to entries that were added to the file, or to the next file of the stream, and says
// whether there was either.
func (d *Directory) step(s *stream) bool {
	if s.grown() {
		return true
	}
	for i := range s.files {
		k := &s.files[i]
		if k.refused || s.file != nil && k.head.file == s.file.head.file || k.done && (k.opened || !s.unread(*k)) {
			continue
		}
		f, handle, err := d.open(k.path)
		if err != nil {
			k.refused = true // until the directory changes
			continue
		}
		if f.head.file != k.head.file {
			// It was rotated since the directory was listed, maybe more than once.
			handle.Close()
			d.folders[s.folder].settled = false
			return false
		}
		k.head = f.head
		// Now that there is another file, nothing is added to the one before.
		if s.grown() {
			handle.Close()
			return true
		}
		s.close()
		k.opened = true
		s.file, s.handle, s.next = f, handle, 0
		switch {
		case f.Sequence() == s.mark.Sequence:
			s.next = f.After(s.mark.Seq)
		case !s.unread(*k):
			s.next = f.Len()
		}
		return true
	}
	// The place of a file that was removed is not free before it is closed.
	if s.file != nil && !slices.ContainsFunc(s.files, func(k known) bool { return !k.done && k.head.file == s.file.head.file }) {
		s.close()
	}
	return false
}

// grown says whether entries were added to the file that is being read.
func (s *stream) grown() bool {
	if s.file == nil {
		return false
	}
	grown, err := s.file.Refresh()
	if err != nil {
		s.close()
	}
	return grown
}

// emptied says whether nothing is left of the file that is being read: journald takes the contents
// of what it removes from those who have it open.
func (s *stream) emptied() bool {
	_, err := s.file.readHeader()
	return errors.Is(err, ErrNotJournal)
}

func (s *stream) close() {
	closeAll(s.handle)
	s.file, s.handle, s.waiting = nil, nil, false
}

func closeAll(handle *os.File) {
	if handle != nil {
		handle.Close()
	}
}

// take reads the entry that advance has found.
func (d *Directory) take(s *stream, w *work) (e Entry, ok bool) {
	at := s.ahead
	s.waiting = false
	s.mark = StreamMark{Stream: s.name, Sequence: s.file.Sequence(), Seq: at.Seq, Received: at.Received, Boot: at.Boot, Monotonic: at.Monotonic}
	i := s.next
	s.next++
	if d.flushed(s, at) {
		return e, false
	}
	clear(d.fields)
	err := s.file.Fields(i, d.fields)
	w.charge(s.file)
	switch {
	case err != nil && s.emptied():
		s.close()
		return e, false
	case err != nil:
		w.Damaged++
	}
	if len(d.fields) == 0 {
		return e, false
	}
	return newEntry(s.journal, at, d.fields), true
}

// flushed says whether an entry of the disk's journal was read before, from the one that was kept
// in memory until the disk was there. Only its place in the boot is the same.
func (d *Directory) flushed(s *stream, at Stamp) bool {
	if s.folder != 0 {
		return false
	}
	const memory = "run/system"
	before := d.marks[memory]
	if r := d.streams[memory]; r != nil {
		before = r.mark
	}
	return before.Boot == at.Boot && at.Monotonic <= before.Monotonic && before.Seq > 0
}
