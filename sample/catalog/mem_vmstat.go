package catalog

// Linux's virtual memory event counters.
var memVmstatRows = []row{
	{"mem.vmstat.nr_free_pages", pcpLinux(28, 47), u64, now, count, single, fast,
		"Pages that nobody uses, under the name Linux has for it",
		on{lin("/proc/vmstat nr_free_pages")}},
	{"mem.vmstat.pgactivate", pcpLinux(28, 14), u64, counts, count, single, fast,
		"Pages moved to the active list",
		on{lin("/proc/vmstat pgactivate")}},
	{"mem.vmstat.pgfault", pcpLinux(28, 16), u64, counts, count, single, fast,
		"Page faults of every kind, under the name Linux has for it",
		on{lin("/proc/vmstat pgfault")}},
	{"mem.vmstat.pgmajfault", pcpLinux(28, 17), u64, counts, count, single, fast,
		"Page faults that had to wait for a disk",
		on{lin("/proc/vmstat pgmajfault")}},
	{"mem.vmstat.pgpgin", pcpLinux(28, 6), u64, counts, count, single, fast,
		"Kbytes read from block devices",
		on{lin("/proc/vmstat pgpgin")}},
	{"mem.vmstat.pgpgout", pcpLinux(28, 7), u64, counts, count, single, fast,
		"Kbytes written to block devices",
		on{lin("/proc/vmstat pgpgout")}},
	{"mem.vmstat.pswpin", pcpLinux(28, 8), u64, counts, count, single, fast,
		"Pages read back from swap, under the name Linux has for it",
		on{lin("/proc/vmstat pswpin")}},
	{"mem.vmstat.pswpout", pcpLinux(28, 9), u64, counts, count, single, fast,
		"Pages written to swap, under the name Linux has for it",
		on{lin("/proc/vmstat pswpout")}},
}
