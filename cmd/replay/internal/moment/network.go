package moment

import (
	"tachograph/store/query"
)

// Network is who used the network at a moment: in the time between the last two readings.
type Network struct {
	// Processes and Owners say who used it; nil where that was not recorded.
	Processes, Owners *query.NetUse
	// Connections and Ports are those that had values of their own; nil where none were recorded.
	Connections, Ports *query.Sockets
}

// recordsNetwork reports whether the recording says who used the network.
func (r *Recording) recordsNetwork() bool {
	for _, name := range []string{"proc.net.in_bytes", "network.persocket.state"} {
		if d := r.a.Lookup(name); d != nil && d.Unsupported == "" {
			return true
		}
	}
	return false
}

// Network reads who used the network at an instant; nil where the recording does not say that.
func (r *Recording) Network(at int64) (*Network, error) {
	if !r.recordsNetwork() {
		return nil, nil
	}
	n, a, w := &Network{}, r.near(at), r.window(max(at-reach, r.from), at)
	everybody, err := query.NewMatcher(nil)
	if err != nil {
		return nil, err
	}
	// Of what was not recorded then there is nothing to show.
	use := func(group query.Grouping) *query.NetUse {
		u, err := query.Net(a, w, query.NetQuestion{Matcher: everybody, By: query.ByNet, Group: group, Last: true})
		if err != nil {
			return nil
		}
		return u
	}
	n.Processes = use(query.PerProcess)
	if query.OwnersRecorded(a) {
		n.Owners = use(query.PerOwner)
	}
	for _, list := range []struct {
		to   **query.Sockets
		read func(query.Archive, query.Window, *query.Matcher, bool) ([]*query.Sockets, error)
	}{{&n.Connections, query.Connections}, {&n.Ports, query.Listeners}} {
		if s, err := list.read(a, w, everybody, true); err == nil {
			*list.to = s[0]
		}
	}
	return n, r.given()
}
