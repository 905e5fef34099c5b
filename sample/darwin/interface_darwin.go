package darwin

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"tachograph/sample"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
	"tachograph/sample/socket"
)

// The routing socket's list of interfaces, and the interface MIB of all interfaces at once.
var (
	ifListMIB = sys.MIB{4, 17, 0, 0, 6, 0}
	ifAllMIB  = sys.MIB{4, 18, 0, 3, 0, 1}
)

// ifTypeLoop is IFT_LOOP.
const ifTypeLoop = 24

// Where the byte counts come from, best first.
const (
	exactAll = iota
	exactEach
	cutTo32
)

// interfaceSource reads the list of interfaces for everything but the byte counts, which come
// from the interface MIB.
type interfaceSource struct {
	each, all *rows.Table
	one       ifAnswer // for each
	part      ifAnswer // for the parts of the totals
	totals    *rows.Table
	origin    int           // the column that says where bytes come from
	flows     *socket.Flows // the bytes of connections; nil where they are not known
	from      int           // where byte counts come from
	turning   int           // remaining readings without byte counts, after from changed

	last       reading
	err        error // why there are no values at all
	round      uint64
	known      map[string]*iface
	order      []*iface       // this round's, in the list's order
	total      []runningTotal // of the parts of the totals
	nextID     uint64
	list, mibs []byte
	badBytes   metric.Reason // why byte counts are absent this round

	absent    []metric.Reason // why there are no totals
	protocols protocols
	ip, ip6   *node
}

func newInterfaceSource(flows *socket.Flows) *interfaceSource {
	return &interfaceSource{flows: flows, known: make(map[string]*iface)}
}

func (s *interfaceSource) Name() string            { return "interface" }
func (s *interfaceSource) Groups() []*metric.Group { return []*metric.Group{s.each.Group, s.all.Group} }
func (s *interfaceSource) Close() error            { return nil }

func (s *interfaceSource) Refresh() error {
	s.each, s.all = interfaceRows("interface", "interface"), interfaceRows("network", metric.NoIndom)
	s.totals = s.all.Totals()
	s.origin = slices.IndexFunc(s.each.Group.Metrics, func(d *metric.Desc) bool { return d.Name == bytesSource })
	s.one, s.part = ifAnswerOf(s.each, runtime.GOARCH), ifAnswerOf(s.totals, runtime.GOARCH)
	if s.total == nil {
		s.total = make([]runningTotal, len(s.totals.Group.Metrics))
		s.absent = make([]metric.Reason, len(s.total))
	}
	s.ip, s.ip6 = optional("net.inet.ip.stats", 512), optional("net.inet6.ip6.stats", 1024)
	if from := s.bestSource(); from != s.from {
		s.turnTo(from)
	}
	if s.from == cutTo32 {
		for col, d := range s.each.Group.Metrics {
			if s.each.Uses(col, inMIB) {
				d.Width = 32
				d.LongHelp += " This kernel refuses the interface MIB: the count comes from the list of interfaces, is cut to 32 bits and rounded down to 1024 bytes."
			}
		}
	}
	return nil
}

// turnTo switches byte counts to another source.
func (s *interfaceSource) turnTo(from int) {
	s.from = from
	if s.round == 0 {
		return
	}
	s.turning = turnRounds + 1
	for _, x := range s.known {
		x.rebase = true
	}
}

// bestSource tries the ways to get byte counts that are not cut.
func (s *interfaceSource) bestSource() int {
	if data, _, errno := sys.SysctlList(ifAllMIB, nil); errno == 0 && len(data) >= ifmibdataSize && len(data)%ifmibdataSize == 0 {
		return exactAll
	}
	var b [ifmibdataSize]byte
	if n, errno := sys.Sysctl(sys.MIB{4, 18, 0, 2, 1, 1}, b[:]); errno == 0 && n == ifmibdataSize {
		return exactEach
	}
	return cutTo32
}

