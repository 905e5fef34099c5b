package darwintest

import (
	"strconv"
	"strings"
)

// flow is a connection, or a number of equal ones, or a socket that listens.
type flow struct {
	thing
	provider, local, peer  string
	network, medium, state string // network is the interface
	inbound                bool
	holders                []flowHolder
	repeat                 int64
	every                  float64
}

// flowHolder is a process that has the flow from a time on.
type flowHolder struct {
	pid  int64
	from float64
}

func (w *World) flowStatement(s *statement) error {
	f := &flow{thing: *newThing(s.word(2)), provider: s.word(1), local: s.word(2), peer: s.word(3), network: "en0", state: "ESTABLISHED", repeat: 1}
	w.flows = append(w.flows, f)
	for _, c := range s.block {
		v, _ := number(c.word(1))
		switch c.word(0) {
		case "pid":
			h := flowHolder{pid: v.n, from: longAgo}
			if c.word(2) == "from" {
				from, _ := number(c.word(3))
				h.from = from.f
			}
			f.holders = append(f.holders, h)
		case "interface":
			f.network = c.word(1)
		case "medium":
			f.medium = c.word(1)
		case "state":
			f.state = c.word(1)
		case "inbound":
			f.inbound = c.word(1) != "no"
		case "repeat":
			f.repeat = v.n
			every, _ := number(c.word(3))
			f.every = every.f
		case "congestion":
		default:
			if f.life(c) {
				continue
			}
			e, _, err := c.expr(1)
			if err != nil {
				return err
			}
			f.fields[c.word(0)] = e
		}
	}
	if f.medium == "" {
		if f.medium = "none"; strings.HasPrefix(f.network, "en") {
			f.medium = "wifi"
		}
	}
	return nil
}

// number of the state, as the kernel has it.
func (f *flow) stateNumber() string {
	if i, err := strconv.Atoi(f.state); err == nil && i < len(tcpStateNames) {
		return tcpStateNames[i]
	}
	return f.state
}
