package serve

import (
	"net"
	"os"
	"slices"
	"syscall"

	"tachograph/cmd/internal/listen"
)

// A Peer is the user who has connected to the unix socket, as the kernel reports.
type Peer = listen.Peer

// Access says who may ask on the unix socket, besides root and the user that runs the server. By
// default, users who may read the archives' files may ask.
type Access struct {
	// Paths are the archives. Their owners may ask, and so may the members of their groups if
	// the files are readable for the group.
	Paths []string
	// Users and Groups may ask too, by name or number.
	Users, Groups []string
}

// A gatekeeper decides who may ask.
type gatekeeper struct {
	paths         []string
	users, groups []int
	owner         int // the user who runs the server
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

// admits reports whether a peer may ask. It checks the archives each time: one may not exist
// yet, or change its owner.
func (g *gatekeeper) admits(p *Peer) bool {
	if slices.Contains(g.users, p.UID) || slices.ContainsFunc(g.groups, func(id int) bool { return slices.Contains(p.Groups, id) }) {
		return true
	}
	for _, path := range g.paths {
		owner, group, ok := mayRead(path)
		if !ok || p.UID != owner && !slices.Contains(p.Groups, group) {
			return false // one archive is not readable for the peer, and all are served together
		}
	}
	return len(g.paths) > 0
}

// mayRead returns the owner of an archive, and the group that may read it; -1 if the group may
// not.
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
