package pcpimport

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"tachograph/cmd/internal/pcp/pcparchive"
	"tachograph/cmd/replay/internal/format/pcpexport"
	"tachograph/sample/metric"
)

// A survey describes archives before their values are read: their metrics, and the times between
// their marks.
type survey struct {
	bases   []string
	label   pcparchive.Label // of the first
	ours    bool
	metrics map[uint32]*seen
	// stretches are the times between marks, in order.
	stretches []stretch
	skipped   map[string]string // metrics without values that can be kept, and why
	domains   map[uint32]bool
	names     map[string]bool // of all metrics
	system    string          // the value of kernel.uname.sysname
	release   string
	machine   string
	notes     []string
	records   int64
}

// seen is how often and when a metric was read.
type seen struct {
	count       int64
	first, last int64
	least       int64 // between two readings
}

func (s *seen) every() int64 {
	if s.count < 2 {
		return 0
	}
	// A stretch without values makes the mean longer. The least time between two readings may be
	// much shorter, if one of them was late.
	mean := (s.last - s.first) / (s.count - 1)
	return max(s.least, min(mean, 2*s.least))
}

// A stretch is a span of time without a mark.
type stretch struct {
	from, to int64
	boot     int64 // when the machine was started; 0 if not known
	id       string
	origin   int64 // wall clock at zero of the boot's clocks
}

// mostStretches is how many stretches a real logger's archive may have: a mark takes 36 bytes,
// and each may be a boot. mostBoots is how many archives are made from them, one for each boot.
const (
	mostStretches = 1 << 14
	mostBoots     = 1000
)

// sameBoot is how much two estimates of a boot's time may differ, because clocks are set and
// uptime is rounded to seconds.
const sameBoot = int64(90e9)

// look reads archives once.
func look(bases []string, each func() error) (*survey, error) {
	s := &survey{metrics: make(map[uint32]*seen), skipped: make(map[string]string), domains: make(map[uint32]bool), names: make(map[string]bool)}
	type part struct {
		base string
		pcparchive.Label
	}
	var parts []part
	for _, b := range bases {
		r, err := open(b)
		if err != nil {
			return nil, err
		}
		b = pcparchive.Base(b)
		if !slices.ContainsFunc(parts, func(p part) bool { return p.base == b }) {
			parts = append(parts, part{b, r.Label})
		}
		r.Close()
	}
	slices.SortStableFunc(parts, func(a, b part) int { return int(min(max(a.Start-b.Start, -1), 1)) })
	for i, p := range parts {
		if p.Host != parts[0].Host {
			return nil, fmt.Errorf("%s is of host %s and %s of %s: import the archives of one host at a time", parts[0].base, parts[0].Host, p.base, p.Host)
		}
		s.bases = append(s.bases, p.base)
		if i == 0 {
			s.label = p.Label
		}
	}
	for _, b := range s.bases {
		if err := s.read(b, each); err != nil {
			return nil, err
		}
	}
	if n := s.boots(); n > mostBoots {
		return nil, fmt.Errorf("%s tells of %d boots, as nothing says which stretches between its marks belong to one, and an import makes an archive of each, %d at most: import a part of it at a time (pmlogextract -S, -T)", s.bases[0], n, mostBoots)
	}
	return s, nil
}