func (s *interfaceSource) Read(c *sample.Context, frames []*sample.Frame) error {
	if now := c.Now(); s.last.due(now) {
		s.err = s.readAll(c, now)
	}
	if s.err != nil {
		return s.err
	}
	for _, f := range frames {
		f.Reset(s.last.at)
		if f.Full() == s.all.Group {
			s.all.Fill(f, f.Row(nil), 0, s)
			continue
		}
		for _, x := range s.order {
			if !s.gone(x) {
				s.one.x = x
				row := f.Row(x.in)
				s.each.Fill(f, row, 0, &s.one)
				if f.Wants(s.origin) {
					f.SetString(row, s.origin, x.source())
				}
			}
		}
	}
	return nil
}

func (s *interfaceSource) readAll(c *sample.Context, at metric.Stamp) error {
	list, next, errno := sys.SysctlList(ifListMIB, s.list)
	s.list = next
	if errno != 0 {
		return &sys.Error{Call: "sysctl NET_RT_IFLIST2", Err: errno}
	}
	first := s.round == 0
	s.round++
	s.turning = max(s.turning-1, 0)
	s.order = s.order[:0]
	if !decode.Interfaces(list, func(i decode.Interface) { s.take(c, at, i, first) }) {
		return errors.New("sysctl NET_RT_IFLIST2: the list is malformed")
	}
	s.countBytes()
	s.forget(c, at)
	s.watch(c, at)
	s.addUp()
	if s.one.miss = s.badBytes; s.badBytes == metric.Present && s.turning > 0 {
		s.one.miss = turned
	}
	return nil
}

// take records an interface of the list.
func (s *interfaceSource) take(c *sample.Context, at metric.Stamp, i decode.Interface, first bool) {
	index, _ := decode.IfIndex.Uint(i.Header)
	x := s.known[string(i.Name)]
	if x == nil {
		name := string(i.Name)
		if name == "" {
			name = fmt.Sprintf("interface %d", index)
		}
		kind, _ := decode.IfType.Uint(i.Header)
		x = &iface{loopback: kind == ifTypeLoop, prev: make([]uint64, len(s.total)), in: &metric.Instance{ID: s.nextID, Key: name, Name: name, Labels: []metric.Label{
			{Name: "index", Value: strconv.FormatUint(index, 10)},
			{Name: "type", Value: strconv.FormatUint(kind, 10)},
		}}}
		s.nextID++
		s.known[name] = x
		if !first {
			c.Emit(metric.Event{At: at, Kind: metric.EventDevice, Text: "network interface " + name + " appeared", Indom: "interface", Key: name})
		}
	}
	x.index, x.listed, x.header = int32(index), s.round, i.Header
	if s.from == cutTo32 {
		x.counted = s.round
	}
	s.order = append(s.order, x)
}

// countBytes reads the interface MIB.
func (s *interfaceSource) countBytes() {
	s.badBytes = metric.Present
	switch s.from {
	case exactAll:
		data, next, errno := sys.SysctlList(ifAllMIB, s.mibs)
		s.mibs = next
		if errno != 0 {
			s.badBytes = reasonFor(&sys.Error{Call: "sysctl IFMIB_IFALLDATA", Err: errno})
			return
		}
		for ; len(data) >= ifmibdataSize; data = data[ifmibdataSize:] {
			if name, ok := decode.MibName.Text(data); ok {
				if x := s.known[string(name)]; x != nil {
					x.count(data, s.round)
				}
			}
		}
	case exactEach:
		var b [ifmibdataSize]byte
		for _, x := range s.order {
			one := [...]int32{4, 18, 0, 2, x.index, 1}
			_, errno := sys.Sysctl(one[:], b[:])
			switch errno {
			case 0:
				x.count(b[:], s.round)
			case syscall.ENOENT:
				// It went away since the list was read.
			default:
				s.badBytes = reasonFor(&sys.Error{Call: "sysctl IFMIB_IFDATA", Err: errno})
				return
			}
		}
	}
}

