package darwin

import "strings"

// longestText is the longest string that the tree records; longer ones are
// documents, not values.
const longestText = 1024

// omission is a part of the sysctl tree that is not recorded, and why.
type omission struct{ prefix, reason string }

// omissions lists what the walk over the tree leaves out: names that give another answer on
// every reading without saying anything about the machine, secrets, and hooks that do something
// when they are read. A prefix that ends in a dot matches all names below it.
var omissions = []omission{
	{"kern.procname", "names the process that asks"},
	{"kern.threadname", "names the thread that asks"},
	{"kern.monotonicclock", "is a clock; each sample carries the clocks"},
	{"kern.monotoniclock_offset_usecs", "is a clock; each sample carries the clocks"},
	{"kern.kdbg.oldest_time", "is a clock; each sample carries the clocks"},
	{"kern.prng.", "moves with every random number drawn"},
	{"kern.entropy.", "moves with every interrupt"},
	{"debug.test.", "runs a test of the kernel's own"},
	{"net.inet.tcp.fastopen_key", "is a secret"},
	{"sysctl.", "describes the process that asks, or the tree itself"},
}

// omitted returns why a name is left out, or "".
func omitted(name string) string {
	for _, o := range omissions {
		if name == o.prefix || strings.HasSuffix(o.prefix, ".") && strings.HasPrefix(name, o.prefix) {
			return o.reason
		}
	}
	return ""
}

// hiddenSysctls are worth recording, though the kernel may leave them out of its own listing.
// Names in the catalog are looked up anyway.
var hiddenSysctls = []string{
	"kern.wakereason",
	"kern.shutdownreason",
	"machdep.tsc.frequency",
	"hw.cpufrequency",
}
