package darwin

import (
	"math"

	"tachograph/sample/darwin/decode"
	"tachograph/sample/metric"
)

// The values of an interface.
const (
	ifInBytes = iota
	ifOutBytes
	ifInPackets
	ifInErrors
	ifInDrops
	ifInMcasts
	ifOutPackets
	ifOutErrors
	ifOutDrops
	ifOutMcasts
	ifCollisions
	ifMtu
	ifBaudrate
	ifValues

	// ifSummed is how many of them, from the first, are worth adding up over
	// all interfaces.
	ifSummed = ifMtu
)

var ifFields = [ifValues]*decode.Field{
	ifInBytes:    decode.IfIbytes,
	ifOutBytes:   decode.IfObytes,
	ifInPackets:  decode.IfIpackets,
	ifInErrors:   decode.IfIerrors,
	ifInDrops:    decode.IfIqdrops,
	ifInMcasts:   decode.IfImcasts,
	ifOutPackets: decode.IfOpackets,
	ifOutErrors:  decode.IfOerrors,
	ifOutDrops:   decode.IfSndDrops,
	ifOutMcasts:  decode.IfOmcasts,
	ifCollisions: decode.IfCollisions,
	ifMtu:        decode.IfMtu,
	ifBaudrate:   decode.IfBaudrate,
}

// ifColumn is a metric that is the sum of some values.
type ifColumn struct {
	metric string
	parts  []int
}

var ifColumns = []ifColumn{
	{"network.interface.in.bytes", []int{ifInBytes}},
	{"network.interface.in.packets", []int{ifInPackets}},
	{"network.interface.in.errors", []int{ifInErrors}},
	{"network.interface.in.drops", []int{ifInDrops}},
	{"network.interface.in.mcasts", []int{ifInMcasts}},
	{"network.interface.out.bytes", []int{ifOutBytes}},
	{"network.interface.out.packets", []int{ifOutPackets}},
	{"network.interface.out.errors", []int{ifOutErrors}},
	{"network.interface.out.drops", []int{ifOutDrops}},
	{"network.interface.out.mcasts", []int{ifOutMcasts}},
	{"network.interface.collisions", []int{ifCollisions}},
	{"network.interface.mtu", []int{ifMtu}},
	{"network.interface.baudrate", []int{ifBaudrate}},
	{"network.interface.total.bytes", []int{ifInBytes, ifOutBytes}},
	{"network.interface.total.packets", []int{ifInPackets, ifOutPackets}},
	{"network.interface.total.errors", []int{ifInErrors, ifOutErrors}},
	{"network.interface.total.drops", []int{ifInDrops, ifOutDrops}},
	{"network.interface.total.mcasts", []int{ifInMcasts, ifOutMcasts}},
}

var ifAllColumns = []ifColumn{
	{"network.all.in.bytes", []int{ifInBytes}},
	{"network.all.in.packets", []int{ifInPackets}},
	{"network.all.in.errors", []int{ifInErrors}},
	{"network.all.in.drops", []int{ifInDrops}},
	{"network.all.out.bytes", []int{ifOutBytes}},
	{"network.all.out.packets", []int{ifOutPackets}},
	{"network.all.out.errors", []int{ifOutErrors}},
	{"network.all.out.drops", []int{ifOutDrops}},
	{"network.all.total.bytes", []int{ifInBytes, ifOutBytes}},
	{"network.all.total.packets", []int{ifInPackets, ifOutPackets}},
	{"network.all.total.errors", []int{ifInErrors, ifOutErrors}},
	{"network.all.total.drops", []int{ifInDrops, ifOutDrops}},
}

func (c *ifColumn) bytes() bool { return c.parts[0] <= ifOutBytes }

func (c *ifColumn) sum(values []uint64) uint64 {
	var sum uint64
	for _, p := range c.parts {
		sum += values[p]
	}
	return sum
}

// ifRead takes an interface's values from its header.
func ifRead(header []byte) (v [ifValues]uint64) {
	for i, f := range ifFields {
		v[i], _ = f.Uint(header)
	}
	// A signed field that the kernel counts up in: 32 bits and no sign.
	v[ifOutDrops] &= math.MaxUint32
	return v
}

// A runningTotal adds up a counter over things that come and go. What a thing
// had counted stays in the sum when it leaves: a total must not fall because
// an interface or a disk was taken away.
type runningTotal struct{ sum uint64 }

// gained adds what one thing counted since its last reading, prev, which
// becomes cur unless that is a dip; a thing seen for the first time, its prev
// is 0, brings all it has.
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

// What totals are made of.
var (
	counter64 = metric.Desc{Type: metric.U64}
	counter32 = metric.Desc{Type: metric.U64, Width: 32}
)

// turned is why there are no byte counts for a while after they began to come
// from elsewhere: whole counts are no continuation of cut ones. turnRounds is
// how many readings that takes; after so many a reader takes no rate across.
var turned = metric.ReasonFor("byte counts now come from another list of the kernel's")

const turnRounds = 6
