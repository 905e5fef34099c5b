package redact

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/query/querytest"
)

func TestEndpoints(t *testing.T) {
	m := New(Options{})
	for _, c := range []struct {
		in, out string // {KIND}: a pseudonym of that kind
	}{
		{"203.0.113.7:443", "{net}:443"}, {"10.0.0.9:22", "{lan}:22"}, {"192.168.178.40", "{lan}"}, {"169.254.7.7:*", "{lan}:*"},
		{"[2001:db8::7]:443", "[{net}]:443"}, {"2001:db8::7", "{net}"}, {"[fe80::1c2:3%en0]:5353", "[{lan}]:5353"}, {"fd00::7", "{lan}"}, {"fe80::1%wg-zaphod", "{lan}"},
		{"net-3f2a9c81:443", "{net}:443"}, {"lan-3f2a9c81", "{lan}"}, {"zaphod.example:443", "{net}:443"}, {"zaphod", "{net}"}, {"224.0.0.251:5353", "{multicast}:5353"}, {"ff02::fb", "{multicast}"}, {"multicast-e00000fb", "{multicast}"}, {"an address:443", "an address:443"}, {"[zaphod", "[{net}]"},
		{"127.0.0.1:53", "127.0.0.1:53"}, {"[::1]:53", "[::1]:53"}, {"localhost:53", "localhost:53"}, {"localhost", "localhost"}, {"::1", "::1"},
		{":443", ":443"}, {"*:443", "*:443"}, {"0.0.0.0:443", "0.0.0.0:443"}, {"[::]:443", "[::]:443"}, {"", ""},
	} {
		got := m.endpoint(c.in)
		want := c.out
		for _, k := range []kind{aRemote, aNeighbour, everybody} {
			for given, of := range m.names.taken {
				if of.kind == k && strings.Contains(got, given) {
					want = strings.ReplaceAll(want, "{"+string(k)+"}", given)
				}
			}
		}
		if got != want || got != c.in && strings.Contains(got, strings.Trim(c.in, "[]")) {
			t.Errorf("%s became %s, not %s", c.in, got, c.out)
		}
		if again := m.endpoint(c.in); again != got {
			t.Errorf("%s became %s and %s", c.in, got, again)
		}
	}
	if m.peer("::ffff:203.0.113.7") != m.peer("203.0.113.7") || m.peer("203.0.113.7") == m.peer("203.0.113.8") {
		t.Error("one machine has two pseudonyms, or two have one")
	}
	if New(Options{}).peer("net-3f2a9c81") == m.peer("net-3f2a9c81") {
		t.Error("two copies have one pseudonym")
	}
}

// What a connection's metrics say is mapped as its instance is.
func TestConnections(t *testing.T) {
	m := New(Options{})
	peer, user := m.peer("net-3f2a9c81"), strconv.FormatUint(m.number(1000), 10)
	for name, c := range map[string]struct{ in, out string }{
		"network.persocket.dst": {"net-3f2a9c81:443", peer + ":443"}, "network.persocket.src": {"443", "443"},
		"network.persocket.process": {"12/345", "12/345"}, "network.persocket.netid": {"tcp", "tcp"}, "network.persocket.state": {"FIN-WAIT-1", "FIN-WAIT-1"},
		"network.persocket.congestion": {"bbr", "bbr"},
	} {
		if got, keep := m.Text(catalog.Find(catalog.Linux, name), nil, c.in); got != c.out || !keep {
			t.Errorf("%s: %s became %q", name, c.in, got)
		}
	}
	if got, _ := m.Text(catalog.Find(catalog.Linux, "network.persocket.src"), nil, "10.0.0.9:443"); !strings.HasPrefix(got, "lan-") {
		t.Errorf("10.0.0.9 became %s", got)
	}
	if n, _ := m.Number(catalog.Find(catalog.Linux, "network.persocket.uid"), 1000); strconv.FormatUint(n, 10) != user {
		t.Errorf("the user of a connection became %d, that of a process %s", n, user)
	}
	e, _ := m.Event(metric.Event{Kind: metric.EventTrigger, Indom: "connection", Key: "00000000000a41c7", Text: "slow: zaphodd → net-3f2a9c81:443: rtt > 1 s for 1m0s",
		Labels: []metric.Label{{Name: "trigger", Value: "slow"}, {Name: "when", Value: "rtt > 1 s"}}})
	if want := m.process("zaphodd") + " → " + peer + ":443"; !strings.Contains(e.Text, want) || e.Key != "00000000000a41c7" {
		t.Errorf("the event became %q", e.Text)
	}
	m.Instance("connection", &metric.Instance{Key: "00000000000a41c7", Name: "zaphodd → net-3f2a9c81:443"})
	if !slices.ContainsFunc(m.Left(), func(s string) bool { return strings.HasPrefix(s, "ports of connections") }) {
		t.Error("nobody is told that ports are left")
	}
}

