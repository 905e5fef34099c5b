package query

import (
	"math"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Digest summarizes one archive in a line.
type Digest struct {
	Archive *store.ArchiveInfo
	// From and To are the part of the archive that lies in the window.
	From, To int64
	CPU      float64 // mean share of all cores; NaN where unknown, as are all below
	Memory   float64 // most bytes in use
	OfMemory float64
	Read     float64 // bytes
	Written  float64
	Received float64
	Sent     float64
	Breaks   int
}

var digestMetrics = []string{
	"kernel.all.cpu.user", "kernel.all.cpu.sys", "kernel.all.cpu.nice",
	"mem.physmem", "mem.util.available", "mem.util.used",
	"disk.all.read_bytes", "disk.all.write_bytes", "network.all.in.bytes", "network.all.out.bytes",
}

// Digests summarizes each archive of the window, from summaries alone.
func Digests(a Archive, w Window, yield func(*Digest) error) error {
	_, _, list := Covered(a, w)
	for _, info := range list {
		d := &Digest{Archive: info, From: max(info.Begin(), w.From), To: info.To}
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
	all := make(map[string]*Range)
	w := Window{Hosts: []string{d.Archive.Host.ID}, From: d.From, To: d.To}
	for r, err := range Ranges(a, RangeRequest{Request: Request{Window: w, Metrics: digestMetrics}}) {
		if err != nil {
			return err
		}
		if r.Count > 0 {
			all[r.Name] = r
		}
	}
	d.CPU = math.NaN()
	if r, cores := all["kernel.all.cpu.user"], Cores(a, w); r != nil && r.Seconds > 0 && cores > 0 {
		d.CPU = 0
		for _, name := range digestMetrics[:3] {
			if r := all[name]; r != nil && r.Seconds > 0 {
				d.CPU += r.Steady * base(r.Units) / r.Seconds
			}
		}
		d.CPU = min(d.CPU/cores, 1)
	}
	d.Memory, d.OfMemory = math.NaN(), math.NaN()
	if r := all["mem.physmem"]; r != nil {
		d.OfMemory = r.Last.Number() * base(r.Units)
	}
	if r := all["mem.util.available"]; r != nil && d.OfMemory > 0 {
		d.Memory = d.OfMemory - float64(r.Min.Number()*base(r.Units))
	} else if r := all["mem.util.used"]; r != nil {
		d.Memory = r.Max.Number() * base(r.Units)
	}
	gain := func(name string) float64 {
		if r := all[name]; r != nil {
			return r.Increase * base(r.Units)
		}
		return math.NaN()
	}
	d.Read, d.Written = gain("disk.all.read_bytes"), gain("disk.all.write_bytes")
	d.Received, d.Sent = gain("network.all.in.bytes"), gain("network.all.out.bytes")
	for _, b := range Breaks(a, w) {
		if b.From >= d.From && b.From <= d.To && b.Kind != metric.EventStart && b.Kind != metric.EventStop {
			d.Breaks++
		}
	}
	return nil
}
