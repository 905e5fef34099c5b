package linux

import (
	"bytes"
	"os"
	"regexp"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// netdev reads /proc/net/dev and the files of each interface in /sys/class/net. It records the
// interfaces that containers make and drop by the minute, but emits no events about them.
type netdev struct {
	root string
	file *file

	per, all *metric.Group
	attrs    int // first column of per that comes from /sys
	ninter   int

	members roster[netif]
	total   tally
	nums    []uint64
	started bool
	events  events
}

type netif struct {
	tally  []uint64
	counts bool // in the totals and in events
	attr   [len(netAttrs)]*file
	duplex string
}

const netFields = 16

// Indexes of the columns of /proc/net/dev, from 0.
const (
	inBytes = iota
	inPackets
	inErrors
	inDrops
	inFifo
	inFrame
	inCompressed
	inMcasts
	outBytes
	outPackets
	outErrors
	outDrops
	outFifo
	outCollisions
	outCarrier
	outCompressed
)

// netColumn is a metric that is one field, or the sum of two.
type netColumn struct {
	name string
	a, b int
}

var netColumns = []netColumn{
	{"in.bytes", inBytes, -1}, {"in.packets", inPackets, -1}, {"in.errors", inErrors, -1}, {"in.drops", inDrops, -1},
	{"out.bytes", outBytes, -1}, {"out.packets", outPackets, -1}, {"out.errors", outErrors, -1}, {"out.drops", outDrops, -1},
	{"total.bytes", inBytes, outBytes}, {"total.packets", inPackets, outPackets},
	{"total.errors", inErrors, outErrors}, {"total.drops", inDrops, outDrops},
	// The others have no total over all interfaces.
	{"in.fifo", inFifo, -1}, {"in.frame", inFrame, -1}, {"in.compressed", inCompressed, -1}, {"in.mcasts", inMcasts, -1},
	{"out.fifo", outFifo, -1}, {"out.carrier", outCarrier, -1}, {"out.compressed", outCompressed, -1},
	{"collisions", outCollisions, -1}, {"total.mcasts", inMcasts, -1},
}

// netTotals is how many of netColumns have a total over all interfaces.
const netTotals = 12

func (c netColumn) value(n []uint64) uint64 {
	v := n[c.a]
	if c.b >= 0 {
		v += n[c.b]
	}
	return v
}

// netAttrs are the files of an interface in /sys/class/net.
var netAttrs = [...]struct{ metric, file string }{
	{"mtu", "mtu"}, {"baudrate", "speed"}, {"up", "flags"}, {"running", "operstate"}, {"type", "type"},
	{"duplex", "duplex"},
}

const (
	attrMTU = iota
	attrSpeed
	attrFlags
	attrState
	attrType
	attrDuplex
)

// notCounted are interfaces whose traffic also passes another one, or never leaves the host: in
// the totals it would count twice.
var notCounted = regexp.MustCompile(`^(lo|dummy\d+|ifb\d+|bond\d+|team\d+|tun\d+|tap\d+|br-.*|virbr\d+(-nic)?|cni\d+|cni-podman\d+|docker\d+|veth.*|cali.*|flannel.*|lxc.*)$`)

func newNetdev(root string) (*netdev, error) {
	n := &netdev{
		root: root, file: newFile(root + "/proc/net/dev"), total: newTally(netFields), nums: make([]uint64, netFields),
		events: events{kind: metric.EventDevice, indom: "interface"},
	}
	return n, n.Refresh()
}

func (n *netdev) Name() string            { return "interface" }
func (n *netdev) Groups() []*metric.Group { return []*metric.Group{n.per, n.all} }

func (n *netdev) Close() error {
	n.file.close()
	for _, m := range n.members.live {
		m.data.close()
	}
	return nil
}

func (i *netif) close() {
	for _, f := range i.attr {
		f.close()
	}
}

func (n *netdev) Refresh() error {
	var per, all []string
	for i, c := range netColumns {
		per = append(per, "network.interface."+c.name)
		if i < netTotals {
			all = append(all, "network.all."+c.name)
		}
	}
	n.attrs, n.ninter = len(per), len(all)
	for _, a := range netAttrs {
		per = append(per, "network.interface."+a.metric)
	}
	per = append(per, "network.interface.virtual", "network.interface.operational")
	n.per = catalog.Group(catalog.Linux, "interface", per...)
	n.all = catalog.Group(catalog.Linux, "interface total", append(all, "hinv.ninterface")...)
	if _, err := n.file.read(); err != nil {
		for _, g := range n.Groups() {
			for _, d := range g.Metrics {
				d.Unsupported = lacking("/proc/net/dev", err)
			}
		}
		return nil
	}
	if _, err := os.Stat(n.root + "/sys/class/net"); err != nil {
		for _, d := range n.per.Metrics[n.attrs:] {
			d.Unsupported = lacking("/sys/class/net", err)
		}
	}
	return nil
}

// netLine parses a line of /proc/net/dev; headings have no colon.
func netLine(l []byte, nums []uint64) (name []byte, ok bool) {
	i := bytes.LastIndexByte(l, ':')
	if i < 0 {
		return nil, false
	}
	name, _ = word(l[:i])
	return name, len(name) > 0 && words(l[i+1:], nums) == netFields
}

func (n *netdev) Read(c *sample.Context, frames []*sample.Frame) error {
	data, err := n.file.read()
	if err != nil {
		return err
	}
	at := c.Now()
	n.events.at = at
	for _, f := range frames {
		f.Reset(at)
	}
	n.members.begin()
	n.total.begin()
	for len(data) > 0 {
		var l []byte
		l, data = line(data)
		name, ok := netLine(l, n.nums)
		if !ok {
			continue
		}
		m := n.members.see(name)
		if m.first {
			n.meet(m)
			if m.data.counts {
				n.events.came(c, n.started, &m.in, "interface "+m.in.Name+" appeared")
			}
		}
		if m.data.counts {
			n.total.add(&m.data.tally, n.nums, noBits[:])
		}
		for _, f := range frames {
			if f.Full() == n.per {
				n.fill(f, m)
			}
		}
	}
	for _, m := range n.members.live {
		if m.round != n.members.round {
			n.total.drop(m.data.tally)
			m.data.close()
			if m.data.counts {
				n.events.went(c, &m.in, "interface "+m.in.Name+" went away")
			}
		}
	}
	n.members.end(nil)
	n.started = true
	for _, f := range frames {
		if f.Full() == n.all {
			row := f.Row(nil)
			for i, col := range netColumns[:netTotals] {
				f.SetUint(row, i, col.value(n.total.sum))
			}
			f.SetUint(row, n.ninter, uint64(len(n.members.live)))
		}
	}
	return nil
}

var noBits [netFields]uint8

func (n *netdev) meet(m *member[netif]) {
	dir := n.root + "/sys/class/net/" + m.in.Name + "/"
	for i, a := range netAttrs {
		m.data.attr[i] = newFile(dir + a.file)
	}
	m.data.counts = !notCounted.MatchString(m.in.Name)
	kind := "virtual"
	if m.in.Name == "lo" {
		kind = "loopback"
	} else if _, err := os.Stat(dir + "device"); err == nil {
		kind = "physical"
	}
	m.in.Labels = []metric.Label{{Name: "kind", Value: kind}}
	if driver, err := os.Readlink(dir + "device/driver"); err == nil {
		m.in.Labels = append(m.in.Labels, metric.Label{Name: "driver", Value: driver[lastSlash(driver)+1:]})
	}
}

func lastSlash(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '/' {
			return i
		}
	}
	return -1
}

