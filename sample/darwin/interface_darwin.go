package darwin

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"syscall"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// The routing socket's list of interfaces, and the interface MIB of all of them
// at once.
var (
	ifListMIB = sys.MIB{4, 17, 0, 0, 6, 0}
	ifAllMIB  = sys.MIB{4, 18, 0, 3, 0, 1}
)

const ifmibdataSize = 180

// ifTypeLoop is IFT_LOOP.
const ifTypeLoop = 24

// Where the byte counts come from, best first.
const (
	exactAll = iota
	exactEach
	cutTo32
)

type iface struct {
	in    *metric.Instance
	index int32
	// loopback traffic never leaves the machine and is no part of the totals.
	loopback bool
	// listed and counted are the rounds in which the list and the MIB had it.
	listed, counted uint64
	now, prev       [ifValues]uint64
	rebase          bool // prev's byte counts are of another source
}

// interfaceSource reads the list of interfaces for everything but the byte
// counts, which come from the interface MIB.
type interfaceSource struct {
	each, all *metric.Group
	from      int // where byte counts come from
	turning   int // readings without byte counts, after from changed

	last       reading
	err        error // why there is nothing at all
	round      uint64
	known      map[string]*iface
	order      []*iface // this round's, in the list's order
	total      [ifSummed]runningTotal
	nextID     uint64
	list, mibs []byte
	badBytes   metric.Reason // why byte counts are absent this round
}

func newInterfaceSource() *interfaceSource {
	return &interfaceSource{known: make(map[string]*iface)}
}

func (s *interfaceSource) Name() string            { return "interface" }
func (s *interfaceSource) Groups() []*metric.Group { return []*metric.Group{s.each, s.all} }
func (s *interfaceSource) Close() error            { return nil }

func (s *interfaceSource) Refresh() error {
	each, all := make([]string, len(ifColumns)), make([]string, len(ifAllColumns))
	for i, c := range ifColumns {
		each[i] = c.metric
	}
	for i, c := range ifAllColumns {
		all[i] = c.metric
	}
	s.each = catalog.Group(catalog.Darwin, "interface", each...)
	s.all = catalog.Group(catalog.Darwin, "network", all...)
	if from := s.bestSource(); from != s.from {
		s.turnTo(from)
	}
	if s.from == cutTo32 {
		for i, c := range ifColumns {
			if d := s.each.Metrics[i]; c.bytes() {
				d.Width = 32
				d.LongHelp += " This kernel refuses the interface MIB: the count comes from the list of interfaces, is cut to 32 bits and rounded down to 1024 bytes."
			}
		}
	}
	return nil
}

// turnTo takes byte counts from another source from now on.
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

// bestSource tries the ways to byte counts that are not cut.
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
		if f.Full() == s.all {
			s.fillAll(f)
		} else {
			s.fillEach(f)
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
	s.addUp()
	return nil
}

// take notes an interface of the list.
func (s *interfaceSource) take(c *sample.Context, at metric.Stamp, i decode.Interface, first bool) {
	index, _ := decode.IfIndex.Uint(i.Header)
	x := s.known[string(i.Name)]
	if x == nil {
		name := string(i.Name)
		if name == "" {
			name = fmt.Sprintf("interface %d", index)
		}
		kind, _ := decode.IfType.Uint(i.Header)
		x = &iface{loopback: kind == ifTypeLoop, in: &metric.Instance{ID: s.nextID, Key: name, Name: name, Labels: []metric.Label{
			{Name: "index", Value: strconv.FormatUint(index, 10)},
			{Name: "type", Value: strconv.FormatUint(kind, 10)},
		}}}
		s.nextID++
		s.known[name] = x
		if !first {
			c.Emit(metric.Event{At: at, Kind: metric.EventDevice, Text: "network interface " + name + " appeared", Indom: "interface", Key: name})
		}
	}
	x.index, x.listed = int32(index), s.round
	exact := [2]uint64{x.now[ifInBytes], x.now[ifOutBytes]}
	x.now = ifRead(i.Header)
	if s.from != cutTo32 {
		// What the list says is cut; keep what was known until the MIB is read.
		x.now[ifInBytes], x.now[ifOutBytes] = exact[0], exact[1]
	} else {
		x.now[ifInBytes] &= math.MaxUint32
		x.now[ifOutBytes] &= math.MaxUint32
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
	x.now[ifInBytes], _ = decode.MibIbytes.Uint(ifmibdata)
	x.now[ifOutBytes], _ = decode.MibObytes.Uint(ifmibdata)
	x.counted = round
}

// gone reports whether an interface was in the list and no longer in the MIB.
func (s *interfaceSource) gone(x *iface) bool {
	return x.listed != s.round || s.badBytes == metric.Present && x.counted != s.round
}

// forget drops interfaces that are no more.
func (s *interfaceSource) forget(c *sample.Context, at metric.Stamp) {
	for name, x := range s.known {
		if !s.gone(x) {
			continue
		}
		delete(s.known, name)
		c.Emit(metric.Event{At: at, Kind: metric.EventDevice, Text: "network interface " + name + " went away", Indom: "interface", Key: name})
	}
}

// addUp carries what each interface counted into the totals.
func (s *interfaceSource) addUp() {
	for _, x := range s.order {
		if s.gone(x) || x.loopback {
			continue
		}
		for v := range s.total {
			counter := &counter64
			if v == ifOutDrops {
				counter = &counter32
			}
			if v <= ifOutBytes {
				if s.badBytes != metric.Present {
					continue
				}
				if x.rebase {
					x.prev[v] = x.now[v]
					continue
				}
				if s.from == cutTo32 {
					counter = &counter32
				}
			}
			s.total[v].gained(&x.prev[v], x.now[v], counter)
		}
		x.rebase = x.rebase && s.badBytes != metric.Present
	}
}

func (s *interfaceSource) fillEach(f *sample.Frame) {
	for _, x := range s.order {
		if s.gone(x) {
			continue
		}
		row := f.Row(x.in)
		for col := range ifColumns {
			column := &ifColumns[col]
			v := column.sum(x.now[:])
			switch {
			case column.bytes() && s.badBytes != metric.Present:
				f.SetMissing(row, col, s.badBytes)
			case column.bytes() && s.turning > 0:
				f.SetMissing(row, col, turned)
			case column.bytes() && s.from == cutTo32:
				f.SetUint(row, col, v&math.MaxUint32)
			default:
				f.SetUint(row, col, v)
			}
		}
	}
}

func (s *interfaceSource) fillAll(f *sample.Frame) {
	var sums [ifSummed]uint64
	for i, t := range s.total {
		sums[i] = t.sum
	}
	row := f.Row(nil)
	for col := range ifAllColumns {
		column := &ifAllColumns[col]
		if column.bytes() && s.badBytes != metric.Present {
			f.SetMissing(row, col, s.badBytes)
			continue
		}
		f.SetUint(row, col, column.sum(sums[:]))
	}
}