func (x *iface) count(ifmibdata []byte, round uint64) {
	copy(x.mib[:], ifmibdata)
	x.counted = round
}

// gone reports whether an interface is missing from the list or, if that was read, from the MIB.
func (s *interfaceSource) gone(x *iface) bool {
	return x.listed != s.round || s.badBytes == metric.Present && x.counted != s.round
}

// forget drops interfaces that are gone.
func (s *interfaceSource) forget(c *sample.Context, at metric.Stamp) {
	for name, x := range s.known {
		if !s.gone(x) {
			continue
		}
		delete(s.known, name)
		c.Emit(metric.Event{At: at, Kind: metric.EventDevice, Text: "network interface " + name + " went away", Indom: "interface", Key: name})
	}
}

// watch finds out which interfaces have stopped counting, and emits events about them.
func (s *interfaceSource) watch(c *sample.Context, at metric.Stamp) {
	if s.badBytes != metric.Present {
		return
	}
	var suspects []*iface
	packets := uint64(0)
	for _, x := range s.order {
		if s.gone(x) {
			continue
		}
		before := x.standing
		if x.watch(s.from == cutTo32, s.flows) {
			suspects = append(suspects, x)
		}
		n, _ := decode.IfPacketsIn.Uint(x.header)
		packets += n
		for d := range directions {
			tellStanding(c, at, x, d, before[d].bytesStand)
		}
	}
	if suspects == nil {
		s.protocols.watching = false
		return
	}
	if n, ok := s.received(); !ok || !s.protocols.more(packets, n) {
		return
	}
	for _, x := range suspects {
		before := x.standing[received].bytesStand
		x.standing[received].bytesStand, x.standing[received].packetsStand = true, true
		tellStanding(c, at, x, received, before)
	}
}

// received returns how many packets the protocols have received, through any interface.
func (s *interfaceSource) received() (n uint64, ok bool) {
	if s.ip == nil || s.ip6 == nil || !s.ip.read(s.round) || !s.ip6.read(s.round) {
		return 0, false
	}
	v4, ok4 := decode.IPTotal.Uint(s.ip.answer)
	v6, ok6 := decode.IP6Total.Uint(s.ip6.answer)
	return v4 + v6, ok4 && ok6
}

func tellStanding(c *sample.Context, at metric.Stamp, x *iface, direction int, before bool) {
	stands := x.standing[direction].bytesStand
	if stands == before {
		return
	}
	verb, what := " counts ", []string{received: "received", sent: "sent"}[direction]+" bytes"
	if stands {
		verb = " has stopped counting "
	} else {
		what += " again"
	}
	c.Emit(metric.Event{At: at, Kind: metric.EventDevice, Text: "network interface " + x.in.Name + verb + what, Indom: "interface", Key: x.in.Key})
}

// addUp adds what each interface counted to the totals.
func (s *interfaceSource) addUp() {
	s.one.cut, s.part.cut, s.part.miss = s.from == cutTo32, s.from == cutTo32, s.badBytes
	clear(s.absent)
	for _, x := range s.order {
		if s.gone(x) || x.loopback {
			continue
		}
		s.part.x = x
		for i := range s.total {
			now, bytes := s.totals.Value(i, 0, &s.part), s.totals.Uses(i, inMIB)
			switch {
			case now.Miss != metric.Present:
				s.absent[i] = now.Miss
			case bytes && x.rebase:
				x.prev[i] = now.Bits
			default:
				s.total[i].gained(&x.prev[i], now.Bits, s.part.counter(s.totals, i))
			}
		}
		x.rebase = x.rebase && s.badBytes != metric.Present
	}
}

// Leaf is a total over all interfaces.
func (s *interfaceSource) Leaf(i int) rows.Value {
	return rows.Value{Bits: s.total[i].sum, Miss: s.absent[i]}
}
