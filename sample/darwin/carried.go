package darwin

import (
	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

// carried is what the connections of an interface transferred in one direction. Where the
// interface's own counter stands still, their bytes are added to it from then on.
//
// Connections are listed more seldom than counters are read: at a reading, connections may have
// bytes of which the list does not know yet. So the count begins with the first list after the
// counter moved. What came until then is lost rather than counted twice.
type carried struct {
	known       bool
	total, last uint64 // of connections, at this reading and at the one before
	list        uint64 // the last one before the counter moved
	at          uint64 // total in the list after that
	beyond      uint64 // bytes that only connections counted while earlier standstills lasted
}

// see records a reading: the bytes of connections after so many lists, and whether the counter
// moved. stood says that it had been found to stand still.
func (c *carried) see(total, lists uint64, moved, stood bool) {
	if lists == 0 {
		return
	}
	if !c.known {
		c.known, c.last = true, total
		moved, stood = true, false
	} else {
		c.last = c.total
	}
	c.total = total
	if moved {
		if stood {
			c.beyond += c.last - c.at
		}
		c.list = lists
	}
	if lists <= c.list+1 {
		c.at = total
	}
}

// proves reports whether so much was transferred while the counter stood that it must have
// stopped.
func (c *carried) proves() bool { return c.known && c.total-c.at >= standsBytes }

// more returns what is to be added to the counter.
func (c *carried) more(stands bool) uint64 {
	if stands {
		return c.beyond + c.total - c.at
	}
	return c.beyond
}

var notListed = metric.ReasonFor("connections are not listed")

func (c *carried) value() rows.Value {
	if !c.known {
		return rows.Value{Miss: notListed}
	}
	return rows.Value{Bits: c.total}
}

// Where the bytes of an interface come from.
const (
	fromCounter     = "counter"
	fromConnections = "connections"
)

// source says where the bytes of an interface come from now.
func (x *iface) source() string {
	for d := range directions {
		if x.standing[d].bytesStand && x.carried[d].known {
			return fromConnections
		}
	}
	return fromCounter
}

const bytesSource = "network.interface.bytes_source"
