package catalog

// Linux's virtual memory event counters.
var memVmstatRows = []row{
	{"mem.vmstat.nr_free_pages", pcpLinux(28, 47), u64, now, count, single, fast,
		"HELP: /proc/vmstat nr_free_pages",
		on{lin("/proc/vmstat nr_free_pages")}},
	{"mem.vmstat.pgactivate", pcpLinux(28, 14), u64, counts, count, single, fast,
		"HELP: /proc/vmstat pgactivate",
		on{lin("/proc/vmstat pgactivate")}},
	{"mem.vmstat.pgfault", pcpLinux(28, 16), u64, counts, count, single, fast,
		"HELP: /proc/vmstat pgfault",
		on{lin("/proc/vmstat pgfault")}},
	{"mem.vmstat.pgmajfault", pcpLinux(28, 17), u64, counts, count, single, fast,
		"HELP: /proc/vmstat pgmajfault",
		on{lin("/proc/vmstat pgmajfault")}},
	{"mem.vmstat.pgpgin", pcpLinux(28, 6), u64, counts, count, single, fast,
		"HELP: /proc/vmstat pgpgin",
		on{lin("/proc/vmstat pgpgin")}},
	{"mem.vmstat.pgpgout", pcpLinux(28, 7), u64, counts, count, single, fast,
		"HELP: /proc/vmstat pgpgout",
		on{lin("/proc/vmstat pgpgout")}},
	{"mem.vmstat.pswpin", pcpLinux(28, 8), u64, counts, count, single, fast,
		"HELP: /proc/vmstat pswpin",
		on{lin("/proc/vmstat pswpin")}},
	{"mem.vmstat.pswpout", pcpLinux(28, 9), u64, counts, count, single, fast,
		"HELP: /proc/vmstat pswpout",
		on{lin("/proc/vmstat pswpout")}},
}
