package klog

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// rule recognises a kind of line. The names of the groups in its pattern are those of the fields
// of a Finding; has is a text without which a line need not be compared with the pattern.
type rule struct {
	topic   Topic
	name    string
	has     string
	pattern func() *regexp.Regexp
	good    bool
	ignore  bool // the line says nothing that another does not say
}

// Rules that Reader.complete knows.
const (
	killed    = "killed"
	hungTask  = "hung task"
	lockOwner = "owner of a lock"
)

// re compiles a pattern when a line first needs it: all of them take a megabyte, which a machine whose
// kernel has nothing to report need not have.
func re(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

// task matches the name of a task, which may contain anything, and its number.
const task = `(?P<process>.{1,64}):(?P<pid>\d+)`

// rules are compared in this order; the first that matches a line is it.
var rules = []rule{
	{topic: OutOfMemory, name: killed, has: "Killed process", pattern: re(`^(?:Memory cgroup out|Out) of memory[^:]*: Killed process (?P<pid>\d+) \((?P<process>.*)\)(?:,| )(?:.*anon-rss:(?P<kbytes>\d+)kB)?`)},
	{has: "invoked oom-killer", pattern: re(`invoked oom-killer: `), ignore: true},
	{has: "oom_reaper: ", pattern: re(`^oom_reaper: `), ignore: true},

	{topic: Crash, name: "segfault", has: "segfault at", pattern: re(`^(?P<process>.{1,64})\[(?P<pid>\d+)\]: segfault at (?P<address>[0-9a-f]+) ip (?P<ip>[0-9a-f]+) sp [0-9a-f]+ error [0-9a-f]+(?: in (?P<file>.+)\[(?:[0-9a-f]+,)?(?P<base>[0-9a-f]+)\+[0-9a-f]+\])?`)},
	{topic: Crash, name: "fault", has: "unhandled", pattern: re(`^(?P<process>.{1,64})\[(?P<pid>\d+)\]: unhandled .*(?:fault|exception|abort)[^,]*?(?: at (?P<address>0x[0-9a-f]+))?(?:,(?:.* in (?P<file>[^\[]+)\[)?|$)`)},
	{topic: Crash, name: "trap", has: "traps: ", pattern: re(`^traps: (?P<process>.{1,64})\[(?P<pid>\d+)\] (?:general protection|trap [a-z0-9 ]+?|.* fault)(?: ip:(?P<ip>[0-9a-f]+))?(?: sp:[0-9a-f]+)?(?: error:[0-9a-f]+)?(?: in (?P<file>.+)\[(?:[0-9a-f]+,)?(?P<base>[0-9a-f]+)\+[0-9a-f]+\])?$`)},

	{topic: Hang, name: lockOwner, has: "is blocked on a", pattern: re(`^INFO: task ` + task + ` is blocked on an? .*owned by task (?P<owner>.{1,64}:\d+)`)},
	{topic: Hang, name: hungTask, has: "blocked for more than", pattern: re(`^INFO: task ` + task + ` blocked (?:in I/O wait )?for more than (?P<seconds>\d+) seconds`)},
	{topic: Hang, name: "soft lockup", has: "soft lockup", pattern: re(`soft lockup - (?P<device>CPU#\d+) stuck for (?P<seconds>\d+)s! \[(?P<process>.{1,64}):(?P<pid>\d+)\]`)},
	{topic: Hang, name: "hard lockup", has: "hard LOCKUP", pattern: re(`hard LOCKUP on (?P<device>cpu \d+)`)},
	{topic: Hang, name: "rcu stall", has: "rcu", pattern: re(`^rcu: INFO: rcu_\w+ (?:detected (?:expedited )?stalls|self-detected stall)`)},
	{topic: Hang, name: "workqueue lockup", has: "workqueue lockup", pattern: re(`^BUG: workqueue lockup`)},

	{topic: Oops, name: "panic", has: "Kernel panic", pattern: re(`^Kernel panic - not syncing`)},
	{topic: Oops, name: "oops", has: ":", pattern: re(`^(?:BUG: (?:kernel NULL pointer dereference|unable to handle)|Oops: |kernel BUG at |general protection fault, probably|Internal error: Oops|Unable to handle kernel)`)},
	{topic: Oops, name: "warning", has: "WARNING: CPU:", pattern: re(`^WARNING: CPU: \d+ PID: (?P<pid>\d+) at `)},
	{topic: Oops, name: "warning", has: "WARNING:", pattern: re(`^WARNING: [^ ]+:\d+ at [^ ]+, CPU#\d+: (?P<process>.{1,64})/(?P<pid>\d+)`)},

	{topic: ReadOnly, name: "remounted", has: "emounting filesystem read-only", pattern: re(`^(?:EXT4|EXT3|EXT2)-fs \((?P<device>[^)]+)\): Remounting filesystem read-only`)},
	{topic: ReadOnly, name: "remounted", has: "forced readonly", pattern: re(`^BTRFS(?: \w+)? \(device (?P<device>[^ )]+)[^)]*\).*forced readonly`)},
	{topic: ReadOnly, name: "shut down", has: "ilesystem", pattern: re(`^XFS \((?P<device>[^)]+)\): .*(?:Filesystem has been shut down|Shutting down filesystem|User initiated shutdown)`)},
	{topic: ReadOnly, name: "remounted", has: "ilesystem", pattern: re(`^(?:FAT-fs|exFAT-fs|F2FS-fs) \((?P<device>[^)]+)\): Filesystem has been set read-only`)},
	{topic: FileSystem, name: "error", has: "-fs error", pattern: re(`^(?:EXT[234]|FAT|exFAT|F2FS)-fs error \(device (?P<device>[^)]+)\)`)},
	{topic: FileSystem, name: "error", has: "FAT-fs (", pattern: re(`^(?:FAT|exFAT)-fs \((?P<device>[^)]+)\): error`)},
	{topic: FileSystem, name: "warning", has: "-fs warning", pattern: re(`^EXT[234]-fs warning \(device (?P<device>[^)]+)\)`)},
	{topic: FileSystem, name: "error", has: "XFS (", pattern: re(`^XFS \((?P<device>[^)]+)\): (?:Metadata (?:corruption|CRC error)|log I/O error|metadata I/O error|Corruption of in-memory data|Internal error)`)},
	{topic: FileSystem, name: "error", has: "BTRFS", pattern: re(`^BTRFS (?:error|critical|warning) \(device (?P<device>[^ )]+)[^)]*\)`)},
	{topic: FileSystem, name: "aborted journal", has: "aborted journal", pattern: re(`^JBD2: Detected aborted journal|Detected aborted journal`)},
	{topic: FileSystem, name: "server is back", has: "nfs: server", good: true, pattern: re(`(?i)^nfs: server (?P<device>[^ ]+) OK`)},
	{topic: FileSystem, name: "server does not answer", has: "nfs: server", pattern: re(`(?i)^nfs: server (?P<device>[^ ]+) not responding`)},
	{topic: FileSystem, name: "server does not answer", has: "has not responded", pattern: re(`CIFS: VFS: (?P<device>[^ ]+) has not responded`)},

	{topic: Disk, name: "i/o error", has: "I/O error, dev", pattern: re(`I/O error, dev (?P<device>[^ ,]+), sector`)},
	{topic: Disk, name: "medium error", has: "error, dev", pattern: re(`critical (?:medium|target|space allocation) error, dev (?P<device>[^ ,]+)`)},
	{topic: Disk, name: "buffer i/o error", has: "Buffer I/O error", pattern: re(`^Buffer I/O error on dev(?:ice)? (?P<device>[^ ,]+)`)},
	{topic: Disk, name: "ata exception", has: "exception Emask", pattern: re(`^(?P<device>ata[\d.]+): exception Emask`)},
	{topic: Disk, name: "ata reset", has: "resetting link", pattern: re(`^(?P<device>ata[\d.]+): (?:hard|soft) resetting link`)},
	{topic: Disk, name: "ata link down", has: "SATA link down", pattern: re(`^(?P<device>ata[\d.]+): SATA link down`)},
	{topic: Disk, name: "scsi failure", has: "FAILED Result", pattern: re(`\[(?P<device>[^\]]+)\] (?:tag#\d+ )?FAILED Result`)},
	{topic: Disk, name: "medium error", has: "Sense Key", pattern: re(`\[(?P<device>[^\]]+)\] (?:tag#\d+ )?Sense Key : (?:Medium|Hardware) Error`)},
	{topic: Disk, name: "nvme timeout", has: "nvme", pattern: re(`^nvme (?P<device>nvme\d+): (?:I/O .* timeout|I/O tag .* timeout|controller is down|Device not ready|Removing after probe failure)`)},
	{topic: Disk, name: "raid failure", has: "Disk failure on", pattern: re(`^md/raid[^:]*:(?P<device>\w+): Disk failure on`)},
	{topic: Disk, name: "device mapper", has: "device-mapper", pattern: re(`^device-mapper: .*(?:error|failed|Failing path)`)},

	{topic: Link, name: "down", has: "ink is ", pattern: re(`(?P<device>[\w.-]+): (?:NIC |carrier |)[Ll]ink is [Dd]own`)},
	{topic: Link, name: "up", has: "ink is ", good: true, pattern: re(`(?P<device>[\w.-]+): (?:NIC |carrier |)[Ll]ink is [Uu]p`)},
	{topic: Link, name: "up", has: "link becomes ready", good: true, pattern: re(`ADDRCONF\(NETDEV_(?:UP|CHANGE)\): (?P<device>[\w.-]+): link becomes ready`)},
	{topic: Link, name: "deauthenticated", has: "deauthenticat", pattern: re(`^(?P<device>[\w.-]+): deauthenticat(?:ed|ing) from `)},
	{topic: Network, name: "transmit timeout", has: "NETDEV WATCHDOG", pattern: re(`NETDEV WATCHDOG: (?P<device>[\w.-]+)(?: \([^)]*\))?: (?:CPU: \d+: )?transmit queue \d+ timed out`)},
	{topic: Network, name: "connection table full", has: "table full, dropping packet", pattern: re(`nf_conntrack: table full, dropping packet`)},
	{topic: Network, name: "syn flood", has: "SYN flooding", pattern: re(`Possible SYN flooding on port (?P<device>[^ ]+?)\. `)},
	{topic: Network, name: "neighbour table full", has: "neighbor table overflow", pattern: re(`^neighbour: .*neighbor table overflow`)},

	{topic: Hardware, name: "machine check", has: "Hardware Error", pattern: re(`\[Hardware Error\]`)},
	{topic: Hardware, name: "machine check", has: "Hardware error from", pattern: re(`Hardware error from`)},
	{topic: Hardware, name: "memory error corrected", has: "EDAC", pattern: re(`^EDAC (?P<device>MC\d+): \d+ CE `)},
	{topic: Hardware, name: "memory error", has: "EDAC", pattern: re(`^EDAC (?P<device>MC\d+): \d+ UE `)},
	{topic: Hardware, name: "pci error", has: "AER: ", pattern: re(`^(?:pcieport|[\w-]+) (?P<device>[0-9a-f:.]+): AER: (?:Corrected|Uncorrect|Multiple)`)},
	{topic: Hardware, name: "dma fault", has: "DMAR: ", pattern: re(`^DMAR: \[DMA .*fault`)},
	{topic: Hardware, name: "over-current", has: "over-current", pattern: re(`(?P<device>usb[\w.-]*): over-current`)},

	{topic: Thermal, name: "throttled", has: "emperature above threshold", pattern: re(`^(?:mce: )?(?P<device>CPU\d+): (?:Core|Package) temperature(?:/speed)? above threshold`)},
	{topic: Thermal, name: "normal", has: "temperature/speed normal", good: true, pattern: re(`^(?:mce: )?(?P<device>CPU\d+): (?:Core|Package) temperature/speed normal`)},
	{topic: Thermal, name: "critical", has: "ritical t", pattern: re(`(?P<device>thermal_zone\d+)?.*[Cc]ritical (?:temperature reached|[Tt]rip point)`)},

	{topic: Graphics, name: "nvidia xid", has: "NVRM: Xid", pattern: re(`^NVRM: Xid \((?:PCI:)?(?P<device>[^)]+)\): \d+(?:, pid=(?P<pid>\d+))?`)},
	{topic: Graphics, name: "ring timeout", has: "ring ", pattern: re(`amdgpu (?P<device>[0-9a-f:.]+): .*ring [\w.]+ timeout`)},
	{topic: Graphics, name: "reset", has: "GPU reset begin", pattern: re(`amdgpu (?P<device>[0-9a-f:.]+): .*GPU reset begin`)},
	{topic: Graphics, name: "hang", has: "GPU HANG", pattern: re(`(?P<device>[0-9a-f]+:[0-9a-f:.]+)?.*GPU HANG: ecode`)},

	{topic: Device, name: "went", has: "USB disconnect", pattern: re(`^usb (?P<device>[\w.-]+): USB disconnect`)},
	{topic: Device, name: "came", has: "USB device", good: true, pattern: re(`^usb (?P<device>[\w.-]+): new [\w+-]+ USB device`)},
}

// set sets the field that a group of a pattern is called after.
func (f *Finding) set(group, text string) {
	if text == "" {
		return
	}
	switch group {
	case "pid":
		f.PID = number32(text)
	case "process":
		f.Process = text
	case "device":
		f.Device = text
	case "file":
		f.File = strings.TrimSpace(text)
	case "owner":
		f.Owner = text
	case "address":
		f.Address = hexadecimal(text)
	case "ip":
		f.Offset = hexadecimal(text)
	case "base":
		// The instruction's place in the mapping. Newer kernels write the place of the mapping in
		// the file before its address, which the pattern passes over.
		f.Offset -= min(f.Offset, hexadecimal(text))
	case "seconds":
		f.Seconds, _ = strconv.ParseFloat(text, 64)
	case "kbytes":
		if n, err := strconv.ParseUint(text, 10, 54); err == nil {
			f.Bytes = n << 10
		}
	}
}

func number32(s string) int32 {
	n, _ := strconv.ParseInt(s, 10, 32)
	return int32(n)
}

func hexadecimal(s string) uint64 {
	n, _ := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
	return n
}