func (s *survey) read(base string, each func() error) error {
	r, err := open(base)
	if err != nil {
		return err
	}
	defer r.Close()
	uptime, boottime := named(r, "kernel.all.uptime"), named(r, "kernel.all.boottime")
	words := map[*string]*pcparchive.Desc{&s.system: named(r, "kernel.uname.sysname"), &s.release: named(r, "kernel.uname.release"), &s.machine: named(r, "kernel.uname.machine")}
	for id, d := range r.Descs {
		s.domains[id>>22] = true
		for _, name := range d.Names {
			s.names[name] = true
		}
		s.ours = s.ours || slices.Contains(d.Names, pcpexport.TickClass)
	}
	broken := true
	for {
		rec, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := each(); err != nil {
			return err
		}
		if len(rec.Sets) == 0 {
			broken = true
			continue
		}
		s.records++
		if broken {
			if len(s.stretches) == mostStretches {
				return fmt.Errorf("%s has more than %d marks, where its logger began again: import a part of it at a time (pmlogextract -S, -T)", base, mostStretches)
			}
			s.stretches = append(s.stretches, stretch{from: rec.Time, to: rec.Time})
			broken = false
		}
		now := &s.stretches[len(s.stretches)-1]
		now.to = max(now.to, rec.Time)
		for i := range rec.Sets {
			set := &rec.Sets[i]
			s.note(set, rec.Time)
			if len(set.Instances) == 0 {
				continue
			}
			typ, ok := set.Desc.Type.Metric()
			switch {
			case !ok:
			case set.Desc == boottime && now.boot == 0:
				now.boot = whole(set.Values.At(typ, 0).Number())
			case set.Desc == uptime && now.boot == 0:
				now.boot = rec.Time - whole(set.Values.At(typ, 0).Number())
			default:
				for at, d := range words {
					if d == set.Desc && typ == metric.String && *at == "" {
						*at = set.Values.Word(0)
					}
				}
			}
		}
	}
	for _, n := range r.Notes {
		if !slices.Contains(s.notes, n) {
			s.notes = append(s.notes, n)
		}
	}
	return nil
}

// whole returns seconds as nanoseconds; 0 if they are invalid.
func whole(sec float64) int64 {
	if !(sec > 0 && sec < 7e9) {
		return 0
	}
	return int64(math.Round(sec * 1e9))
}

func named(r *pcparchive.Reader, name string) *pcparchive.Desc {
	for _, d := range r.Descs {
		if slices.Contains(d.Names, name) {
			return d
		}
	}
	return nil
}

func (s *survey) note(set *pcparchive.ReadSet, when int64) {
	if set.Desc == nil {
		return
	}
	if _, ok := set.Desc.Type.Metric(); !ok {
		s.skipped[set.Desc.Names[0]] = set.Desc.Type.String()
		return
	}
	m := s.metrics[set.PMID]
	if m == nil {
		m = &seen{first: when, least: math.MaxInt64}
		s.metrics[set.PMID] = m
	}
	if m.count > 0 && when > m.last {
		m.least = min(m.least, when-m.last)
	}
	m.count++
	m.last = when
}

// boots finds which stretches belong to the same boot.
func (s *survey) boots() (n int) {
	for i := range s.stretches {
		now := &s.stretches[i]
		if i > 0 {
			before := &s.stretches[i-1]
			same := now.boot != 0 && before.boot != 0 && max(now.boot-before.boot, before.boot-now.boot) < sameBoot
			if same {
				now.boot, now.id, now.origin = before.boot, before.id, before.origin
				continue
			}
		}
		n++
		now.origin = now.boot
		if now.boot == 0 || now.boot > now.from {
			// The boot's clock must begin a moment before its first reading.
			now.origin = now.from - 1e9
		}
		now.id = "pcp-" + strings.TrimSuffix(metric.Stamp{Wall: now.origin}.Time().UTC().Format("20060102T150405Z"), "\n")
	}
	return n
}

// at returns the stretch of a time.
func (s *survey) at(when int64) *stretch {
	i, _ := slices.BinarySearchFunc(s.stretches, when, func(st stretch, t int64) int {
		if st.to < t {
			return -1
		}
		return 1
	})
	return &s.stretches[min(i, len(s.stretches)-1)]
}

// classes finds the class for metrics by their interval in nanoseconds. Those that are read most
// often are fast.
type classes struct {
	fastest int64
	every   metric.Intervals
}

func (s *survey) classes() *classes {
	c := &classes{fastest: math.MaxInt64}
	for _, m := range s.metrics {
		if e := m.every(); e > 0 {
			c.fastest = min(c.fastest, e)
		}
	}
	c.every[metric.Static] = metric.Once
	return c
}

func (c *classes) of(m *seen, indom string) metric.Class {
	every := m.every()
	class := metric.Fast
	switch {
	case every == 0:
		return metric.Static
	case indom == "process":
		class = metric.Process
	case every > 30*c.fastest:
		class = metric.Constrained
	case every > 3*c.fastest:
		class = metric.Polled
	}
	if had := &c.every[class]; *had == 0 || int64(*had) > every {
		*had = rounded(every)
	}
	return class
}
