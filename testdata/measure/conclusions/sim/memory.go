package sim

import "math"

// memory is how the machine's memory is used, in KB.
type memory struct {
	total, kernel, files float64 // files: what is cached at first
	swap, used           float64 // the swap space: its size, and the used part
	cached               float64 // beyond files
	floor                float64
	in, out              float64 // pages of this second
	reclaim              float64 // pages that kswapd looked at
	short                float64 // part of the second that processes waited for memory
	thrash               float64
	kills                float64
	faults               float64
}

func (k *memory) furnish(m *Machine) {
	k.total, k.swap = m.MemoryMB*1024, m.SwapMB*1024
	k.kernel = 150*1024 + k.total*0.02
	k.files = k.total * (0.1 + 0.15*m.Rand.Float64())
	k.floor = k.total * 0.015
	m.Slab = k.total * 0.015
	s := m.series
	s.fix("mem.util.swapTotal", "", k.swap)
	s.fix("mem.util.commitLimit", "", k.swap+k.total/2)
	for _, name := range []string{"mem.vmstat.pswpin", "mem.vmstat.pswpout", "mem.vmstat.oom_kill", "mem.vmstat.pgscan_kswapd"} {
		if m.series.of[name] != nil {
			s.fix(name, "", 0)
		}
	}
}

// set sets a level, if the recorder has it.
func (m *Machine) set(x float64, names ...string) {
	for _, name := range names {
		if m.series.of[name] != nil {
			m.series.fix(name, "", 0)
			m.series.level(name, "", x)
		}
	}
}

// add adds to counters, if the recorder has them.
func (m *Machine) add(x float64, names ...string) {
	for _, name := range names {
		if m.series.of[name] != nil {
			m.series.count(name, "", x)
		}
	}
}

// memories decides where the pages are: free ones are used first, then cached files are dropped,
// then pages are swapped out, and in the end a process is killed.
func (m *Machine) memories() {
	k := &m.mem
	own, swapped, shm := 0.0, 0.0, 0.0
	for _, v := range m.Volumes {
		if v.Type == "tmpfs" {
			shm += v.Used
		}
	}
	minor, files := 0.0, 0.0
	for _, p := range m.Procs {
		own += p.Memory
		minor += p.Faults
		if p.Volume == nil || p.Volume.Type != "tmpfs" {
			files += (p.got.read + p.got.write) / 1024
		}
		p.minor += p.Faults
		swapped += p.swapped
		p.peak = max(p.peak, p.resident())
	}
	k.in, k.out, k.reclaim, k.short, k.faults = 0, 0, 0, 0, 0
	fixed := k.kernel + m.Slab + shm + float64(len(m.Procs))*60
	want := k.cached + files*0.8
	room := k.total - fixed - (own - swapped) - k.files - k.floor
	if want > room { // The cache shrinks.
		k.reclaim += (want - max(room, -k.files*0.85)) / 4
		want = max(room, -k.files*0.85)
	}
	k.cached = want
	lack := -(room - k.cached)
	if lack > 0 {
		m.shrink(lack, own-swapped)
	} else if k.used > 0 && m.Rand.Float64() < 0.3 && -lack > k.used*0.2 {
		m.back(k.used * 0.002)
	}
	if k.used > 0 && k.short > 0 {
		m.back(min(k.out*4*0.8, k.used*0.2))
	}
	free := max(k.total-fixed-(own-m.swappedNow())-k.files-k.cached, k.floor*0.6)
	cache := k.files + k.cached
	available := max(free-k.floor+cache*0.75+m.Slab*0.4, 0)
	m.show(free, cache, available, own-m.swappedNow(), shm, minor)
	m.psi[2][0].push(min(k.short, 0.95))
	m.psi[2][1].push(min(k.short*0.7, 0.9))
}

func (m *Machine) swappedNow() (x float64) {
	for _, p := range m.Procs {
		x += p.swapped
	}
	return x
}

// shrink makes room: pages of processes are swapped out, in proportion to what each has.
func (m *Machine) shrink(lack, resident float64) {
	k := &m.mem
	room := k.swap - k.used
	out := min(lack, room, 400*1024)
	if out > 0 {
		for _, p := range m.Procs {
			p.swapped += out * p.own() / max(resident, 1)
		}
		k.used += out
		k.out += out / 4
	}
	k.reclaim += lack / 2
	k.short = max(k.short, min(0.15+lack/(200*1024), 0.9))
	if left := lack - out; left > k.floor*0.5 {
		m.oom("")
	}
}

