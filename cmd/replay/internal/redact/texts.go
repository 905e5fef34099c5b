package redact

import (
	"strings"
	"sync"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// textMap maps the values of a text metric; if keep is false, the value is dropped.
type textMap func(m *Mapping, s string) (mapped string, keep bool)

// texts has the map of every known text metric. The values of others are dropped.
var texts = map[string]textMap{
	"kern.hostname": hosts, "kernel.uname.nodename": hosts,

	"proc.id.uid_nm": users, "proc.id.euid_nm": users, "proc.id.suid_nm": users,
	"proc.id.gid_nm": groups, "proc.id.egid_nm": groups,
	"proc.psinfo.cmd":     func(m *Mapping, s string) (string, bool) { return m.process(s), true },
	"proc.psinfo.exe":     textPath,
	"proc.psinfo.cwd":     textPath,
	"proc.psinfo.psargs":  dropped,
	"proc.psinfo.sname":   looksLike(`[A-Za-z?]{1,2}`),
	"proc.psinfo.ttyname": looksLike(`\??|-|` + terminalNames),
	"proc.psinfo.wchan_s": looksLike(`[A-Za-z0-9_.-]*`),
	"proc.psinfo.wmesg_s": looksLike(`[A-Za-z0-9_.-]*`),
	"proc.psinfo.cgroups": func(m *Mapping, s string) (string, bool) { return m.groupPath(s), true },
	"thread.name":         func(m *Mapping, s string) (string, bool) { return m.thread(s), true },
	"thread.sname":        looksLike(`[A-Za-z?]{1,2}`),

	"proc.id.container": textMap(owners[metric.OwnerContainer]), "proc.owner.container": textMap(owners[metric.OwnerContainer]),
	"proc.owner.app": app, "proc.owner.service": service, "proc.owner.pod": pod, "proc.owner.session": session,
	"proc.owner.bundle":  bundle,
	"proc.owner.team":    func(m *Mapping, s string) (string, bool) { return m.learn(aName, s), true },
	"proc.owner.version": looksLike(`\d[A-Za-z0-9.+~ ()-]{0,40}`),

	"filesys.mountdir":   func(m *Mapping, s string) (string, bool) { return m.mountPoint(s), true },
	"filesys.type":       func(m *Mapping, s string) (string, bool) { return m.fsType(s), true },
	"vm.swapfileprefix":  textPath,
	"disk.dev.scheduler": looksLike(`|none|noop|(mq-)?deadline|kyber|bfq|cfq|adios`),

	"kern.bootuuid": uuids, "kern.uuid": uuids, "kern.bootsessionuuid": uuids,
	"kern.bootargs": dropped,

	metric.ReportText: dropped,

	// What the machine and its system are: the same on all machines of that kind.
	"hinv.machine": systems, "hinv.cpu.model_name": systems, "hinv.cpu.vendor": systems,
	"hw.model": systems, "hw.machine": systems, "hw.product": systems, "hw.target": systems, "hw.targettype": systems,
	"hw.perflevel0.name": systems, "hw.perflevel1.name": systems,
	"machdep.cpu.brand_string": systems, "machdep.cpu.vendor": systems, "machdep.cpu.features": systems,
	"machdep.cpu.leaf7_features": systems, "machdep.cpu.extfeatures": systems,
	"kern.iossupportversion": systems, "kern.osproductversion": systems, "kern.osproductversioncompat": systems,
	"kern.osrelease": systems, "kern.osreleasetype": systems, "kern.ostype": systems, "kern.osversion": systems,
	"kern.sched": systems, "kern.version": systems,
	"kernel.uname.distro": systems, "kernel.uname.machine": systems, "kernel.uname.release": systems,
	"kernel.uname.sysname": systems, "kernel.uname.version": systems, "pmda.uname": unames,
	"pmda.version": systems, "platform": systems,
	"network.interface.bytes_source": looksLike(`counter|connections`),
	"network.interface.duplex":       looksLike(`|full|half|unknown`),

	"network.persocket.src": endpoints, "network.persocket.dst": endpoints,
	"network.persocket.process":    textMap(numberKeys),
	"network.persocket.netid":      textMap(like(protocols)),
	"network.persocket.state":      looksLike(`[A-Z][A-Z0-9-]{1,11}`),
	"network.persocket.congestion": looksLike(`[a-z][a-z0-9_-]{0,15}`),

	"power.source":           looksLike(`(AC|Battery|UPS) Power|(?i:ac|battery|ups|off ?line|mains)`),
	"thermal.pressure.state": looksLike(`(?i:nominal|fair|light|moderate|serious|heavy|critical|trapping|sleeping)`),
	"kern.shutdownreason":    sentences,
	"kern.wakereason":        sentences,
	"kern.corefile":          textPath,
}

// terminalNames match what kernels call terminals.
const terminalNames = `pts/\d+|vc/\d+|tty([A-Z]{1,4}|s|p|v)?\d{0,4}|console|hvc\d+|cu\.[a-z]{1,6}\d*`

// recorded returns the metric from which a metric of steps was made (reduced.max.NAME), or the
// metric itself.
func recorded(name string) string {
	if rest, ok := strings.CutPrefix(name, "reduced."); ok {
		if _, of, ok := strings.Cut(rest, "."); ok {
			return of
		}
	}
	return name
}

func (m *Mapping) textOf(metric string) textMap {
	if f := texts[recorded(metric)]; f != nil {
		return f
	}
	return dropped
}

func hosts(m *Mapping, s string) (string, bool)     { return m.host(s), true }
func users(m *Mapping, s string) (string, bool)     { return m.user(s), true }
func groups(m *Mapping, s string) (string, bool)    { return m.group(s), true }
func textPath(m *Mapping, s string) (string, bool)  { return m.path(s), true }
func sentences(m *Mapping, s string) (string, bool) { return m.sentence(s), true }
func dropped(*Mapping, string) (string, bool)       { return "", false }
func systems(m *Mapping, s string) (string, bool)   { return m.known(s), true }
func uuids(m *Mapping, s string) (string, bool)     { return m.names.of(aUUID, strings.ToLower(s)), true }

// unames maps "SYSTEM HOST RELEASE ...".
func unames(m *Mapping, s string) (string, bool) {
	system, rest, _ := strings.Cut(s, " ")
	host, rest, ok := strings.Cut(rest, " ")
	if !ok {
		return m.sentence(s), true
	}
	return m.known(system) + " " + m.host(host) + " " + m.known(rest), true
}

// fsTypes are the names of the kernels' own file systems, and of other common ones.
var fsTypes = pattern(`ext[234]|xfs|btrfs|bcachefs|f2fs|zfs|jfs|reiserfs|nilfs2|vfat|msdos|exfat|ntfs3?|hfs(plus)?|iso9660|udf|squashfs|erofs|overlay|cd9660|` +
	`nfs4?|cifs|smb3|smbfs|ceph|9p|virtiofs|afs|afpfs|webdav|glusterfs|lustre|gfs2|ocfs2|fuse|fuseblk|fuse\.(sshfs|rclone|gvfsd-fuse|portal|lxcfs|s3fs|mergerfs)|apfs|devfs|autofs|tmpfs|devtmpfs|nullfs|lifs|macfuse|osxfuse|ufs|ftp`)

func (m *Mapping) fsType(s string) string { return m.shaped(fsTypes, aName, s) }

// looksLike keeps texts that match expr, and drops the others.
func looksLike(expr string) textMap {
	looks := pattern(expr)
	return func(m *Mapping, s string) (string, bool) { return s, looks(s) }
}

// numberMap says what a number means.
type numberMap uint8

const (
	numberAsIs      numberMap = iota
	numberOfAccount           // of a user or a group
	numberDropped
)

// numbers are the numeric metrics that may identify a person or machine. All others stay.
var numbers = map[string]numberMap{
	"proc.id.uid": numberOfAccount, "proc.id.euid": numberOfAccount, "proc.id.suid": numberOfAccount,
	"proc.id.gid": numberOfAccount, "proc.id.egid": numberOfAccount, "proc.id.sgid": numberOfAccount,
	"proc.id.fsuid": numberOfAccount, "proc.id.fsgid": numberOfAccount, "proc.id.sgid_nm": numberOfAccount,
	"network.persocket.uid": numberOfAccount,

	"kern.hostid": numberDropped,
}

var described = sync.OnceValue(func() map[string]bool {
	names := make(map[string]bool)
	for _, p := range catalog.Platforms {
		for _, d := range catalog.For(p) {
			names[d.Name] = true
		}
	}
	return names
})

// dropsNumber reports whether the values of a metric without a description may identify a
// machine.
func dropsNumber(name string) bool {
	return !described()[name] && catalog.Telltale(name)
}

// catalogued returns the catalogue's description of a metric from the same source.
func catalogued(name, source string) *metric.Desc {
	for _, p := range catalog.Platforms {
		if row := catalog.Find(p, name); row != nil && row.Source == source {
			return row
		}
	}
	return nil
}

// sameAsCatalogue reports whether a description has no text that the catalogue does not have.
func sameAsCatalogue(d *metric.Desc) bool {
	row := catalogued(d.Name, d.Source)
	return row != nil && row.Help == d.Help && row.LongHelp == d.LongHelp && (d.Unsupported == "" || row.Unsupported == d.Unsupported)
}
