package query

import (
	"math"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Digest is one archive in a line.
type Digest struct {
	Archive *store.ArchiveInfo
	// From and To are the part of the archive that lies in the window.
	From, To int64
	CPU      float64 // mean share of all cores; NaN where unknown, as all below
	Memory   float64 // most bytes in use
	OfMemory float64
	Read     float64 // bytes
	Written  float64
	Received float64
	Sent     float64
	Breaks   int
}

var digestMetrics = []string{
	"kernel.all.cpu.user", "kernel.all.cpu.sys", "kernel.all.cpu.nice", "hinv.ncpu",
	"mem.physmem", "mem.util.available", "mem.util.used",
	"disk.all.read_bytes", "disk.all.write_bytes", "network.all.in.bytes", "network.all.out.bytes",
}

// Digests sums up each archive of the window, from summaries alone.
func Digests(a Archive, w Window, yield func(*Digest) error) error {
	_, _, list := Covered(a, w)
	for _, info := range list {
		d := &Digest{Archive: info, From: max(info.From, w.From), To: info.To}
		if w.To != 0 {
			d.To = min(d.To, w.To)
		}
		if err := d.fill(a); err != nil {
			return err
		}
		if err := yield(d); err != nil {
			return err
		}
	}
	return nil
}

func (d *Digest) fill(a Archive) error {
	type total struct {
		increase, seconds, lo, hi, last float64
		first                           int64
		end                             store.Point
	}
	all := make(map[string]*total)
	w := Window{Hosts: []string{d.Archive.Host.ID}, From: d.From, To: d.To}
	sel := w.Selection(digestMetrics...)
	for s, err := range a.Summarize(sel) {
		if err != nil {
			return err
		}
		if s.Archive != d.Archive || s.Count == 0 {
			continue
		}
		t := all[s.Metric.Name]
		unit := base(s.Metric.Units)
		if t == nil {
			t = &total{lo: math.Inf(1), hi: math.Inf(-1), first: s.First.Cont}
			all[s.Metric.Name] = t
		}
		t.increase += s.Increase * unit
		if t.end.Wall != 0 && s.Metric.Sem == metric.Counter {
			inc, _ := metric.Increase(s.Metric, t.end.Bits, s.First.Bits)
			t.increase += inc * unit
		}
		t.end = s.Last
		t.seconds = float64(t.end.Cont-t.first) / 1e9
		t.lo = min(t.lo, metric.Number(s.Metric.Type, s.Min)*unit)
		t.hi = max(t.hi, metric.Number(s.Metric.Type, s.Max)*unit)
		t.last = metric.Number(s.Metric.Type, s.Last.Bits) * unit
	}
	gain := func(name string) float64 {
		if t := all[name]; t != nil {
			return t.increase
		}
		return math.NaN()
	}
	d.CPU = math.NaN()
	if t := all["kernel.all.cpu.user"]; t != nil && t.seconds > 0 {
		d.CPU = sum(gain("kernel.all.cpu.user"), gain("kernel.all.cpu.sys"), gain("kernel.all.cpu.nice")) / t.seconds
		if n := all["hinv.ncpu"]; n != nil && n.last > 0 {
			d.CPU /= n.last
		}
	}
	d.Memory, d.OfMemory = math.NaN(), math.NaN()
	if t := all["mem.physmem"]; t != nil {
		d.OfMemory = t.last
	}
	if t := all["mem.util.available"]; t != nil && d.OfMemory > 0 {
		d.Memory = d.OfMemory - t.lo
	} else if t := all["mem.util.used"]; t != nil {
		d.Memory = t.hi
	}
	d.Read, d.Written = gain("disk.all.read_bytes"), gain("disk.all.write_bytes")
	d.Received, d.Sent = gain("network.all.in.bytes"), gain("network.all.out.bytes")
	breaks, err := Breaks(a, w)
	if err != nil {
		return err
	}
	for _, b := range breaks {
		if b.From >= d.From && b.From <= d.To && b.Kind != metric.EventStart && b.Kind != metric.EventStop {
			d.Breaks++
		}
	}
	return nil
}