// A recording in which peers are pseudonyms, and one in which they are addresses: a copy has none of
// them, and as many others.
func TestPeersOfARecording(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/net.txt")
	if err != nil {
		t.Fatal(err)
	}
	recorded := regexp.MustCompile(`\b(net|lan)-[0-9a-f]{8}\b`)
	text := strings.ReplaceAll(string(raw), "nginx", "zaphodd")
	for name, address := range map[string]func(peer string, n int) string{
		"pseudonyms": func(peer string, _ int) string { return peer },
		"IPv4": func(peer string, n int) string {
			return map[bool]string{true: "10.42.7.", false: "203.0.113."}[peer[0] == 'l'] + fmt.Sprint(100+n)
		},
		"IPv6": func(peer string, n int) string {
			return map[bool]string{true: "fe80::42:", false: "2001:db8::42:"}[peer[0] == 'l'] + fmt.Sprintf("%x", 0x1000+n)
		},
	} {
		var peers []string
		as := recorded.ReplaceAllStringFunc(text, func(peer string) string {
			if !slices.Contains(peers, peer) {
				peers = append(peers, peer)
			}
			return address(peer, slices.Index(peers, peer))
		})
		// As it is recorded, an address of IPv6 has brackets before a port.
		as = regexp.MustCompile(`→ ((fe80|2001):[0-9a-f:]+):(\d+)`).ReplaceAllString(as, "→ [$1]:$3")
		parts, err := querytest.Parse(strings.NewReader(as))
		if err != nil {
			t.Fatal(err)
		}
		m := New(Options{})
		m.Host(parts[0].Info.Host)
		said, labels := make(map[string]bool), make(map[string]bool)
		for _, tick := range parts[0].Ticks {
			for _, b := range tick.Blocks {
				for _, in := range b.Rows {
					if in == nil {
						continue
					}
					out := m.Instance(b.Group.Indom, in)
					said[fmt.Sprintf("%s %s %v", out.Key, out.Name, out.Labels)] = true
					if peer := out.Label("peer"); peer != "" {
						labels[peer] = true
						if !strings.Contains(out.Name, peer) {
							t.Errorf("%s: the connection %s has the peer %s", name, out.Name, peer)
						}
					}
				}
				for i, c := range b.Cols {
					for _, w := range c.Words {
						if text, keep := m.Text(b.Group.Metrics[i], nil, w); keep {
							said[text] = true
						}
					}
				}
			}
		}
		var all strings.Builder
		for s := range said {
			all.WriteString(s + "\n")
		}
		search(t, all.String(), secret)
		for i, peer := range peers {
			search(t, all.String(), peer, address(peer, i))
		}
		if len(labels) != len(peers)+1 || !labels["localhost"] {
			t.Errorf("%s: %d peers became %d: %v", name, len(peers), len(labels), labels)
		}
	}
}
