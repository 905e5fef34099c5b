package proc

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// idNames turns user or group ids into names by a file in the format of passwd(5). It cannot
// use directory services that answer only to the C library. An id that is not in the file is
// its own name.
type idNames struct {
	path    string
	names   map[uint32]string
	changed time.Time
	size    int64
}

// refresh reads the file again if it has changed. Without the file all ids are
// numbers.
func (n *idNames) refresh() {
	st, err := os.Stat(n.path)
	if err == nil && n.names != nil && st.ModTime().Equal(n.changed) && st.Size() == n.size {
		return
	}
	n.names = make(map[uint32]string)
	if err != nil {
		n.changed, n.size = time.Time{}, -1
		return
	}
	n.changed, n.size = st.ModTime(), st.Size()
	text, err := os.ReadFile(n.path)
	if err != nil {
		return
	}
	parseIDs(text, func(id uint32, name string) {
		if _, taken := n.names[id]; !taken {
			n.names[id] = name
		}
	})
}

// has reports whether the file names id.
func (n *idNames) has(id uint32) bool {
	_, ok := n.names[id]
	return ok
}

// name returns the name of id; the second call for an id does not allocate.
func (n *idNames) name(id uint32) string {
	s, ok := n.names[id]
	if !ok {
		if n.names == nil {
			n.names = make(map[uint32]string)
		}
		s = strconv.FormatUint(uint64(id), 10)
		n.names[id] = s
	}
	return s
}

// parseIDs reads "name:password:id:..." lines.
func parseIDs(text []byte, each func(id uint32, name string)) {
	for len(text) > 0 {
		var l []byte
		l, text, _ = bytes.Cut(text, []byte{'\n'})
		name, rest, ok := bytes.Cut(l, []byte{':'})
		if !ok || len(name) == 0 || name[0] == '#' || name[0] == '+' || name[0] == '-' {
			continue
		}
		_, rest, _ = bytes.Cut(rest, []byte{':'})
		number, _, _ := bytes.Cut(rest, []byte{':'})
		// macOS writes nobody as -2.
		if v, err := strconv.ParseInt(string(number), 10, 64); err == nil && v >= -1<<31 && v <= 1<<32-1 {
			each(uint32(v), string(name))
		}
	}
}
