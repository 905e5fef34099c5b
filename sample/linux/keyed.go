package linux

import (
	"os"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// keyed reads a file of names and values, like most of /proc. The catalog alone decides which
// metrics it supplies.
type keyed struct {
	name   string
	shown  string // the path as in the catalog's sources
	scan   scanner
	native metric.Units
	file   *file

	group *metric.Group
	reading
}

// scanner finds the names and values in the content of a file.
type scanner func(data []byte, r *reading)

// keyedFiles are the files that keyed sources read.
var keyedFiles = []keyed{
	{name: "meminfo", shown: "/proc/meminfo", scan: scanLines, native: metric.Kbytes},
	{name: "vmstat", shown: "/proc/vmstat", scan: scanLines},
	{name: "snmp", shown: "/proc/net/snmp", scan: scanPairs},
	{name: "netstat", shown: "/proc/net/netstat", scan: scanPairs},
	{name: "snmp6", shown: "/proc/net/snmp6", scan: scanLines},
	{name: "sockstat", shown: "/proc/net/sockstat", scan: scanSections},
	{name: "sockstat6", shown: "/proc/net/sockstat6", scan: scanSections},
}

// reading collects the values of one pass over a file.
type reading struct {
	sums *sums
	acc  []int64
	got  []int
	key  []byte
}

func (r *reading) reset(s *sums) {
	r.sums = s
	r.acc = make([]int64, len(s.cols))
	r.got = make([]int, len(s.cols))
}

func (r *reading) begin() {
	clear(r.acc)
	clear(r.got)
}

func (r *reading) set(key []byte, v int64) {
	for _, t := range r.sums.terms[string(key)] {
		r.acc[t.col] += t.sign * v
		r.got[t.col]++
	}
}

// setIn sets the value of a key within a section: "Tcp: InSegs".
func (r *reading) setIn(section, key []byte, v int64) {
	r.key = append(append(append(r.key[:0], section...), ' '), key...)
	r.set(r.key, v)
}

// complete reports whether all keys of a column were found.
func (r *reading) complete(col int) bool { return r.got[col] == r.sums.cols[col].needs }

// fill writes the columns into a row of f.
func (r *reading) fill(f *sample.Frame, row int) {
	for i, c := range r.sums.cols {
		if r.complete(i) {
			f.SetInt(row, i, r.acc[i]*c.mul/c.div)
		} else {
			f.SetMissing(row, i, metric.Unsupported)
		}
	}
}

func newKeyed(k keyed, root string) (*keyed, error) {
	k.file = newFile(root + k.shown)
	return &k, k.Refresh()
}

func (k *keyed) Name() string            { return k.name }
func (k *keyed) Groups() []*metric.Group { return []*metric.Group{k.group} }
func (k *keyed) Close() error            { k.file.close(); return nil }

// Refresh marks what this kernel lacks.
func (k *keyed) Refresh() error {
	ds, rest := rowsOf(metric.NoIndom, k.shown+" ")
	s, err := parseSums(ds, rest, k.native, int64(os.Getpagesize()))
	if err != nil {
		return err
	}
	k.reading.reset(s)
	k.group = &metric.Group{Name: k.name, Metrics: ds}
	data, err := k.file.read()
	if err != nil {
		for _, d := range ds {
			d.Unsupported = lacking(k.shown, err)
		}
		return nil
	}
	k.scan(data, &k.reading)
	for i, d := range ds {
		if !k.complete(i) {
			d.Unsupported = "this kernel's " + k.shown + " has no " + rest[i]
		}
	}
	return nil
}

func (k *keyed) Read(c *sample.Context, frames []*sample.Frame) error {
	data, err := k.file.read()
	if err != nil {
		return err
	}
	at := c.Now()
	k.begin()
	k.scan(data, &k.reading)
	for _, f := range frames {
		f.Reset(at)
		k.fill(f, f.Row(nil))
	}
	return nil
}

// scanLines reads lines of a name, perhaps a colon, and numbers, of which only the first counts.
func scanLines(data []byte, r *reading) {
	for len(data) > 0 {
		var l []byte
		l, data = line(data)
		key, l := word(l)
		if n := len(key); n > 0 && key[n-1] == ':' {
			key = key[:n-1]
		}
		w, _ := word(l)
		if v, ok := integer(w); ok {
			r.set(key, v)
		}
	}
}

// scanPairs reads pairs of lines that begin with the same section: one line of names, one of
// numbers.
func scanPairs(data []byte, r *reading) {
	for len(data) > 0 {
		var names, values []byte
		names, data = line(data)
		values, data = line(data)
		section, names := word(names)
		again, values := word(values)
		if string(section) != string(again) {
			continue
		}
		for {
			var key, w []byte
			key, names = word(names)
			w, values = word(values)
			if len(key) == 0 || len(w) == 0 {
				break
			}
			if v, ok := integer(w); ok {
				r.setIn(section, key, v)
			}
		}
	}
}

// scanSections reads lines of a section followed by pairs of name and number.
func scanSections(data []byte, r *reading) {
	for len(data) > 0 {
		var l []byte
		l, data = line(data)
		section, l := word(l)
		for {
			var key, w []byte
			key, l = word(l)
			w, l = word(l)
			if len(w) == 0 {
				break
			}
			if v, ok := integer(w); ok {
				r.setIn(section, key, v)
			}
		}
	}
}