func (n *netdev) fill(f *sample.Frame, m *member[netif]) {
	row := f.Row(&m.in)
	for i, c := range netColumns {
		f.SetUint(row, i, c.value(n.nums))
	}
	for i := range netAttrs {
		if f.Wants(n.attrs+i) || i == attrState && f.Wants(n.operational()) {
			n.fillAttr(f, row, i, &m.data)
		}
	}
	virtual := uint64(1)
	if m.in.Labels[0].Value == "physical" {
		virtual = 0
	}
	f.SetUint(row, n.attrs+len(netAttrs), virtual)
}

// operational is the column that is read from the same file as the column "running".
func (n *netdev) operational() int { return n.attrs + len(netAttrs) + 1 }

// fillAttr sets a column from /sys. A link that is down has no speed: the kernel then answers
// "invalid argument", or -1.
func (n *netdev) fillAttr(f *sample.Frame, row, i int, d *netif) {
	col := n.attrs + i
	data, err := d.attr[i].read()
	if err != nil {
		f.SetMissing(row, col, why(err))
		if i == attrState {
			f.SetMissing(row, n.operational(), why(err))
		}
		return
	}
	w, _ := word(data)
	switch i {
	case attrState:
		// If no driver reports the state of the link, the interface runs as far as the kernel
		// knows.
		running, up := uint64(0), uint64(0)
		switch string(w) {
		case "up":
			running, up = 1, 1
		case "unknown":
			running = 1
		}
		f.SetUint(row, col, running)
		f.SetUint(row, n.operational(), up)
	case attrDuplex:
		if d.duplex != string(w) {
			d.duplex = string(w)
		}
		f.SetString(row, col, d.duplex)
	case attrFlags:
		if flags, ok := hex(bytes.TrimPrefix(w, hexPrefix)); ok {
			f.SetUint(row, col, flags&1)
		}
	default:
		v, ok := unsigned(w)
		if !ok {
			f.SetMissing(row, col, metric.Unsupported)
			return
		}
		if i == attrSpeed {
			v = v * 1e6 / 8
		}
		f.SetUint(row, col, v)
	}
}

var hexPrefix = []byte("0x")
