package catalog

// ownerRows are what the processes of an owner use together, computed when it is read back. The
// owner is the one that people mean: an app, a service, a container, a pod or a session. A process
// that began or ended between two readings is in the sums of "replay top --group owner", not here.
var ownerRows = []row{
	{"owner.cpu.util", own(19, 0), f64, now, none, "owner", process,
		"Share of one processor that the processes of an owner used together",
		both("rate(sum(proc.psinfo.utime + proc.psinfo.stime) by owner)")},
	{"owner.io.read_bytes", own(19, 1), f64, now, bytes.PerSec(), "owner", process,
		"Bytes that the processes of an owner had read from disks, per second",
		both("rate(sum(proc.io.read_bytes) by owner)")},
	{"owner.io.write_bytes", own(19, 2), f64, now, bytes.PerSec(), "owner", process,
		"Bytes that the processes of an owner caused to be written to disks, per second",
		both("rate(sum(proc.io.write_bytes) by owner)")},
	{"owner.memory.footprint", own(19, 3), f64, now, bytes, "owner", process,
		"Memory that the processes of an owner are held responsible for together",
		on{mac("derived from processes", computed("sum(proc.memory.footprint) by owner")),
			lin("derived from processes", class(costly), computed("sum(proc.memory.footprint) by owner"))}},
	{"owner.memory.rss", own(19, 4), f64, now, bytes, "owner", process,
		"Physical memory mapped by the processes of an owner; what they share counts for each",
		both("sum(proc.memory.rss) by owner")},
	{"owner.net.in_bytes", own(19, 7), f64, now, bytes.PerSec(), "owner", process,
		"Bytes that the processes of an owner received over connections, per second",
		both("rate(sum(proc.net.in_bytes) by owner)")},
	{"owner.net.out_bytes", own(19, 8), f64, now, bytes.PerSec(), "owner", process,
		"Bytes that the processes of an owner sent over connections, per second",
		both("rate(sum(proc.net.out_bytes) by owner)")},
	{"owner.net.retrans_bytes", own(19, 9), f64, now, bytes.PerSec(), "owner", process,
		"Bytes that the processes of an owner had to send again, per second",
		both("rate(sum(proc.net.retrans_bytes) by owner)")},
	{"owner.power.cpu", own(19, 5), f64, now, nanojoule.PerSec(), "owner", process,
		"Energy that the processors spent on the processes of an owner, per second",
		on{mac("derived from processes", computed("rate(sum(proc.energy.cpu) by owner)")),
			lacks(Linux, "Linux does not account energy per process")}},
	{"owner.processes", own(19, 6), f64, now, none, "owner", process,
		"Processes of an owner",
		both("count(proc.psinfo.utime) by owner")},
}

// both computes a metric in the same way on both platforms.
func both(formula string) on {
	return on{mac("derived from processes", computed(formula)), lin("derived from processes", computed(formula))}
}
