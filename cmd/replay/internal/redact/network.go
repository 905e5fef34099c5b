package redact

import (
	"net/netip"
	"strings"

	"tachograph/sample/metric"
)

// connectionInstance maps a connection: "firefox → net-3f2a9c81:443", "nginx :443 ← net-3f2a9c81".
func (m *Mapping) connectionInstance(in *metric.Instance) *metric.Instance {
	return &metric.Instance{Key: m.shaped(socketNumbers, anInstance, in.Key), Name: m.connectionName(in.Name), Labels: m.labelled(in.Labels, labelsOfConnections)}
}

// socketNumbers match the keys of connections, which the kernel counts.
var socketNumbers = pattern(`[0-9a-f]{16}`)

func (m *Mapping) connectionName(s string) string {
	at, arrow := -1, ""
	for _, a := range []string{" → ", " ← "} { // the last one: a program may have an arrow in its name
		if i := strings.LastIndex(s, a); i > at {
			at, arrow = i, a
		}
	}
	if who, ok := strings.CutSuffix(s, " ←"); ok && at < 0 { // the other side was not recorded
		at, arrow, s = len(who), " ←", who+" ←"
	}
	if at < 0 {
		return m.shaped(socketNumbers, aProcess, s)
	}
	who, port := s[:at], ""
	if i := strings.LastIndex(who, " :"); i >= 0 && ports(who[i+2:]) {
		who, port = who[:i], who[i:]
	} else if strings.HasPrefix(who, ":") && ports(who[1:]) {
		who, port = "", who
	}
	if who != nobody {
		who = m.process(who)
	}
	return who + port + arrow + m.endpoint(s[at+len(arrow):])
}

// nobody is the name that the recorder writes for the process of a connection if it does not know the process.
const nobody = "?"

// listenerInstance maps a port that is listened on: "tcp :443", "tcp 127.0.0.1:5432", "tcp :80 in web".
func (m *Mapping) listenerInstance(in *metric.Instance) *metric.Instance {
	return &metric.Instance{Key: m.listenerName(in.Key), Name: m.listenerName(in.Name), Labels: m.labelled(in.Labels, labelsOfListeners)}
}

func (m *Mapping) listenerName(s string) string {
	protocol, address, ok := strings.Cut(s, " ")
	if !ok || !protocols(protocol) {
		return m.endpoint(s)
	}
	address, inside, of := strings.Cut(address, " in ") // a network namespace: its number, or the container's name
	if text := protocol + " " + m.endpoint(address); !of {
		return text
	} else if isDigits(inside) {
		return text + " in " + inside
	} else {
		return text + " in " + m.learn(aContainer, inside)
	}
}

// endpoint maps an address or a pseudonym of one, and keeps the port after it.
func (m *Mapping) endpoint(s string) string {
	host, port := s, ""
	if _, err := netip.ParseAddr(s); err != nil { // of fe80::1:443 nobody knows whether it ends in a port
		if i := strings.LastIndexByte(s, ':'); i >= 0 && ports(s[i+1:]) {
			host, port = s[:i], s[i:]
		}
	}
	if bare, ok := strings.CutPrefix(host, "["); ok {
		return "[" + m.peer(strings.TrimSuffix(bare, "]")) + "]" + port
	}
	return m.peer(host) + port
}

// peer maps the address of a machine, or the pseudonym by which it was recorded: who has the
// recording too must not find out from the pseudonym which connection is which.
func (m *Mapping) peer(s string) string {
	if s == "" || s == "localhost" || s == "an address" || ports(s) || m.names.made(s) {
		return s
	}
	k := aRemote
	if a, err := netip.ParseAddr(s); err == nil {
		a = a.Unmap()
		switch {
		case a.IsLoopback(), a.IsUnspecified():
			return s
		case a.IsMulticast():
			k = everybody
		case a.IsPrivate(), a.IsLinkLocalUnicast():
			k = aNeighbour
		}
		s = a.String()
	} else if recorded, _, _ := strings.Cut(s, "-"); kind(recorded) == aNeighbour || kind(recorded) == everybody {
		k = kind(recorded)
	}
	return m.learn(k, s)
}

func peers(m *Mapping, s string) (string, bool) { return m.peer(s), true }

func endpoints(m *Mapping, s string) (string, bool) { return m.endpoint(s), true }

var (
	ports     = pattern(`\d{1,5}|\*`)
	protocols = pattern(`tcp|udp|quic`)
)

// Labels of connections and of ports that are listened on.
var (
	labelsOfListeners = withOwners(map[string]labelMap{
		"process": numberKeys, "pid": digits, "name": func(m *Mapping, s string) (string, bool) { return m.process(s), true },
		"protocol": like(protocols), "port": digits, "address": peers, "holders": digits,
	})
	labelsOfConnections = withOwners(map[string]labelMap{
		"process": numberKeys, "pid": digits, "name": labelsOfListeners["name"],
		"protocol": like(protocols), "direction": like(pattern(`in|out`)), "port": digits, "peer": peers, "peer_port": digits,
		"interface": func(m *Mapping, s string) (string, bool) { return m.shaped(interfaceNames, anIface, s), true },
	})
)
