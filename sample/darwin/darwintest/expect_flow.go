package darwintest

import (
	"fmt"
	"strings"
)

// Transfers are what processes have transferred at the last of some times at which a recorder
// asked for all connections. The key is the pid; that of -1 is what nobody is known for, and that
// of -2 is everything.
type Transfers map[int64]map[string]uint64

// Nobody and Everybody are the pids of Transfers that are no process.
const (
	Nobody    = -1
	Everybody = -2
)

// ExpectTransfers computes what a recorder knows that asks at each of looks. What a connection has
// transferred since the last of them goes to the process that has it now, or had it at its end.
// described says that the kernel names the process without having been asked before, as it does
// up to macOS 26.
func (w *World) ExpectTransfers(looks []float64, described bool) Transfers {
	all := make(Transfers)
	for _, f := range w.flows {
		if f.state == "LISTEN" {
			continue
		}
		for k := range f.repeat {
			later := float64(k) * f.every
			w.follow(all, f, f.start+later, f.end+later, looks, described)
		}
	}
	sum := make(map[string]uint64)
	for _, p := range all {
		for name, n := range p {
			sum[name] += n
		}
	}
	all[Everybody] = sum
	return all
}

// netColumns are the metrics of transfers, of processes and of them all.
var netColumns = strings.Fields("in_bytes out_bytes retrans_bytes tcp.in_bytes tcp.out_bytes udp.in_bytes udp.out_bytes quic.in_bytes quic.out_bytes " +
	"loopback.in_bytes loopback.out_bytes wifi.in_bytes wifi.out_bytes wired.in_bytes wired.out_bytes cellular.in_bytes cellular.out_bytes " +
	"connections opened accepted refused")

// transfers expects what processes have transferred when they are first looked at.
func (x *expecting) transfers() {
	all := x.ExpectTransfers([]float64{x.T}, true)
	for _, p := range x.processes {
		if p.self || !p.alive(x.T) {
			continue
		}
		for _, name := range netColumns {
			x.u("proc.net."+name, fmt.Sprintf("%06d %s", p.pid, p.shown()), all[p.pid][name])
		}
	}
	for _, name := range strings.Fields("in_bytes out_bytes retrans_bytes connections closed") {
		x.u("network.traffic."+name, "", all[Everybody][name])
	}
	for _, name := range strings.Fields("in_bytes out_bytes retrans_bytes closed") {
		x.u("network.traffic.unattributed."+name, "", all[Nobody][name])
	}
	x.u("network.traffic.short", "", 0)
	x.u("network.traffic.lost", "", 0)
	x.lacks("proc.net.failed", "network.traffic.namespaces", "network.traffic.namespaces_unread")
}

// follow adds what one connection transferred until the last of looks.
func (w *World) follow(all Transfers, f *flow, start, end float64, looks []float64, described bool) {
	var before struct{ rx, tx, again uint64 }
	met := false
	connected := !strings.HasSuffix(f.peer, ":0")
	for i, look := range looks {
		if look < start {
			continue
		}
		t := min(look, end)
		at := func(name string) uint64 {
			if e := f.fields[name]; e != nil {
				return uint64(e.at(t).n)
			}
			return 0
		}
		pid := int64(Nobody)
		if p := f.holder(t); (described || met || end > look) && w.listed(p, looks) {
			pid = p
		}
		if pid == Nobody && f.inbound {
			// Who listens on the port has accepted it.
			pid = w.listener(f, t)
		}
		x := all[pid]
		if x == nil {
			x = make(map[string]uint64)
			all[pid] = x
		}
		add := func(name string, rx, tx uint64) {
			x[name+"in_bytes"] += rx
			x[name+"out_bytes"] += tx
		}
		rx, tx := at("rx")-before.rx, at("tx")-before.tx
		protocol, _, _ := strings.Cut(f.provider, "_")
		add("", rx, tx)
		add(protocol+".", rx, tx)
		if f.network == "lo0" {
			add("loopback.", rx, tx)
		}
		if f.medium != "none" {
			add(f.medium+".", rx, tx)
		}
		x["retrans_bytes"] += at("retransmit") - before.again
		before.rx, before.tx, before.again = at("rx"), at("tx"), at("retransmit")
		switch {
		case !connected:
		case !met && f.inbound:
			x["accepted"]++
		case !met:
			x["opened"]++
		}
		met = true
		if end <= look {
			if connected {
				x["closed"]++
			}
			if f.state == "SYN_SENT" {
				x["refused"]++
			}
			return
		}
		if connected && i == len(looks)-1 {
			x["connections"]++
		}
	}
}

// holder returns the pid of the process that has the flow at time t.
func (f *flow) holder(t float64) (pid int64) {
	pid = Nobody
	for _, h := range f.holders {
		if h.from <= t || pid == Nobody {
			pid = h.pid
		}
	}
	return pid
}

// listener returns the pid of the process that listens on the local port of f.
func (w *World) listener(f *flow, t float64) int64 {
	for _, l := range w.flows {
		if l.state == "LISTEN" && l.local[strings.LastIndex(l.local, ":"):] == f.local[strings.LastIndex(f.local, ":"):] {
			return l.holder(t)
		}
	}
	return Nobody
}

// listed reports whether a process is there at one of looks.
func (w *World) listed(pid int64, looks []float64) bool {
	for _, p := range w.processes {
		for _, look := range looks {
			if p.pid == pid && p.alive(look) {
				return true
			}
		}
	}
	return false
}
