package pcpserve

// indomHelp has the help texts of instance domains, short and long.
var indomHelp = map[string][2]string{
	"process":        {"processes, by their ids", "Each process that runs: its number is its pid, its name the pid with six digits and what it runs. A pid that is used again for the same program has another name."},
	"thread":         {"threads of selected processes", "Each thread of the processes whose threads are read: its number is the thread's, its name both numbers and what the thread is called."},
	"coalition":      {"coalitions of macOS", "Each app and each service of macOS that runs, with its helpers: its number is the kernel's number of the coalition."},
	"connection":     {"connections that matter most", "Each connection that transferred most lately or is in trouble, by its process, its ports and its peer. Its number is made from the kernel's number of the socket."},
	"listener":       {"ports that are listened on", "Each protocol, address and port that a process listens on. Blanks are underscores here."},
	"cpu":            {"processors", "Each logical processor, by the kernel's number of it."},
	"disk":           {"disks", "Each whole disk, by the kernel's name of it."},
	"interface":      {"network interfaces", "Each network interface, by the kernel's name of it."},
	"filesys":        {"mounted file systems", "Each mounted file system, by where it is mounted. Blanks in that are underscores here."},
	"load":           {"averages over 1, 5 and 15 minutes", "The minutes that an average is of, which are its number too."},
	"pressure":       {"averages of pressure", "The time that an average is of."},
	"gpu":            {"graphics processors", "Each graphics processor, by its driver's name of it."},
	"fan":            {"fans", "Each fan of the machine."},
	"apfs container": {"containers of APFS", "Each container, which one or more volumes share."},
	"apfs volume":    {"volumes of APFS", "Each volume, by its device."},
	"cache level":    {"levels of caches", "The levels of the processors' caches, which are their numbers too."},
	"nfs3 op":        {"operations of NFS", "Each operation of NFS, version 3."},
	"class":          {"classes of metrics", "Each class of metrics that are read together."},
	"source":         {"sources of metrics", "Each source that metrics are read from."},
}

// IndomHelp returns the short and the long help text of an instance domain.
func IndomHelp(indom string) (short, long string) {
	if h, ok := indomHelp[indom]; ok {
		return h[0], h[1]
	}
	return "instances of " + indom, ""
}
