package catalog

// reportRows count what the system itself wrote down, since the recorder was started. Each is an
// event as well, unless there were too many at once.
var reportRows = []row{
	{"system.report.crashes", own(24, 0), u64, counts, count, single, polled,
		"Crashes of programs that the system reported",
		on{mac("reports of crashes"), lin("core dumps, kernel lines about faults")}},
	{"system.report.hangs", own(24, 1), u64, counts, count, single, polled,
		"Programs, tasks and processors that the system reported as not going on",
		on{mac("reports of hangs and spins"), lin("kernel lines about hung tasks and lockups")}},
	{"system.report.kills", own(24, 2), u64, counts, count, single, polled,
		"Processes that the system reported to have ended for want of memory or at a limit",
		on{mac("jetsam events"), lin("kernel lines about memory, systemd-oomd")}},
	{"system.report.limits", own(24, 3), u64, counts, count, single, polled,
		"Programs that the system reported for using too much processor time, waking up too often or writing too much",
		on{mac("reports of resources"), lacks(Linux, "Linux does not report programs for what they use")}},
	{"system.report.resets", own(24, 4), u64, counts, count, single, polled,
		"Forced resets and shutdowns that did not end, as the system reported them",
		on{mac("reset counts, shutdown stalls"), lin("what pstore kept of the boot before")}},
	{"system.report.kernel", own(24, 5), u64, counts, count, single, polled,
		"Errors of disks, file systems, links, hardware and of the kernel itself that the kernel reported",
		on{lacks(Darwin, "the kernel of macOS writes them into the unified log, which takes seconds of processor time to search"), lin("/dev/kmsg or the journal")}},
	{"system.report.services", own(24, 6), u64, counts, count, single, polled,
		"Failures and restarts of services that the system reported",
		on{lacks(Darwin, "launchd keeps no file about failures of services"), lin("the journal")}},
	{"system.report.software", own(24, 7), u64, counts, count, single, polled,
		"Packages, updates and apps that were installed, removed or changed to another version",
		on{mac("InstallHistory.plist"), lin("logs of dpkg, dnf, pacman and zypper, the list of apk")}},
	{"system.report.suppressed", own(24, 8), u64, counts, count, single, polled,
		"Things that the system wrote down and that have no event, because there were too many at once",
		on{mac("the recorder"), lin("the recorder")}},
}
