package socket

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
)

// Privacy says what is recorded of the machine on the other side of a connection.
type Privacy uint8

const (
	Pseudonyms Privacy = iota // a name that says nothing, always the same for the same machine
	Addresses
	Nothing
)

// ParsePrivacy returns what a word of the configuration means.
func ParsePrivacy(word string) (Privacy, error) {
	switch word {
	case "pseudonym":
		return Pseudonyms, nil
	case "address":
		return Addresses, nil
	case "off":
		return Nothing, nil
	}
	return 0, fmt.Errorf(`network.peers = %q: must be "pseudonym", "address" or "off"`, word)
}

// Names writes the addresses of connections as far as they may be recorded.
type Names struct {
	privacy Privacy
	key     []byte
	known   map[netip.Addr]string
}

// NewNames returns names by a rule. The key makes pseudonyms: nobody without it can find out
// which address one is for, by trying all addresses.
func NewNames(privacy Privacy, key []byte) *Names {
	return &Names{privacy: privacy, key: key, known: make(map[netip.Addr]string)}
}

// mostKnown limits the pseudonyms that are kept, because a server talks to very many machines.
const mostKnown = 8192

// localhost names this machine.
const localhost = "localhost"

// Peer returns the name of the other side of a connection; it is empty if it is not recorded.
// The name of this machine is the same under every rule.
func (n *Names) Peer(s *Socket) string {
	addr := s.Peer.Addr().Unmap()
	switch {
	case !addr.IsValid() || addr.IsUnspecified():
		return ""
	case s.Loopback:
		return localhost
	}
	return n.remote(addr)
}

func (n *Names) remote(addr netip.Addr) string {
	switch n.privacy {
	case Addresses:
		return addr.String()
	case Nothing:
		return ""
	}
	name, ok := n.known[addr]
	if !ok {
		if len(n.known) >= mostKnown {
			clear(n.known)
		}
		name = n.pseudonym(addr)
		n.known[addr] = name
	}
	return name
}

// pseudonym says of an address only whether its machine is near: in a private network or on the
// same link.
func (n *Names) pseudonym(addr netip.Addr) string {
	mac := hmac.New(sha256.New, n.key)
	mac.Write(addr.WithZone("").AsSlice())
	digits := hex.EncodeToString(mac.Sum(nil)[:4])
	switch {
	case addr.IsMulticast():
		return "multicast-" + digits
	case addr.IsPrivate() || addr.IsLinkLocalUnicast():
		return "lan-" + digits
	}
	return "net-" + digits
}

// Local returns the name of an address of this machine, empty for every address: which addresses
// it has is recorded only if those of others are.
func (n *Names) Local(addr netip.Addr) string {
	addr = addr.Unmap()
	switch {
	case !addr.IsValid() || addr.IsUnspecified():
		return ""
	case addr.IsLoopback() || n.privacy == Addresses:
		return addr.String()
	case n.privacy == Nothing:
		return "an address"
	}
	return n.remote(addr)
}
