package linux

import (
	"bytes"
	"time"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// filesystems reads /proc/mounts and asks each mounted file system for its space. It asks only
// local file systems directly: a call to one whose server is dead may never return. A helper
// goroutine asks the others, and Read waits only a moment for it.
type filesystems struct {
	root  string
	file  *file
	group *metric.Group
	count *metric.Group

	mounts  roster[mount]
	key     []byte
	ask     func(path string, s *space) error
	patient time.Duration
	started bool
	events  events
}

type mount struct {
	path     string // below the root directory of the source
	fstype   string
	device   string
	readonly bool
	line     mountLine // of this reading: it points into the table
	remote   *remote   // nil for local file systems
	space    space
	err      error
}

// space is the answer of statfs.
type space struct {
	blockSize, fragmentSize         uint64
	blocks, blocksFree, blocksAvail uint64
	files, filesFree                uint64
}

// Columns of the group with instances.
const (
	fsCapacity = iota
	fsUsed
	fsFree
	fsAvail
	fsFull
	fsBlocksize
	fsMaxfiles
	fsUsedfiles
	fsFreefiles
	fsMountdir
	fsType
	fsReadonly
)

// localTypes are file systems that answer without another machine and without a program in user
// space.
var localTypes = map[string]bool{
	"ext2": true, "ext3": true, "ext4": true, "xfs": true, "btrfs": true, "bcachefs": true, "f2fs": true,
	"zfs": true, "jfs": true, "reiserfs": true, "nilfs2": true, "vfat": true, "msdos": true, "exfat": true,
	"ntfs": true, "ntfs3": true, "hfs": true, "hfsplus": true, "iso9660": true, "udf": true,
	"squashfs": true, "erofs": true, "overlay": true,
}

// remoteTypes are file systems that are worth recording but may hang.
var remoteTypes = map[string]bool{
	"nfs": true, "nfs4": true, "cifs": true, "smb3": true, "ceph": true, "9p": true, "virtiofs": true,
	"afs": true, "glusterfs": true, "lustre": true, "gfs2": true, "ocfs2": true, "fuseblk": true, "fuse.sshfs": true,
}

func newFilesystems(root string) (*filesystems, error) {
	f := &filesystems{
		root: root, file: newFile(root + mountTable(root)), ask: statfs, patient: 100 * time.Millisecond,
		events: events{kind: metric.EventMount, indom: "filesys"},
	}
	return f, f.Refresh()
}

func (f *filesystems) Name() string            { return "filesys" }
func (f *filesystems) Groups() []*metric.Group { return []*metric.Group{f.group, f.count} }
func (f *filesystems) Close() error            { f.file.close(); return nil }

func (f *filesystems) Refresh() error {
	f.group = catalog.Group(catalog.Linux, "filesys",
		"filesys.capacity", "filesys.used", "filesys.free", "filesys.avail", "filesys.full", "filesys.blocksize",
		"filesys.maxfiles", "filesys.usedfiles", "filesys.freefiles", "filesys.mountdir", "filesys.type",
		"filesys.readonly")
	f.count = catalog.Group(catalog.Linux, "filesys total", "hinv.nfilesys")
	if _, err := f.file.read(); err != nil {
		for _, g := range f.Groups() {
			for _, d := range g.Metrics {
				d.Unsupported = lacking("/proc/self/mounts", err)
			}
		}
	}
	return nil
}

// mountLine is a line of /proc/mounts.
type mountLine struct {
	device, dir, fstype, options []byte
}

func parseMount(l []byte) (m mountLine, ok bool) {
	m.device, l = word(l)
	m.dir, l = word(l)
	m.fstype, l = word(l)
	m.options, _ = word(l)
	return m, len(m.options) > 0
}

// unescape decodes the octal escapes that the kernel writes for blanks and backslashes.
func unescape(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && i+3 < len(b) && octal(b[i+1]) && octal(b[i+2]) && octal(b[i+3]) {
			dst = append(dst, (b[i+1]-'0')<<6|(b[i+2]-'0')<<3|(b[i+3]-'0'))
			i += 3
			continue
		}
		dst = append(dst, b[i])
	}
	return dst
}

func octal(c byte) bool { return c >= '0' && c <= '7' }

func (f *filesystems) Read(c *sample.Context, frames []*sample.Frame) error {
	data, err := f.file.read()
	if err != nil {
		return err
	}
	at := c.Now()
	f.events.at = at
	f.mounts.begin()
	for len(data) > 0 {
		var l []byte
		l, data = line(data)
		if m, ok := parseMount(l); ok {
			f.see(m)
		}
	}
	for _, m := range f.mounts.live {
		if m.round == f.mounts.round {
			f.take(c, m)
		}
	}
	for _, m := range f.mounts.live {
		if m.round != f.mounts.round {
			f.events.went(c, &m.in, m.in.Label("device")+" was unmounted from "+m.in.Name)
		}
	}
	f.mounts.end(nil)
	f.started = true

	for _, fr := range frames {
		fr.Reset(at)
		if fr.Full() == f.count {
			fr.SetUint(fr.Row(nil), 0, uint64(len(f.mounts.live)))
			continue
		}
		if fr.Wants(fsCapacity, fsUsed, fsFree, fsAvail, fsFull, fsBlocksize, fsMaxfiles, fsUsedfiles, fsFreefiles) {
			f.askAll()
		}
		for _, m := range f.mounts.live {
			fill(fr, m)
		}
	}
	return nil
}

