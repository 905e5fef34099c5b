package darwin

import (
	"math"
	"slices"
	"strings"

	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
	"tachograph/sample/socket"
)

// Rows of interfaces use the routing socket's list, except for byte counts: only those of the
// interface MIB are whole. Each interface has those of its connections besides.
const (
	ifListRows = "NET_RT_IFLIST2 "
	ifMIBRows  = "IFMIB_IFDATA "
	ifFlowRows = "com.apple.network.statistics by ifindex: "
)

func interfaceRows(group, indom string) *rows.Table {
	return rows.New(group, slices.Concat(rows.Select(indom, ifListRows), rows.Select(indom, ifMIBRows), rows.Select(indom, ifFlowRows)), 0, nil)
}

// The words of the rows about connections.
var flowWords = []string{received: "rxbytes", sent: "txbytes", directions: "origin"}

// inMIB reports whether a leaf is read from the interface MIB.
func inMIB(l *rows.Leaf) bool { return l.Question == "ifmibdata" }

// ifAnswer gives the values of one interface to a table.
type ifAnswer struct {
	leaves []ifLeaf
	cut    bool          // take byte counts from the list
	miss   metric.Reason // why there are no byte counts
	x      *iface
}

type ifLeaf struct {
	member rows.Member
	cut    *decode.Field // the same byte count in the list; nil for everything else
	// direction and packets identify a counter that its driver may stop.
	direction int
	packets   bool
	flow      int // the direction of connections that it is about
}

// The directions of an interface.
const (
	received = iota
	sent
	directions
)

func ifAnswerOf(t *rows.Table, arch string) (a ifAnswer) {
	for i, m := range t.Members(arch, flowWords...) {
		if flow := slices.Index(flowWords, t.Leaves[i].Word); flow >= 0 {
			a.leaves = append(a.leaves, ifLeaf{direction: directions, flow: flow})
			continue
		}
		l := ifLeaf{member: m, flow: directions}
		if inMIB(&t.Leaves[i]) {
			l.cut = decode.Find("if_msghdr2", strings.Replace(m.Name, "ifmd_data", "ifm_data", 1), arch)
		}
		l.direction, l.packets = directions, false
		for d := range directions {
			if l.cut == bytesOf[d] {
				l.direction = d
			} else if m.Field == packetsOf[d] {
				l.direction, l.packets = d, true
			}
		}
		a.leaves = append(a.leaves, l)
	}
	return a
}

// The counters of each direction.
var (
	bytesOf   = [directions]*decode.Field{decode.IfBytesIn, decode.IfBytesOut}
	wholeOf   = [directions]*decode.Field{decode.MibBytesIn, decode.MibBytesOut}
	packetsOf = [directions]*decode.Field{decode.IfPacketsIn, decode.IfPacketsOut}
)

// stands reports whether a leaf is a stopped counter.
func (x *iface) stands(l *ifLeaf) bool {
	if l.direction == directions {
		return false
	}
	s := &x.standing[l.direction]
	return l.packets && s.packetsStand || !l.packets && s.bytesStand
}

func (a *ifAnswer) Leaf(i int) rows.Value {
	l := &a.leaves[i]
	if l.flow != directions {
		return a.x.carried[l.flow].value()
	}
	stands := a.x.stands(l)
	if l.direction == directions || l.packets || a.cut || !a.x.carried[l.direction].known {
		if stands {
			return rows.Value{Miss: standsStill}
		}
		return a.counted(l)
	}
	v := a.counted(l)
	v.Bits += a.x.carried[l.direction].more(stands)
	return v
}

// counted is the value of the interface's own counter.
func (a *ifAnswer) counted(l *ifLeaf) rows.Value {
	switch {
	case l.cut == nil:
		return l.member.Value(a.x.header, badAnswer)
	case a.miss != metric.Present:
		return rows.Value{Miss: a.miss}
	case a.cut:
		v, _ := l.cut.Uint(a.x.header)
		return rows.Value{Bits: v & math.MaxUint32}
	}
	return l.member.Value(a.x.mib[:], badAnswer)
}

// counter describes how a column of t counts: a member of 32 bits, or one cut to them, wraps
// there.
func (a *ifAnswer) counter(t *rows.Table, col int) *metric.Desc {
	for _, i := range t.LeavesOf(col) {
		if l := &a.leaves[i]; l.member.Size == 4 || a.cut && l.cut != nil {
			return &counter32
		}
	}
	return &counter64
}

const ifmibdataSize = 180

// iface is an interface: its entry in the list, in the round's buffer, and its latest entry in
// the MIB.
type iface struct {
	in     *metric.Instance
	index  int32
	header []byte
	mib    [ifmibdataSize]byte
	// loopback traffic never leaves the machine and is not in the totals.
	loopback bool
	// listed and counted are the last rounds in which the list and the MIB had it.
	listed, counted uint64
	prev            []uint64 // of the totals
	rebase          bool     // prev's byte counts are from another source
	standing        [directions]standing
	carried         [directions]carried
}

// watch records a reading of both directions; cut says that byte counts are the list's. It
// reports whether it is suspicious that nothing was received.
func (x *iface) watch(cut bool, flows *socket.Flows) (suspicious bool) {
	var bytes, packets [directions]uint64
	for d := range directions {
		packets[d], _ = packetsOf[d].Uint(x.header)
		if cut {
			bytes[d], _ = bytesOf[d].Uint(x.header)
		} else {
			bytes[d], _ = wholeOf[d].Uint(x.mib[:])
		}
	}
	before := x.standing
	// Outgoing traffic need not follow incoming traffic.
	x.standing[sent].see(bytes[sent], packets[sent], 0)
	suspicious = x.standing[received].see(bytes[received], packets[received], bytes[sent])
	of, lists := flows.Of(uint32(x.index))
	for d, total := range [directions]uint64{received: of.In, sent: of.Out} {
		s, c := &x.standing[d], &x.carried[d]
		c.see(total, lists, !before[d].seen || s.bytes != before[d].bytes, before[d].bytesStand)
		s.bytesStand = s.bytesStand || c.proves()
	}
	return suspicious
}

// A runningTotal adds up a counter over things that come and go. The counts of a thing stay in
// the sum when it leaves: a total must not fall because an interface or a disk was removed.
type runningTotal struct{ sum uint64 }

// gained adds what one thing counted since its last reading, prev, and sets prev to cur unless
// the counter dipped. A thing seen for the first time, whose prev is 0, adds all it has.
func (t *runningTotal) gained(prev *uint64, cur uint64, counter *metric.Desc) {
	_, step := metric.Increase(counter, *prev, cur, 0)
	switch {
	case *prev == 0 || step == metric.Restarted:
		t.sum += cur
	case step == metric.Advanced:
		t.sum += cur - *prev
	case step == metric.Wrapped:
		t.sum += cur + 1<<counter.Width - *prev
	default:
		return
	}
	*prev = cur
}

// The kinds of counters in totals.
var (
	counter64 = metric.Desc{Type: metric.U64}
	counter32 = metric.Desc{Type: metric.U64, Width: 32}
)

// turned is why there are no byte counts for a while after their source changed: whole counts do
// not continue cut ones. turnRounds is how many readings that takes; after so many a reader of
// the archive computes no rate across.
var turned = metric.ReasonFor("byte counts now come from another list of the kernel's")

const turnRounds = 6
