package linux

import (
	"bytes"
	"os"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// disks reads /proc/diskstats, which has one line per block device. Only whole devices with
// hardware behind them count. Partitions, loop and RAM devices, and devices built from other
// disks (md, dm) are left out, so that the totals count every request once.
type disks struct {
	root string
	file *file

	per, all *metric.Group
	ndisk    int
	capacity int
	sched    int

	members roster[disk]
	ignored map[string]bool
	total   tally
	nums    []uint64
	sums    []uint64
	started bool
	events  events
}

type disk struct {
	tally     []uint64
	size      *file
	scheduler *file
	policy    string
}

// diskColumn computes a metric from the numbers of a line, numbered from 0: reads, merged,
// sectors, ms; writes, merged, sectors, ms; in flight, busy ms, weighted ms; discards, merged,
// sectors, ms; flushes, ms.
type diskColumn struct {
	name string
	a, b int // fields to add up; -1 for none
	half bool
}

const diskFields = 17

// diskBits are the widths of the fields that the kernel keeps in fewer than 64 bits: the times
// are cut to 32.
var diskBits = [diskFields]uint8{3: 32, 7: 32, 9: 32, 10: 32, 14: 32, 16: 32}

// diskInflight is the only field that is not a counter.
const diskInflight = 8

var diskColumns = []diskColumn{
	{"read", 0, -1, false}, {"write", 4, -1, false}, {"total", 0, 4, false},
	{"blkread", 2, -1, false}, {"blkwrite", 6, -1, false}, {"blktotal", 2, 6, false},
	{"read_bytes", 2, -1, true}, {"write_bytes", 6, -1, true}, {"total_bytes", 2, 6, true},
	{"read_time", 3, -1, false}, {"write_time", 7, -1, false}, {"total_time", 3, 7, false},
	{"total_read_time", 3, -1, false}, {"total_write_time", 7, -1, false},
	{"read_rawactive", 3, -1, false}, {"write_rawactive", 7, -1, false}, {"total_rawactive", 3, 7, false},
	{"read_merge", 1, -1, false}, {"write_merge", 5, -1, false},
	{"inflight", diskInflight, -1, false}, {"avactive", 9, -1, false}, {"aveq", 10, -1, false},
	{"discard", 11, -1, false}, {"discard_merge", 12, -1, false}, {"blkdiscard", 13, -1, false},
	{"discard_bytes", 13, -1, true}, {"discard_rawactive", 14, -1, false},
	{"flush", 15, -1, false}, {"flush_rawactive", 16, -1, false},
}

func (c diskColumn) value(n []uint64) uint64 {
	v := n[c.a]
	if c.b >= 0 {
		v += n[c.b]
	}
	if c.half {
		v /= 2 // sectors of 512 bytes to Kbyte
	}
	return v
}

// cut keeps a sum of two narrow counters as narrow as they are, so that it wraps when they do.
func (c diskColumn) cut(v uint64) uint64 {
	if bits := diskBits[c.a]; bits != 0 {
		return v & (1<<bits - 1)
	}
	return v
}

// known reports whether a line with n fields contains the column.
func (c diskColumn) known(n int) bool { return c.a < n && c.b < n }

func newDisks(root string) (*disks, error) {
	d := &disks{
		root: root, file: newFile(root + "/proc/diskstats"), ignored: make(map[string]bool),
		total: newTally(diskFields), nums: make([]uint64, diskFields), sums: make([]uint64, diskFields),
		events: events{kind: metric.EventDevice, indom: "disk"},
	}
	return d, d.Refresh()
}

func (d *disks) Name() string            { return "disk" }
func (d *disks) Groups() []*metric.Group { return []*metric.Group{d.per, d.all} }

func (d *disks) Close() error {
	d.file.close()
	for _, m := range d.members.live {
		m.data.close()
	}
	return nil
}

func (d *disk) close() {
	d.size.close()
	d.scheduler.close()
}

func (d *disks) Refresh() error {
	var per, all []string
	for _, c := range diskColumns {
		per = append(per, "disk.dev."+c.name)
		all = append(all, "disk.all."+c.name)
	}
	d.capacity, d.sched = len(per), len(per)+1
	d.ndisk = len(all)
	d.per = catalog.Group(catalog.Linux, "disk", append(per, "disk.dev.capacity", "disk.dev.scheduler")...)
	d.all = catalog.Group(catalog.Linux, "disk total", append(all, "hinv.ndisk")...)
	clear(d.ignored)

	data, err := d.file.read()
	if err != nil {
		for _, g := range d.Groups() {
			for _, m := range g.Metrics {
				m.Unsupported = lacking("/proc/diskstats", err)
			}
		}
		return nil
	}
	// Older kernels have fewer fields, the same for every device.
	if l, _ := line(data); len(l) > 0 {
		n := words(skip(l, 3), d.nums)
		for i, c := range diskColumns {
			if !c.known(n) {
				d.per.Metrics[i].Unsupported = "this kernel does not count it"
				d.all.Metrics[i].Unsupported = "this kernel does not count it"
			}
		}
	}
	return nil
}

func (d *disks) Read(c *sample.Context, frames []*sample.Frame) error {
	data, err := d.file.read()
	if err != nil {
		return err
	}
	at := c.Now()
	d.events.at = at
	for _, f := range frames {
		f.Reset(at)
	}
	d.members.begin()
	d.total.begin()
	clear(d.sums)
	inflight := uint64(0)
	for len(data) > 0 {
		var l []byte
		l, data = line(data)
		name, l := word(skip(l, 2))
		if len(name) == 0 || !d.whole(name) {
			continue
		}
		clear(d.nums)
		n := words(l, d.nums)
		m := d.members.see(name)
		if m.first {
			d.meet(m)
			d.events.came(c, d.started, &m.in, "disk "+m.in.Name+" appeared")
		}
		for _, f := range frames {
			if f.Full() == d.per {
				d.fill(f, m, n)
			}
		}
		inflight += d.nums[diskInflight]
		d.nums[diskInflight] = 0
		d.total.add(&m.data.tally, d.nums, diskBits[:])
	}
	for _, m := range d.members.live {
		if m.round != d.members.round {
			d.total.drop(m.data.tally)
			m.data.close()
			d.events.went(c, &m.in, "disk "+m.in.Name+" went away")
		}
	}
	d.members.end(nil)
	d.started = true
	for _, f := range frames {
		if f.Full() != d.all {
			continue
		}
		row := f.Row(nil)
		copy(d.sums, d.total.sum)
		d.sums[diskInflight] = inflight
		for i, c := range diskColumns {
			if len(d.members.live) == 0 {
				// A sum from earlier readings is not a current value.
				f.SetMissing(row, i, whyNoDisk)
			} else {
				f.SetUint(row, i, c.value(d.sums))
			}
		}
		f.SetUint(row, d.ndisk, uint64(len(d.members.live)))
	}
	return nil
}

var whyNoDisk = metric.ReasonFor("there is no disk")

func (d *disks) fill(f *sample.Frame, m *member[disk], n int) {
	row := f.Row(&m.in)
	for i, c := range diskColumns {
		if c.known(n) {
			f.SetUint(row, i, c.cut(c.value(d.nums)))
		} else {
			f.SetMissing(row, i, metric.Unsupported)
		}
	}
	if f.Wants(d.capacity) {
		data, err := m.data.size.read()
		w, _ := word(data)
		if v, ok := unsigned(w); ok && err == nil {
			f.SetUint(row, d.capacity, v/2)
		} else {
			f.SetMissing(row, d.capacity, why(err))
		}
	}
	if f.Wants(d.sched) {
		data, err := m.data.scheduler.read()
		if policy := chosen(data); err == nil && len(policy) > 0 {
			if m.data.policy != string(policy) {
				m.data.policy = string(policy)
			}
			f.SetString(row, d.sched, m.data.policy)
		} else {
			f.SetMissing(row, d.sched, why(err))
		}
	}
}

// chosen returns the word in brackets: "none [mq-deadline]".
func chosen(b []byte) []byte {
	if i := bytes.IndexByte(b, '['); i >= 0 {
		if j := bytes.IndexByte(b[i:], ']'); j > 0 {
			return b[i+1 : i+j]
		}
	}
	w, _ := word(b)
	return w
}

// meet opens the files of a new disk and reads its labels.
func (d *disks) meet(m *member[disk]) {
	dir := d.sysfs(m.in.Name)
	m.data.size = newFile(dir + "/size")
	m.data.scheduler = newFile(dir + "/queue/scheduler")
	for _, l := range [...]struct{ label, file string }{
		{"model", "/device/model"}, {"vendor", "/device/vendor"}, {"rotational", "/queue/rotational"}, {"removable", "/removable"},
	} {
		data, err := os.ReadFile(dir + l.file)
		if v := strings.TrimSpace(string(data)); err == nil && v != "" {
			m.in.Labels = append(m.in.Labels, metric.Label{Name: l.label, Value: v})
		}
	}
}

// sysfs is the directory of a block device, where exclamation marks replace slashes in names.
func (d *disks) sysfs(name string) string {
	return d.root + "/sys/block/" + strings.ReplaceAll(name, "/", "!")
}

// whole reports whether a block device counts. It remembers a negative answer until the next
// Refresh.
func (d *disks) whole(name []byte) bool {
	if _, known := d.members.members[string(name)]; known {
		return true
	}
	if d.ignored[string(name)] {
		return false
	}
	s := string(name)
	if layered(s) || !d.isDisk(s) {
		d.ignored[s] = true
		return false
	}
	return true
}

// layered reports whether a device has no hardware of its own.
func layered(name string) bool {
	for _, prefix := range [...]string{"loop", "ram", "zram", "md", "dm-", "nbd", "drbd", "fd"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && (rest == "" || rest[0] >= '0' && rest[0] <= '9' || rest[0] == '_') {
			return true
		}
	}
	return false
}

// isDisk distinguishes whole devices from partitions: only a whole device has a directory in
// /sys/block. Without /sys it decides by the name.
func (d *disks) isDisk(name string) bool {
	if _, err := os.Stat(d.sysfs(name)); err == nil {
		return true
	}
	if _, err := os.Stat(d.root + "/sys/block"); err == nil {
		return false
	}
	last := name[len(name)-1]
	if last < '0' || last > '9' {
		return true
	}
	stem := strings.TrimRight(name, "0123456789")
	if strings.HasPrefix(name, "nvme") || strings.HasPrefix(name, "mmcblk") {
		return !strings.HasSuffix(stem, "p")
	}
	return strings.HasPrefix(name, "sr")
}
