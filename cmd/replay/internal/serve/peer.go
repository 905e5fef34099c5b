package serve

import (
	"net"
	"os"
	"slices"
	"syscall"

	"tachograph/cmd/internal/listen"
)

// A Peer is who has connected by the unix socket, as the kernel tells.
type Peer = listen.Peer

// Access says who may ask by the unix socket, besides root and the user that
// runs the server: what is served is what the files of the archives let these read.
type Access struct {
	// Paths are the archives: their owners may ask, and the members of their
	// groups where the files let the group read.
	Paths []string
	// Users and Groups may ask as well, by name or number.
	Users, Groups []string
}

// A gatekeeper decides who may ask.
type gatekeeper struct {
	paths         []string
	users, groups []int
	owner         int // who runs the server
	peerOf        func(*net.UnixConn) (*Peer, error)
}

func newGatekeeper(a Access) (*gatekeeper, error) {
	g := &gatekeeper{paths: a.Paths, owner: os.Getuid(), peerOf: listen.PeerOf, users: []int{0, os.Getuid(), os.Geteuid()}}
	for _, name := range a.Users {
		id, err := userID(name)
		if err != nil {
			return nil, err
		}
		g.users = append(g.users, id)
	}
	for _, name := range a.Groups {
		id, err := listen.GroupID(name)
		if err != nil {
			return nil, err
		}
		g.groups = append(g.groups, id)
	}
	return g, nil
}

// admits reports whether a peer may ask. The archives are looked at each time:
// one may not be there yet, or be given to others.
func (g *gatekeeper) admits(p *Peer) bool {
	if slices.Contains(g.users, p.UID) || slices.ContainsFunc(g.groups, func(id int) bool { return slices.Contains(p.Groups, id) }) {
		return true
	}
	for _, path := range g.paths {
		owner, group, ok := mayRead(path)
		if !ok || p.UID != owner && !slices.Contains(p.Groups, group) {
			return false // one is not theirs, and all are served alike
		}
	}
	return len(g.paths) > 0
}

// mayRead are the owner of an archive and the group that may read it; -1 if the
// group may not.
func mayRead(path string) (owner, group int, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	need := os.FileMode(0o040)
	if info.IsDir() {
		need = 0o050
	}
	if group = int(st.Gid); info.Mode()&need != need {
		group = -1
	}
	return int(st.Uid), group, true
}
