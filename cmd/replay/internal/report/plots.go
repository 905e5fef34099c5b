package report

import (
	"tachograph/sample/metric"
)

// A wish is a plot that the page has if the archive has the data.
type wish struct {
	id, group, title string
	// about describes the plot in a sentence.
	about string
	of    *measure
	// parts are its series, from the bottom up if they are stacked.
	parts   []curve
	stacked bool
	// cores says that the values are the time of all processors together, to be shown as a share
	// of them.
	cores bool
	// full is the value at the top of the plot: one for shares, the value of fullExpr, or zero
	// to let the values set it.
	full     float64
	fullExpr string
	// heat draws each instance as a shaded row.
	heat bool
	// wanted is what the page says is missing if the plot is; "" if that is not worth a word.
	wanted string
	quiet  bool // left out if all of it is zero
	whole  bool // left out if the archive lacks any of its parts
	lead   bool // left out if the archive lacks the first part
}

// curve is a series of a plot, or a series for each instance of its metric.
type curve struct {
	name string
	// exprs are ways to compute it, of which the first that the archive has is used.
	exprs []string
	// each says that there is a series for each instance, of the largest ones.
	each bool
	// quiet leaves it out if it is always zero.
	quiet bool
}

func one(name string, exprs ...string) curve   { return curve{name: name, exprs: exprs} }
func rare(name string, exprs ...string) curve  { return curve{name: name, exprs: exprs, quiet: true} }
func every(name string, exprs ...string) curve { return curve{name: name, exprs: exprs, each: true} }
func everyRare(name string, exprs ...string) curve {
	return curve{name: name, exprs: exprs, each: true, quiet: true}
}

// coreBusy is the busy time of each processor.
const coreBusy = "rate(kernel.percpu.cpu.user) + rate(kernel.percpu.cpu.sys)"

