package sim

import "math"

// A Disk has a maximum of bytes and requests a second.
type Disk struct {
	Name            string
	Bandwidth, IOPS float64
	Slow            float64 // times as slow; 0: as usual
	Hung            bool
	Errors          float64 // a second
	inflight        float64
	doing           float64
}

// A Volume is a file system.
type Volume struct {
	Mount, Device, Type string
	Capacity            float64 // KB
	Used                float64
	Files, MaxFiles     float64
}

// Full returns the part that is used.
func (v *Volume) Full() float64 { return v.Used / v.Capacity }

// cost returns how long a process keeps its disk busy.
func (d *Disk) cost(p *Proc, write float64) (seconds, reads, writes float64) {
	reads = p.Read/98304 + p.Requests
	writes = write/262144 + 2*p.Syncs
	if write > 0 {
		writes = max(writes, 0.2)
	}
	slow := max(d.Slow, 1)
	return slow * ((p.Read+write)/d.Bandwidth + (reads+writes)/d.IOPS), reads, writes
}

// room returns how much of what a process wants to write fits on its volume.
func (p *Proc) room() float64 {
	if p.Volume == nil {
		return p.Write
	}
	return max(min(p.Write, (p.Volume.Capacity-p.Volume.Used)*1024), 0)
}

// disks shares out the disks.
func (m *Machine) disks() {
	ioSome, ioFull := 1.0, 1.0
	anybody := false
	for _, d := range m.Disks {
		total := 0.0
		var users []*Proc
		for _, p := range m.Procs {
			if p.Disk == d && p.State == 0 && (p.Read > 0 || p.Write > 0 || p.Requests > 0 || p.Syncs > 0) && (p.Volume == nil || p.Volume.Type != "tmpfs") {
				seconds, _, _ := d.cost(p, p.room())
				total += seconds
				users = append(users, p)
			}
		}
		scale := min(1, 1/max(total, 1e-9))
		if d.Hung {
			scale = 0
		}
		var readB, wroteB, reads, writes, syncs float64
		waiters := 0.0
		for _, p := range users {
			write := p.room()
			seconds, r, w := d.cost(p, write)
			p.got.read, p.got.write = p.Read*scale, write*scale
			readB, wroteB = readB+p.got.read, wroteB+p.got.write
			reads, writes, syncs = reads+r*scale, writes+w*scale, syncs+p.Syncs*scale
			waits := seconds * (1 + 2*min(total, 1))
			if p.Read == 0 && p.Syncs == 0 && p.Requests == 0 && total < 0.9 {
				waits = 0 // Written data waits in memory; the process does not.
			}
			if d.Hung {
				waits = 0.98
			}
			p.blocked = min(waits, 0.98)
			waiters += p.blocked
			ioSome *= 1 - min(p.blocked, 0.98)
			if p.blocked > 0 {
				anybody = true
				ioFull *= min(p.blocked, 1) * max(1-p.User-p.Sys, 0.1)
			}
		}
		for _, p := range m.Procs {
			if p.Volume != nil && p.Volume.Type == "tmpfs" && p.State == 0 {
				p.got.write = 0
				if p.Disk == d {
					p.wchar += p.room()
					p.Volume.Used += p.room() / 1024
				}
			}
		}
		if d.Hung { // Processes that wait for it have requests in flight.
			for _, p := range m.Procs {
				if p.Disk == d && p.State == 'D' {
					waiters++
				}
			}
		}
		m.served(d, min(total, 1), readB, wroteB, reads, writes, syncs, waiters)
	}
	part := 1 - ioSome
	full := 0.0
	if anybody {
		full = min(ioFull, part)
	}
	m.psi[1][0].push(min(part, 0.99))
	m.psi[1][1].push(min(full, 0.97))
}

// served counts what a disk did.
func (m *Machine) served(d *Disk, busy, readB, wroteB, reads, writes, syncs, waiters float64) {
	ops := reads + writes
	queue := waiters
	if d.Hung {
		d.inflight += min(waiters*2, 3)
		d.inflight = min(d.inflight, 64)
		busy = 0
		if d.inflight > 0 {
			busy, queue = 1, d.inflight
		}
	} else {
		d.inflight = math.Floor(queue*busy + m.Rand.Float64()*busy)
		queue = max(queue*busy, busy)
	}
	if d.Slow > 1 && ops > 0 {
		queue = max(queue, busy*2)
	}
	s := m.series
	share := reads / max(ops, 1e-9)
	for name, x := range map[string]float64{
		"read": reads, "write": writes, "total": ops, "read_bytes": readB / 1024, "write_bytes": wroteB / 1024, "total_bytes": (readB + wroteB) / 1024,
		"blkread": readB / 512, "blkwrite": wroteB / 512, "blktotal": (readB + wroteB) / 512, "avactive": busy * 1000, "aveq": queue * 1000,
		"flush": syncs, "flush_rawactive": syncs * 0.4, "read_rawactive": queue * 1000 * share, "write_rawactive": queue * 1000 * (1 - share),
		"total_rawactive": queue * 1000, "read_time": queue * 1000 * share, "write_time": queue * 1000 * (1 - share), "total_time": queue * 1000,
		"total_read_time": queue * 1000 * share, "total_write_time": queue * 1000 * (1 - share), "write_merge": writes * 0.7,
	} {
		s.count("disk.dev."+name, d.Name, x)
		s.count("disk.all."+name, "", x)
	}
	s.level("disk.dev.inflight", d.Name, d.inflight)
	d.doing = ops
	m.Interrupts += ops
	for _, name := range []string{"mem.vmstat.pgpgin", "mem.pageins"} {
		s.count(name, "", readB/1024)
	}
	for _, name := range []string{"mem.vmstat.pgpgout", "mem.pageouts"} {
		s.count(name, "", wroteB/1024)
	}
	s.count("mem.vmstat.nr_written", "", wroteB/4096)
	s.count("mem.vmstat.nr_dirtied", "", wroteB/4096)
}
