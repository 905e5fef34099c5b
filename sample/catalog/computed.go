package catalog

// computedRows are metrics that are computed when they are read back, never recorded.
var computedRows = []row{
	{"computed.compression_ratio", own(8, 1), f64, now, none, single, polled,
		"How many times smaller the compressor makes what it stores",
		on{mac("derived from sysctl vm.compressor_input_bytes, vm.compressor_compressed_bytes", computed("vm.compressor_input_bytes / vm.compressor_compressed_bytes"))}},
	{"computed.compressor_pressure_pct", own(8, 2), f64, now, percent, single, polled,
		"Share of the compressor's pool that is in use, in percent",
		on{mac("derived from sysctl vm.compressor_bytes_used, vm.compressor_pool_size", computed("vm.compressor_bytes_used / vm.compressor_pool_size"))}},
	{"computed.memory_utilization_pct", own(8, 3), f64, now, percent, single, polled,
		"Share of physical pages that are not free, in percent",
		on{mac("derived from sysctl vm.pages, vm.page_free_count", computed("(vm.pages - vm.page_free_count) / vm.pages")),
			lin("/proc/meminfo", computed("mem.util.used / mem.physmem"))}},
	{"computed.swap_utilization_pct", own(8, 4), f64, now, percent, single, polled,
		"Share of the swap space that is in use, in percent",
		on{mac("derived from sysctl vm.swapusage", computed("swap.used / swap.length")),
			lin("/proc/meminfo", computed("swap.used / swap.length"))}},
	{"computed.total_connections", own(8, 5), i64, now, count, single, polled,
		"TCP, UDP and local sockets taken together",
		on{mac("derived from sysctl net.inet.tcp.pcbcount, net.inet.udp.pcbcount, net.local.pcbcount", computed("net.inet.tcp.pcbcount + net.inet.udp.pcbcount + net.local.pcbcount"), long("Counts bound and listening sockets too."))}},
	{"computed.uptime_seconds", own(8, 6), i64, now, sec, single, polled,
		"Time since boot in whole seconds, sleep included",
		on{mac("derived from sysctl kern.boottime", computed("kernel.all.uptime")),
			lin("/proc/uptime", computed("kernel.all.uptime"))}},
	{"computed.vfs_reclamation_pct", own(8, 7), f64, now, percent, single, polled,
		"Vnodes recycled since boot, in percent of those that exist",
		on{mac("derived from sysctl vfs.vnstats.num_vnodes, vfs.vnstats.num_recycledvnodes", computed("vfs.vnstats.num_recycledvnodes / vfs.vnstats.num_vnodes"), long("Sets a lifetime count against a level of the moment, so it can exceed 100."))}},
}