// wishes are the plots, in the order of the page.
var wishes = []wish{
	{id: "cpu", group: "Processor", title: "CPU by mode", of: shares, stacked: true, cores: true, full: 1,
		about: "What the processors did, as a share of all of them.", wanted: "cpu time",
		parts: []curve{
			one("user", "kernel.all.cpu.user"), rare("nice", "kernel.all.cpu.nice"), one("system", "kernel.all.cpu.sys"),
			rare("interrupts", "rate(kernel.all.cpu.irq.hard) + rate(kernel.all.cpu.irq.soft)"),
			rare("stolen", "kernel.all.cpu.steal"), rare("waiting for disk", "kernel.all.cpu.wait.total"),
		}},
	{id: "cores", group: "Processor", title: "CPU by core", of: shares, full: 1, heat: true,
		about: "How busy each processor was; the darker the busier.",
		parts: []curve{every("", coreBusy+" + rate(kernel.percpu.cpu.nice)", coreBusy)}},
	{id: "load", group: "Processor", title: "Load", of: plain,
		about: "Processes that ran or wanted to, on average of a minute.",
		parts: []curve{one("load", "max(kernel.all.load[/^1( minute)?$/])")}},
	{id: "memory", group: "Memory", title: "Memory by kind", of: sizes, stacked: true, fullExpr: "mem.physmem", lead: true,
		about: "What the memory held.",
		parts: []curve{
			one("processes", "mem.util.anonpages", "mem.util.AnonPages"),
			rare("shared", "mem.util.shmem", "mem.util.Shmem"),
			rare("compressed swap", "mem.util.zswap", "mem.util.Zswap"),
			rare("kernel", "mem.util.slabUnreclaimable + mem.util.kernelStack + mem.util.pageTables", "mem.util.SUnreclaim + mem.util.KernelStack + mem.util.PageTables"),
			rare("reclaimable kernel", "mem.util.slabReclaimable", "mem.util.SReclaimable"),
			one("cached files", "mem.util.cached - mem.util.shmem", "mem.util.Cached - mem.util.Shmem"),
			rare("buffers", "mem.util.bufmem", "mem.util.Buffers"),
			one("free", "mem.util.free"),
		}},
	{id: "memory-all", group: "Memory", title: "Memory by kind", of: sizes, stacked: true, fullExpr: "mem.physmem",
		about: "What the memory held.", wanted: "memory",
		parts: []curve{
			one("wired", "mem.util.wired"), one("active", "mem.util.active", "mem.util.used - mem.util.compressed"),
			one("inactive", "mem.util.inactive"), one("compressed", "mem.util.compressed"), one("free", "mem.util.free"),
		}},
	{id: "pressure", group: "Memory", title: "Pressure", of: shares, quiet: true,
		about: "Share of the time in which some process was stalled for want of something.",
		parts: []curve{
			one("memory", "kernel.all.pressure.memory.some.total"), one("disk", "kernel.all.pressure.io.some.total"),
			one("cpu", "kernel.all.pressure.cpu.some.total"),
		}},
	{id: "memory-level", group: "Memory", title: "Memory pressure level", of: plain,
		about: "As the kernel judges it: 1 normal, 2 warning, 4 critical.",
		parts: []curve{one("level", "kern.memorystatus_vm_pressure_level")}},
	{id: "swap", group: "Memory", title: "Swap used", of: sizes, fullExpr: "swap.length", quiet: true,
		about: "What was moved out of memory.",
		parts: []curve{one("used", "swap.used", "mem.util.swapTotal - mem.util.swapFree", "mem.util.SwapTotal - mem.util.SwapFree")}},
	{id: "swapping", group: "Memory", title: "Swapping", of: aSecond, quiet: true,
		about: "Pages moved between memory and swap.",
		parts: []curve{one("in", "swap.pagesin", "mem.vmstat.pswpin"), one("out", "swap.pagesout", "mem.vmstat.pswpout")}},
	{id: "disk", group: "Disks and volumes", title: "Disk traffic", of: sizesASecond, whole: true,
		about: "Read and written by each disk.", wanted: "disk traffic",
		parts: []curve{every("read", "disk.dev.read_bytes"), every("written", "disk.dev.write_bytes")}},
	{id: "disk-all", group: "Disks and volumes", title: "Disk traffic", of: sizesASecond,
		about: "Read and written by all disks.",
		parts: []curve{one("read", "disk.all.read_bytes"), one("written", "disk.all.write_bytes")}},
	{id: "disk-busy", group: "Disks and volumes", title: "Busy disks", of: shares, full: 1,
		about: "Share of the time in which a disk was at work.",
		parts: []curve{everyRare("", "disk.dev.avactive")}},
	{id: "volumes", group: "Disks and volumes", title: "Volumes", of: shares, full: 1,
		about: "How full each volume was.", wanted: "volumes",
		parts: []curve{every("", "filesys.full", "filesys.used / filesys.capacity")}},
	{id: "network", group: "Network", title: "Network traffic", of: sizesASecond, whole: true,
		about: "Received and sent by each interface.", wanted: "network traffic",
		parts: []curve{everyRare("in", "network.interface.in.bytes"), everyRare("out", "network.interface.out.bytes")}},
	{id: "network-all", group: "Network", title: "Network traffic", of: sizesASecond,
		about: "Received and sent by all interfaces.",
		parts: []curve{one("in", "network.all.in.bytes"), one("out", "network.all.out.bytes")}},
	{id: "network-errors", group: "Network", title: "Network errors", of: aSecond, quiet: true,
		about: "Packets that were dropped or damaged.",
		parts: []curve{
			rare("errors in", "network.all.in.errors"), rare("errors out", "network.all.out.errors"),
			rare("drops in", "network.all.in.drops"), rare("drops out", "network.all.out.drops"),
		}},
	{id: "gpu", group: "Graphics, temperature and power", title: "GPU", of: shares, full: 1,
		about: "How busy each graphics processor was.", wanted: "gpu",
		parts: []curve{every("", "gpu.util")}},
	{id: "temperature", group: "Graphics, temperature and power", title: "Temperature", of: celsius,
		about: "Of the processor and what is near it.", wanted: "temperature",
		parts: []curve{
			one("cpu", "thermal.cpu.die", "thermal.package"), one("gpu", "thermal.gpu.die"), one("ambient", "thermal.ambient"),
		}},
	{id: "thermal-pressure", group: "Graphics, temperature and power", title: "Thermal pressure", of: plain, quiet: true,
		about: "How far the machine was slowed down for heat; 0 is not at all.",
		parts: []curve{one("level", "thermal.pressure.level")}},
	{id: "fans", group: "Graphics, temperature and power", title: "Fans", of: rpm, quiet: true,
		about: "How fast each fan turned.", wanted: "fans",
		parts: []curve{every("", "thermal.fan.speed")}},
	{id: "power", group: "Graphics, temperature and power", title: "Battery", of: shares, full: 1,
		about: "Charge of the battery.", wanted: "battery",
		parts: []curve{one("charge", "power.battery.charge")}},
}

// wantedMetric returns the metric whose absence explains that a plot is missing.
func (p *wish) wantedMetric(lookup func(string) *metric.Desc) *metric.Desc {
	for _, part := range p.parts {
		for _, text := range part.exprs {
			if d := lookup(text); d != nil {
				return d
			}
		}
	}
	return nil
}
