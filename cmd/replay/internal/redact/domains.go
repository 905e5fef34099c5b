package redact

import (
	"regexp"
	"strings"
	"sync"

	"tachograph/sample/metric"
	"tachograph/sample/stack"
)

// domainMap maps an instance of a domain. The result need not have an ID and revision.
type domainMap func(m *Mapping, in *metric.Instance) *metric.Instance

// domains has the map of every known instance domain. The names in any other domain are all
// hidden.
var domains = map[string]domainMap{
	"process": (*Mapping).processInstance,
	"thread":  (*Mapping).threadInstance,
	"filesys": (*Mapping).filesysInstance,
	"disk":    (*Mapping).diskInstance,
	"cgroup":  (*Mapping).groupInstance,
	"owner":   (*Mapping).ownerInstance,

	"coalition": (*Mapping).coalitionInstance,

	"connection": (*Mapping).connectionInstance,
	"listener":   (*Mapping).listenerInstance,

	"cgroup disk": (*Mapping).groupDiskInstance,

	stack.DomainStack: (*Mapping).stackInstance,
	stack.DomainFrame: (*Mapping).frameInstance,
	stack.DomainImage: (*Mapping).imageInstance,

	// Named by the kernel, in a fixed form.
	"interface":      instancesLike(interfaceNames, anIface, labelsOfDevices),
	"gpu":            instancesLike(pattern(`(card|gpu)\d+|(IntelAccelerator|AGX\w*|AMD\w*|NV\w*|IOAccelerator\w*)( \d+)?`), aDevice, labelsOfDevices),
	"fan":            instancesLike(pattern(`fan ?\d+|[a-z0-9_]+ (hwmon\d+ )?fan\d+|\d+`), aDevice, labelsOfDevices),
	"package":        instancesLike(pattern(`\d+(:\d+)*|(package-\d+(-die-\d+)?|psys|core|uncore|dram)( (core|uncore|dram))?`), anInstance, nil),
	"apfs volume":    instancesLike(pattern(`disk\d+(s\d+)*|volume\d+`), aVolume, nil),
	"apfs container": instancesLike(pattern(`container\d+`), aVolume, nil),
	"cpu":            instancesLike(pattern(`cpu\d+`), anInstance, labelsOfDevices),

	metric.DomainReport: (*Mapping).reportInstance,

	// The recorder's own words.
	"load":        instancesLike(pattern(`\d+ minute`), anInstance, nil),
	"pressure":    instancesLike(pattern(`\d+ (second|minute)`), anInstance, nil),
	"field":       instancesLike(pattern(`total|avail|used|hz|tick|tickadj|profhz|stathz`), anInstance, nil),
	"cache level": instancesLike(pattern(`\d`), anInstance, nil),
	"nfs3 op":     instancesLike(pattern(`[a-z]+\+?`), anInstance, nil),
	"class":       instancesLike(isClass, anInstance, nil),
	"source":      instancesLike(ownWords, anInstance, nil),
}

func (m *Mapping) domain(indom string) domainMap {
	if f := domains[indom]; f != nil {
		return f
	}
	return instancesLike(func(string) bool { return false }, anInstance, nil)
}

// instancesLike returns the map of a domain whose names stay if looks accepts them.
func instancesLike(looks func(string) bool, k kind, labels map[string]labelMap) domainMap {
	return func(m *Mapping, in *metric.Instance) *metric.Instance {
		return &metric.Instance{Key: m.shaped(looks, k, in.Key), Name: m.shaped(looks, k, in.Name), Labels: m.labelled(in.Labels, labels)}
	}
}

// pattern returns a function that reports whether a regular expression matches a whole text.
func pattern(expr string) func(string) bool {
	re := regular(`^(?:` + expr + `)$`)
	return func(s string) bool { return re().MatchString(s) }
}

