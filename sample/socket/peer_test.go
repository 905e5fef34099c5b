package socket

import (
	"net/netip"
	"regexp"
	"testing"
)

func TestNames(t *testing.T) {
	key := []byte("a key")
	to := func(peer string) *Socket {
		s := &Socket{}
		if peer != "" {
			s.Peer = netip.AddrPortFrom(netip.MustParseAddr(peer), 443)
			s.Loopback = s.Peer.Addr().Unmap().IsLoopback()
		}
		return s
	}
	for _, c := range []struct {
		privacy     Privacy
		peer        string
		want, local string // want is a pattern
	}{
		{Pseudonyms, "192.168.1.9", "lan-[0-9a-f]{8}", ""},
		{Pseudonyms, "10.0.0.1", "lan-[0-9a-f]{8}", ""},
		{Pseudonyms, "fe80::1%en0", "lan-[0-9a-f]{8}", ""},
		{Pseudonyms, "fd00::1", "lan-[0-9a-f]{8}", ""},
		{Pseudonyms, "93.184.216.34", "net-[0-9a-f]{8}", ""},
		{Pseudonyms, "2606:2800:220:1::1", "net-[0-9a-f]{8}", ""},
		{Pseudonyms, "224.0.0.251", "multicast-[0-9a-f]{8}", ""},
		{Pseudonyms, "127.0.0.1", "localhost", "127.0.0.1"},
		{Pseudonyms, "::ffff:127.0.0.1", "localhost", "127.0.0.1"},
		{Pseudonyms, "0.0.0.0", "", ""},
		{Pseudonyms, "", "", ""},
		{Addresses, "93.184.216.34", `93\.184\.216\.34`, "93.184.216.34"},
		{Addresses, "::ffff:93.184.216.34", `93\.184\.216\.34`, "93.184.216.34"},
		{Addresses, "::1", "localhost", "::1"},
		{Nothing, "93.184.216.34", "", "an address"},
		{Nothing, "127.0.0.1", "localhost", "127.0.0.1"},
	} {
		n := NewNames(c.privacy, key)
		s := to(c.peer)
		got := n.Peer(s)
		if !regexp.MustCompile("^" + c.want + "$").MatchString(got) {
			t.Errorf("%d, %s: %q, want %s", c.privacy, c.peer, got, c.want)
		}
		if again := n.Peer(s); again != got {
			t.Errorf("%s has the names %q and %q", c.peer, got, again)
		}
		if local := n.Local(s.Peer.Addr()); c.privacy != Pseudonyms && local != c.local || c.local != "" && local != c.local {
			t.Errorf("%d, local %s: %q, want %q", c.privacy, c.peer, local, c.local)
		}
	}
}

// The same machine has one pseudonym, also on a socket of the other family and on another link.
func TestPseudonymsLast(t *testing.T) {
	name := func(key, peer string) string {
		return NewNames(Pseudonyms, []byte(key)).Peer(&Socket{Peer: netip.AddrPortFrom(netip.MustParseAddr(peer), 1)})
	}
	if a, b := name("k", "93.184.216.34"), name("k", "::ffff:93.184.216.34"); a != b {
		t.Errorf("%s is not %s", a, b)
	}
	if a, b := name("k", "fe80::1%en0"), name("k", "fe80::1%en1"); a != b {
		t.Errorf("%s is not %s", a, b)
	}
	if a, b := name("k", "93.184.216.34"), name("k", "93.184.216.35"); a == b {
		t.Errorf("two machines are %s", a)
	}
	if a, b := name("k", "93.184.216.34"), name("another", "93.184.216.34"); a == b {
		t.Errorf("two keys give %s", a)
	}
}

// A server that talks to very many machines does not keep all their names.
func TestNamesAreBounded(t *testing.T) {
	n := NewNames(Pseudonyms, nil)
	s := &Socket{}
	for i := range 3 * mostKnown {
		s.Peer = netip.AddrPortFrom(netip.AddrFrom4([4]byte{8, byte(i >> 16), byte(i >> 8), byte(i)}), 1)
		n.Peer(s)
	}
	if len(n.known) > mostKnown {
		t.Errorf("%d names are kept", len(n.known))
	}
}