// see records a line of /proc/mounts. Of several mounts on one directory, programs see the last.
func (f *filesystems) see(l mountLine) {
	local := localTypes[string(l.fstype)]
	if local {
		// A local file system is on a device, or is named after its pool or layers.
		local = len(l.device) > 0 && (l.device[0] == '/' || string(l.fstype) == "zfs" || string(l.fstype) == "overlay")
	}
	local = local || inMemory(l)
	far := remoteTypes[string(l.fstype)]
	if !local && !far {
		return
	}
	f.key = unescape(f.key[:0], l.dir)
	f.mounts.see(f.key).data.line = l
}

// take updates a mount. If another volume has taken its place, that is an unmount followed by a
// mount.
func (f *filesystems) take(c *sample.Context, m *member[mount]) {
	d := &m.data
	l := d.line
	d.readonly, d.line = hasOption(l.options, "ro"), mountLine{}
	if d.fstype == string(l.fstype) && d.device == string(l.device) {
		return
	}
	changed := !m.first
	if changed {
		f.events.went(c, &m.in, m.in.Label("device")+" was unmounted from "+m.in.Name)
	}
	d.fstype, d.device = string(l.fstype), string(l.device)
	d.path = f.root + m.in.Name
	d.remote = nil
	if remoteTypes[d.fstype] {
		d.remote = newRemote(d.path, f.ask)
	}
	m.in.Labels = []metric.Label{{Name: "device", Value: string(unescape(nil, l.device))}, {Name: "type", Value: d.fstype}}
	if changed {
		m.in.Rev++
	}
	f.events.came(c, f.started, &m.in, m.in.Labels[0].Value+" was mounted on "+m.in.Name)
}

// inMemory reports whether a line is a file system in memory that can fill up: /tmp, /run,
// /dev/shm. A read-only one cannot, and one below /proc or /sys only hides a directory.
func inMemory(l mountLine) bool {
	return string(l.fstype) == "tmpfs" && !hasOption(l.options, "ro") && !bytes.HasPrefix(l.dir, procDir) && !bytes.HasPrefix(l.dir, sysDir)
}

var procDir, sysDir = []byte("/proc/"), []byte("/sys/")

func hasOption(options []byte, want string) bool {
	for len(options) > 0 {
		var o []byte
		o, options, _ = bytes.Cut(options, comma)
		if string(o) == want {
			return true
		}
	}
	return false
}

var comma = []byte{','}

// askAll asks every file system. It starts with the remote ones and waits for them last,
// together no longer than a moment.
func (f *filesystems) askAll() {
	far := false
	for _, m := range f.mounts.live {
		if m.data.remote != nil {
			m.data.remote.request()
			far = true
		}
	}
	for _, m := range f.mounts.live {
		if m.data.remote == nil {
			m.data.err = f.ask(m.data.path, &m.data.space)
		}
	}
	if !far {
		return
	}
	timeout := make(chan struct{})
	timer := time.AfterFunc(f.patient, func() { close(timeout) })
	defer timer.Stop()
	for _, m := range f.mounts.live {
		if m.data.remote != nil {
			m.data.space, m.data.err = m.data.remote.answer(timeout)
		}
	}
}

func fill(f *sample.Frame, m *member[mount]) {
	row := f.Row(&m.in)
	d := &m.data
	f.SetString(row, fsMountdir, m.in.Name)
	f.SetString(row, fsType, d.fstype)
	readonly := uint64(0)
	if d.readonly {
		readonly = 1
	}
	f.SetUint(row, fsReadonly, readonly)
	if d.err != nil {
		f.MissRow(row, why(d.err))
		return
	}
	s := &d.space
	unit := s.fragmentSize
	if unit == 0 {
		unit = s.blockSize
	}
	used := s.blocks - min(s.blocksFree, s.blocks)
	f.SetUint(row, fsCapacity, kbytes(s.blocks, unit))
	f.SetUint(row, fsUsed, kbytes(used, unit))
	f.SetUint(row, fsFree, kbytes(s.blocksFree, unit))
	f.SetUint(row, fsAvail, kbytes(s.blocksAvail, unit))
	if usable := used + s.blocksAvail; usable > 0 {
		f.SetFloat(row, fsFull, 100*float64(used)/float64(usable))
	} else {
		f.SetFloat(row, fsFull, 0)
	}
	f.SetUint(row, fsBlocksize, s.blockSize)
	f.SetUint(row, fsMaxfiles, s.files)
	f.SetUint(row, fsUsedfiles, s.files-min(s.filesFree, s.files))
	f.SetUint(row, fsFreefiles, s.filesFree)
}

// kbytes converts blocks of a size to Kbyte; the product itself may exceed 64 bits.
func kbytes(blocks, size uint64) uint64 {
	if size%1024 == 0 {
		return blocks * (size / 1024)
	}
	return blocks/1024*size + blocks%1024*size/1024
}