// regular returns a regular expression that is compiled on first use: compiling all of them
// takes longer than many a query of an archive.
func regular(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// interfaceNames are the names that kernels and their drivers number. Names that contain a
// hardware address (enx0011...) or the identity of a network (br-6f1c...) are not among them.
var interfaceNames = pattern(`(lo|en|eth|wlan|wl|ww|awdl|llw|utun|ipsec|bridge|gif|stf|anpi|ap|p2p|fw|vlan|XHC|pktap|feth|ppp|` +
	`bond|team|tun|tap|wg|dummy|ifb|docker|virbr|sit|ip6tnl|tunl|gre|erspan|vmnet|vboxnet|vmenet|rmnet|usb|ib)\d*` +
	`|(gre|gretap|erspan|sit|ip6gre|tunl|ip6tnl|ip_vti|ip6_vti)\d+|en(p\d+)?(s|o|f)\d+(f\d+|np\d+|d\d+)*|wlp\d+s\d+(f\d+)?|wlo\d+|virbr\d+-nic|cni\d+|interface \d+`)

var diskNames = pattern(`disk\d+(s\d+)*|(sd|hd|vd|xvd|ubd)[a-z]+\d*|nvme\d+(c\d+)?n\d+(p\d+)?|mmcblk\d+(p\d+|boot\d)?|(sr|fd|md|dm-|loop|zram|ram|nbd|zd|pmem|dasd[a-z]+)\d+(p\d+)?`)

// onlyNumbers matches the keys of processes and threads: PIDs, and start times.
var onlyNumbers = pattern(`[0-9]+([ /.@:-][0-9]+)*`)

func (m *Mapping) numberKey(s string) string { return m.shaped(onlyNumbers, anInstance, s) }

// processName maps "001234 Safari".
func (m *Mapping) processName(s string) string {
	number, rest, ok := numbered(s)
	if !ok {
		return m.process(s)
	}
	return number + " " + m.process(rest)
}

func (m *Mapping) processInstance(in *metric.Instance) *metric.Instance {
	return &metric.Instance{Key: m.numberKey(in.Key), Name: m.processName(in.Name), Labels: m.labelled(in.Labels, labelsOfProcesses)}
}

func (m *Mapping) threadInstance(in *metric.Instance) *metric.Instance {
	called := m.thread(in.Name)
	if number, rest, ok := numbered(in.Name); ok {
		called = number + " " + m.thread(rest)
	}
	return &metric.Instance{Key: m.numberKey(in.Key), Name: called, Labels: m.labelled(in.Labels, labelsOfProcesses)}
}

func (m *Mapping) filesysInstance(in *metric.Instance) *metric.Instance {
	return &metric.Instance{Key: m.mountPoint(in.Key), Name: m.mountPoint(in.Name), Labels: m.labelled(in.Labels, labelsOfMounts)}
}

// coalitionInstance maps a coalition, which has the name of its app, its service or its oldest
// process.
func (m *Mapping) coalitionInstance(in *metric.Instance) *metric.Instance {
	out := &metric.Instance{Key: m.numberKey(in.Key), Labels: m.labelled(in.Labels, labelsOfCoalitions)}
	if _, out.Name = out.MainOwner(); out.Name == "" && nameless(in.Name) {
		out.Name = in.Name
	} else if out.Name == "" {
		out.Name = m.process(in.Name)
	}
	return out
}

// nameless are the names of coalitions of which no process was met.
var nameless = pattern(`coalition \d+`)

// groupNames are parts of control group paths that exist on every machine.
var groupNames = pattern(`(system|user|machine|app|session|background|kubepods|kubepods-burstable|kubepods-besteffort)\.slice|init\.scope|session-c?\d+\.scope|` +
	`kubepods|burstable|besteffort|docker|lxc|`)

// unitEnds are the suffixes of systemd's unit names.
var unitEnds = []string{".service", ".scope", ".slice", ".socket", ".mount", ".swap"}

// groupInstance maps a control group. Its path has the names of services, containers and users
// in it.
func (m *Mapping) groupInstance(in *metric.Instance) *metric.Instance {
	return &metric.Instance{Key: m.groupPath(in.Key), Name: m.groupPath(in.Name), Labels: m.labelled(in.Labels, labelsOfGroups)}
}

// groupDiskInstance maps what a control group does with a disk: PATH::DISK.
func (m *Mapping) groupDiskInstance(in *metric.Instance) *metric.Instance {
	both := func(s string) string {
		i := strings.LastIndex(s, "::")
		if i < 0 {
			return m.groupPath(s)
		}
		return m.groupPath(s[:i]) + "::" + m.groupDisk(s[i+2:])
	}
	return &metric.Instance{Key: both(in.Key), Name: both(in.Name), Labels: m.labelled(in.Labels, labelsOfGroups)}
}

// groupDisk maps the disk of a control group: its name, or its numbers where it has none.
func (m *Mapping) groupDisk(s string) string {
	return m.shaped(func(s string) bool { return diskNames(s) || diskNumbers(s) }, aDevice, s)
}

var diskNumbers = pattern(`\d+:\d+`)

func (m *Mapping) groupPath(s string) string {
	parts := strings.Split(s, "/")
	for i, part := range parts {
		parts[i] = m.unit(part)
	}
	return strings.Join(parts, "/")
}

// diskInstance maps a disk. On a Mac the model is part of its key.
func (m *Mapping) diskInstance(in *metric.Instance) *metric.Instance {
	key := m.shaped(diskNames, aDevice, in.Key)
	if device, model, ok := strings.Cut(in.Key, " "); ok && device == in.Name {
		key = m.shaped(diskNames, aDevice, device)
		if model != "" {
			key += " " + m.model(model)
		}
	}
	return &metric.Instance{Key: key, Name: m.shaped(diskNames, aDevice, in.Name), Labels: m.labelled(in.Labels, labelsOfDevices)}
}

// Labels of instances.
var (
	labelsOfProcesses = withOwners(map[string]labelMap{
		"pid": digits, "tid": digits, "start": times, "parent": numberKeys, "process": numberKeys,
		"uid": ids, "gid": ids, "exe": paths,
	})
	labelsOfGroups = withOwners(map[string]labelMap{
		"inner":  like(pattern(`yes`)),
		"device": func(m *Mapping, s string) (string, bool) { return m.groupDisk(s), true },
	})
	labelsOfCoalitions = withOwners(map[string]labelMap{"id": digits, "start": times})
	labelsOfMounts     = map[string]labelMap{
		"device": func(m *Mapping, s string) (string, bool) { return m.device(s), true },
		"type":   func(m *Mapping, s string) (string, bool) { return m.fsType(s), true },
	}
	labelsOfDevices = map[string]labelMap{
		"model":  func(m *Mapping, s string) (string, bool) { return m.model(s), true },
		"vendor": func(m *Mapping, s string) (string, bool) { return m.model(s), true },
		"label":  func(m *Mapping, s string) (string, bool) { return m.sentence(s), true },
		"driver": like(pattern(`[a-z][a-z0-9_-]{0,20}`)), "kind": like(pattern(`physical|virtual|loopback`)),
		"index": digits, "type": digits, "package": digits, "core": digits, "cluster": digits,
		"rotational": digits, "removable": digits, "level": like(pattern(`[A-Za-z]{1,16}`)),
	}
)

func digits(_ *Mapping, s string) (string, bool) { return s, isDigits(s) }

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

var times = like(pattern(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`))

func numberKeys(m *Mapping, s string) (string, bool) { return m.numberKey(s), true }

func ids(m *Mapping, s string) (string, bool) { return m.idText(s) }

func paths(m *Mapping, s string) (string, bool) { return m.path(s), true }

// like keeps a label that looks accepts, and drops others.
func like(looks func(string) bool) labelMap {
	return func(_ *Mapping, s string) (string, bool) { return s, looks(s) }
}

// makers match models of disks and graphics processors as their makers write them. Another model
// may have been chosen by a person, as those of virtual disks are.
var makers = pattern(`(?i)(APPLE|Samsung|SAMSUNG|WDC?|Western Digital|ST\d|TOSHIBA|KIOXIA|INTEL|Micron|Crucial|CT\d|SanDisk|Seagate|HITACHI|HGST|SK ?hynix|KINGSTON|` +
	`QEMU|VMware|VBOX|Msft|Amazon|Google|PersistentDisk|Virtio|ATA|NVMe|LITEON|PLEXTOR|Corsair|ADATA|Lexar|Phison|Maxtor|Fujitsu|DELL|HPE?|LSI|MegaRAID|AMD|Radeon|NVIDIA|GeForce|IntelAccelerator|AGX)[A-Za-z0-9 ._()/-]{0,40}`)

// model maps the model that a device reports.
func (m *Mapping) model(s string) string { return m.shaped(makers, aModel, s) }

func isClass(s string) bool {
	_, err := metric.ParseClass(s)
	return err == nil
}
