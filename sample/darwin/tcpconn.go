package darwin

import (
	"fmt"
	"slices"

	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

const (
	tcpListSysctl    = "net.inet.tcp.pcblist64"
	tcpCountedSysctl = "net.inet.tcp.pcbcount"
)

const tcpListWithheld = "withheld by the kernel: it lists fewer than half of the TCP connections that it counts; " +
	"since macOS 27 only root is shown those of others"

// listWithheld decides whether a list is incomplete. A few of the connections that the kernel
// counts are in no list, because they are just being made or removed.
func listWithheld(listed, counted uint64) bool { return 2*listed < counted }

// tcpconnRows returns the table of connections by state, counted in one pass over the list of
// control blocks, which any caller may read up to macOS 26.
func tcpconnRows() *rows.Table {
	return rows.New("tcpconn", rows.Select(metric.NoIndom, "sysctl "+tcpListSysctl+" "), 0, nil)
}

// tcpCounts are the numbers of connections by state; states are the states that the rows name.
type tcpCounts struct {
	states []int
	counts [len(decode.TCPStates)]uint32
}

func tcpCountsOf(t *rows.Table) (c tcpCounts) {
	for _, l := range t.Leaves {
		state := slices.Index(decode.TCPStates[:], l.Word)
		if state < 0 {
			panic(fmt.Sprintf("catalog: %s: there is no TCP state %s", l.Metric.Name, l.Word))
		}
		c.states = append(c.states, state)
	}
	return c
}

func (c *tcpCounts) Leaf(i int) rows.Value { return rows.Value{Bits: uint64(c.counts[c.states[i]])} }
