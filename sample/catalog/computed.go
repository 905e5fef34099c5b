package catalog

// Metrics that are computed when they are read back, never recorded.
var computedRows = []row{
	{"computed.compression_ratio", own(8, 1), f64, now, none, single, polled,
		"HELP: derived from sysctl vm.compressor_input_bytes, vm.compressor_compressed_bytes",
		on{mac("derived from sysctl vm.compressor_input_bytes, vm.compressor_compressed_bytes", computed("vm.compressor_input_bytes / vm.compressor_compressed_bytes"))}},
	{"computed.compressor_pressure_pct", own(8, 2), f64, now, none, single, polled,
		"HELP: derived from sysctl vm.compressor_bytes_used, vm.compressor_pool_size",
		on{mac("derived from sysctl vm.compressor_bytes_used, vm.compressor_pool_size", computed("100 * vm.compressor_bytes_used / vm.compressor_pool_size"))}},
	{"computed.memory_utilization_pct", own(8, 3), f64, now, none, single, polled,
		"HELP: derived from sysctl vm.pages, vm.page_free_count",
		on{mac("derived from sysctl vm.pages, vm.page_free_count", computed("100 * (vm.pages - vm.page_free_count) / vm.pages"))}},
	{"computed.swap_utilization_pct", own(8, 4), f64, now, none, single, polled,
		"HELP: derived from sysctl vm.swapusage",
		on{mac("derived from sysctl vm.swapusage", computed("100 * swap.used / swap.length"))}},
	{"computed.total_connections", own(8, 5), i64, now, count, single, polled,
		"HELP: derived from sysctl net.inet.tcp.pcbcount, net.inet.udp.pcbcount, net.local.pcbcount",
		on{mac("derived from sysctl net.inet.tcp.pcbcount, net.inet.udp.pcbcount, net.local.pcbcount", computed("net.inet.tcp.pcbcount + net.inet.udp.pcbcount + net.local.pcbcount"))}},
	{"computed.uptime_seconds", own(8, 6), i64, now, sec, single, polled,
		"HELP: derived from sysctl kern.boottime",
		on{mac("derived from sysctl kern.boottime", computed("kernel.all.uptime"))}},
	{"computed.vfs_reclamation_pct", own(8, 7), f64, now, none, single, polled,
		"HELP: derived from sysctl vfs.vnstats.num_vnodes, vfs.vnstats.num_recycledvnodes",
		on{mac("derived from sysctl vfs.vnstats.num_vnodes, vfs.vnstats.num_recycledvnodes", computed("100 * vfs.vnstats.num_recycledvnodes / vfs.vnstats.num_vnodes"))}},
}