// back swaps in pages of processes that wait for them.
func (m *Machine) back(kb float64) {
	k := &m.mem
	if kb <= 0 || k.used <= 0 {
		return
	}
	part := kb / max(m.swappedNow(), 1)
	for _, p := range m.Procs {
		x := p.swapped * min(part, 1)
		p.swapped -= x
		if p.User+p.Sys > 0 {
			p.major += x / 4 / 8
		}
	}
	k.used = max(k.used-kb, 0)
	k.in += kb / 4
	k.faults += kb / 4 / 8
}

// oom makes the kernel kill the process with the most memory or, in a group of processes, one of
// that name.
func (m *Machine) oom(name string) *Proc {
	var worst *Proc
	for _, p := range m.Procs {
		if p.end == 0 && !p.Kernel && p != m.Init && (name == "" || p.Name == name) && (worst == nil || p.Memory > worst.Memory) {
			worst = p
		}
	}
	if worst == nil {
		return nil
	}
	m.Kill(worst)
	return worst
}

// show sets the values of the memory metrics.
func (m *Machine) show(free, cache, available, own, shm, minor float64) {
	k := &m.mem
	total := k.total
	m.set(free, "mem.util.free", "mem.freemem")
	m.set(free/4, "mem.pages.freemem", "mem.vmstat.nr_free_pages")
	m.set(cache*0.95+shm, "mem.util.cached")
	m.set(cache*0.05, "mem.util.bufmem")
	m.set(available, "mem.util.available")
	m.set(total-free, "mem.util.used")
	m.set(own, "mem.util.anonpages")
	m.set(shm, "mem.util.shmem", "mem.util.shared")
	m.set(own*0.7+cache*0.4, "mem.util.active", "mem.active")
	m.set((own*0.7+cache*0.4)/4, "mem.pages.active")
	m.set(own*0.3+cache*0.6, "mem.util.inactive", "mem.inactive")
	m.set((own*0.3+cache*0.6)/4, "mem.pages.inactive")
	m.set(own*0.7, "mem.util.active_anon")
	m.set(own*0.3, "mem.util.inactive_anon")
	m.set(cache*0.4, "mem.util.active_file")
	m.set(cache*0.6, "mem.util.inactive_file")
	m.set(m.Slab, "mem.util.slab")
	stuck := m.Slab*0.4 + max(m.Slab-k.total*0.015, 0)*0.5 // The growing part is in use.
	m.set(m.Slab-stuck, "mem.util.slabReclaimable", "mem.util.kreclaimable")
	m.set(stuck, "mem.util.slabUnreclaimable")
	m.set(own*1.4+200000, "mem.util.committed_AS")
	m.set(k.swap-k.used, "mem.util.swapFree", "swap.free")
	m.set(own/500+2000, "mem.util.pageTables")
	m.set(0, "mem.util.swapCached", "mem.util.zswap", "mem.util.zswapped")
	m.set(k.used*1024, "swap.used")
	m.set(k.swap*1024, "swap.length")
	m.set((k.swap-k.used)*1024, "swap.free")
	m.set(100*(total-free)/total, "computed.memory_utilization_pct")
	m.set(100*k.used/max(k.swap, 1), "computed.swap_utilization_pct")
	m.add(k.in, "swap.pagesin", "mem.vmstat.pswpin")
	m.add(k.out, "swap.pagesout", "mem.vmstat.pswpout")
	m.add(k.in, "swap.in")
	m.add(k.out, "swap.out")
	m.add(k.faults, "mem.vmstat.pgmajfault")
	m.add(minor+k.faults, "mem.vmstat.pgfault", "mem.pages.faults")
	m.add(k.reclaim, "mem.vmstat.pgscan_kswapd", "mem.vmstat.pgsteal_kswapd")
	m.add(minor*0.9, "mem.vmstat.pgfree", "mem.vmstat.numa_hit", "mem.vmstat.numa_local")
	// The kernel works for the pages that it looks at.
	m.Swapper.Sys = math.Min(k.reclaim/300000, 0.95)
	if k.in+k.out > 0 { // Swapping keeps the disk busy, and all processes wait for it.
		m.Swapper.Read, m.Swapper.Write = k.in*4096, k.out*4096
		m.Swapper.Requests = k.in / 8
	} else {
		m.Swapper.Read, m.Swapper.Write, m.Swapper.Requests = 0, 0, 0
	}
}

// Kill makes the kernel kill a process at the limit of its control group.
func (m *Machine) Kill(p *Proc) {
	p.End("signal 9")
	m.Killed = append(m.Killed, p)
	m.mem.kills++
	m.add(1, "mem.vmstat.oom_kill")
	m.killed()
}
