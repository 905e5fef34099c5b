package why

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// netMetrics is what else is recorded for tests of connections.
const netMetrics = `interval network 1m
metric network.interface.in.bytes u64 counter interface fast byte
metric network.interface.out.bytes u64 counter interface fast byte
metric network.interface.in.drops u64 counter interface fast count
metric network.interface.out.drops u64 counter interface fast count
metric network.tcp.listendrops u64 counter - fast count
metric network.tcp.attemptfails u64 counter - fast count
metric network.tcp.activeopens u64 counter - fast count
metric network.tcp.passiveopens u64 counter - fast count
metric network.tcp.retranssegs u64 counter - fast count
metric network.tcp.outsegs u64 counter - fast count
metric network.traffic.in_bytes u64 counter - process byte
metric network.traffic.out_bytes u64 counter - process byte
metric network.traffic.retrans_bytes u64 counter - process byte
metric network.traffic.unattributed.in_bytes u64 counter - process byte
metric network.traffic.unattributed.out_bytes u64 counter - process byte
metric network.traffic.closed u64 counter - process count
metric network.traffic.unattributed.closed u64 counter - process count
metric proc.runq.stopped u32 instant - process count
metric proc.net.in_bytes u64 counter process process byte
metric proc.net.out_bytes u64 counter process process byte
metric proc.net.loopback.in_bytes u64 counter process process byte
metric proc.net.loopback.out_bytes u64 counter process process byte
metric proc.net.opened u64 counter process process count
metric proc.net.accepted u64 counter process process count
metric proc.net.refused u64 counter process process count
metric proc.net.failed u64 counter process process count
metric network.listener.backlog u32 instant listener network
metric network.listener.backlog_limit u32 instant listener network
metric network.listener.drops u64 counter listener network count
metric network.persocket.timer.retrans u32 instant connection network
metric network.persocket.lastack u32 instant connection network millisec
metric network.persocket.age u64 instant connection network millisec
metric network.persocket.round_trip.rtt f64 instant connection network millisec
metric network.persocket.minrtt f64 instant connection network millisec
metric network.persocket.bytes_sent u64 counter connection network byte
metric network.persocket.bytes_retrans u64 counter connection network byte
metric network.persocket.bytes_received u64 counter connection network byte
instance interface lo lo
instance process 80 000080 nginx pid=80 parent=1 start=2026-11-20T02:20:00Z uid=0 service=nginx.service
instance process 81 000081 api pid=81 parent=1 start=2026-11-20T02:20:00Z uid=0 service=shop.service
instance process 82 000082 restic pid=82 parent=1 start=2026-11-20T02:20:00Z uid=0 service=backup.service
instance listener tcp_:443 tcp :443 process=80 pid=80 name=nginx service=nginx.service protocol=tcp port=443
instance listener tcp_:8080 tcp :8080 process=81 pid=81 name=api service=shop.service protocol=tcp port=8080`

// link is one of the connections of a test.
type link struct {
	key, process, pid, service string
	peer, port, direction      string
}

func (l *link) line() string {
	own := "40000"
	if l.direction == "in" {
		own = "443"
	}
	return fmt.Sprintf(`instance connection %s %s → %s:%s process=%s pid=%s name=%s service=%s protocol=tcp direction=%s peer=%s peer_port=%s port=%s`,
		l.key, l.process, l.peer, l.port, l.pid, l.pid, l.process, l.service, l.direction, l.peer, l.port, own)
}

// links are the connections of all tests: four of api to its database, one of restic to a
// backup, some of visitors of nginx.
func links() (list []link) {
	for i := range 4 {
		list = append(list, link{fmt.Sprintf("d%d", i), "api", "81", "shop.service", "net-0badbeef", "5432", "out"})
	}
	for i := range 6 {
		list = append(list, link{fmt.Sprintf("v%d", i), "nginx", "80", "nginx.service", fmt.Sprintf("net-1000000%d", i), fmt.Sprint(50000 + i), "in"})
	}
	return append(list, link{"r0", "api", "81", "shop.service", "net-0badbeef", "5432", "out"}, link{"b0", "restic", "82", "backup.service", "net-5afe5afe", "443", "out"}, link{"h0", "api", "81", "shop.service", "localhost", "6379", "out"})
}

// netQuiet is what everything does while all is well.
func netQuiet() []does {
	list := append(slices.Clone(quiet),
		does{"fast", "1s", "network.interface.in.bytes[eth0]", "rate=900000 noise=0.3"}, does{"fast", "1s", "network.interface.out.bytes[eth0]", "rate=700000 noise=0.3"},
		does{"fast", "1s", "network.interface.in.bytes[lo]", "rate=50000 noise=0.3"}, does{"fast", "1s", "network.interface.out.bytes[lo]", "rate=50000 noise=0.3"},
		does{"fast", "1s", "network.interface.in.packets[lo]", "rate=40"}, does{"fast", "1s", "network.interface.out.packets[lo]", "rate=40"},
		does{"fast", "1s", "network.interface.in.drops[eth0]", "rate=0"}, does{"fast", "1s", "network.interface.out.drops[eth0]", "rate=0"},
		does{"fast", "1s", "network.tcp.listendrops", "rate=0"}, does{"fast", "1s", "network.tcp.attemptfails", "rate=0.1"},
		does{"fast", "1s", "network.tcp.activeopens", "rate=3"}, does{"fast", "1s", "network.tcp.passiveopens", "rate=30 noise=0.3"},
		does{"fast", "1s", "network.tcp.retranssegs", "rate=2 noise=0.3"}, does{"fast", "1s", "network.tcp.outsegs", "rate=700 noise=0.3"})
	for name, form := range map[string]string{"in_bytes": "rate=900000", "out_bytes": "rate=700000", "retrans_bytes": "rate=900", "unattributed.in_bytes": "rate=900", "unattributed.out_bytes": "rate=900",
		"closed": "rate=30", "unattributed.closed": "rate=1"} {
		list = append(list, does{"process", "5s", "network.traffic." + name, form})
	}
	for key, rates := range map[string][2]string{"80": {"rate=500000 noise=0.3", "rate=600000 noise=0.3"}, "81": {"rate=90000 noise=0.3", "rate=40000 noise=0.3"}, "82": {"rate=100", "rate=900"}} {
		for i, name := range []string{"in_bytes", "out_bytes"} {
			list = append(list, does{"process", "5s", "proc.net." + name + "[" + key + "]", rates[i]}, does{"process", "5s", "proc.net.loopback." + name + "[" + key + "]", "rate=0"})
		}
		for _, name := range []string{"opened", "accepted", "refused", "failed"} {
			form := "rate=0"
			switch {
			case name == "opened" && key == "81":
				form = "rate=3"
			case name == "accepted" && key == "80":
				form = "rate=30 noise=0.3"
			}
			list = append(list, does{"process", "5s", "proc.net." + name + "[" + key + "]", form})
		}
		list = append(list, does{"process", "5s", "proc.psinfo.utime[" + key + "]", "rate=20000000 noise=0.3"}, does{"process", "5s", "proc.psinfo.stime[" + key + "]", "rate=2000000"},
			does{"process", "5s", "proc.memory.rss[" + key + "]", "level=30000"})
	}
	list = append(list, does{"process", "5s", "proc.runq.stopped", "0"}, does{"process", "5s", "proc.psinfo.sname[80]", `"S"`}, does{"costly", "1m", "proc.fd.count[81]", "level=40"})
	for key, limit := range map[string]string{"tcp_:443": "128", "tcp_:8080": "100"} {
		list = append(list, does{"network", "1m", "network.listener.backlog[" + key + "]", "1"}, does{"network", "1m", "network.listener.backlog_limit[" + key + "]", limit},
			does{"network", "1m", "network.listener.drops[" + key + "]", "rate=0"})
	}
	for _, l := range links() {
		if l.key == "r0" {
			continue // It is there in the trouble alone.
		}
		for name, form := range map[string]string{"timer.retrans": "0", "lastack": "40", "age": "level=3000000", "round_trip.rtt": "level=12 noise=0.2", "minrtt": "8",
			"bytes_sent": "rate=40000 noise=0.2", "bytes_retrans": "rate=200", "bytes_received": "rate=50000 noise=0.2"} {
			list = append(list, does{"network", "1m", "network.persocket." + name + "[" + l.key + "]", form})
		}
	}
	slices.SortStableFunc(list, func(x, y does) int { return strings.Compare(x.metric, y.metric) })
	return list
}

// all joins what several troubles change.
func all(list ...map[string]string) map[string]string {
	joined := make(map[string]string)
	for _, one := range list {
		maps.Copy(joined, one)
	}
	return joined
}

// connectionsOf makes n connections whose keys begin so do something else.
func connectionsOf(prefix string, n int, forms map[string]string) map[string]string {
	of := make(map[string]string)
	for i := range n {
		for name, form := range forms {
			of[fmt.Sprintf("network.persocket.%s[%s%d]", name, prefix, i)] = form
		}
	}
	return of
}

var (
	overflow = map[string]string{"network.listener.backlog[tcp_:443]": "128", "network.listener.drops[tcp_:443]": "rate=40", "network.tcp.listendrops": "rate=40"}
	silent   = map[string]string{"timer.retrans": "7", "lastack": "level=60000", "bytes_sent": "rate=0", "bytes_received": "rate=0"}
	slowly   = map[string]string{"round_trip.rtt": "level=900 noise=0.1"}
	lossy    = map[string]string{"bytes_retrans": "rate=9000"}
	refusing = map[string]string{"proc.net.refused[81]": "rate=30", "proc.net.opened[81]": "rate=33", "network.tcp.attemptfails": "rate=30", "network.tcp.activeopens": "rate=33"}
	flooding = map[string]string{"network.interface.out.bytes[eth0]": "rate=60000000", "network.interface.out.packets[eth0]": "rate=40000", "proc.net.out_bytes[82]": "rate=58000000",
		"network.traffic.out_bytes": "rate=59000000"}
)

// networked is a recording of a machine of which connections are recorded.
func networked(t *testing.T, trouble map[string]string, more ...string) query.Archive {
	lines := append(strings.Split(netMetrics, "\n"), more...)
	for _, l := range links() {
		lines = append(lines, l.line())
	}
	return recording(t, netQuiet(), trouble, lines...)
}

// What went wrong with connections is said with its process, port and peer, the cause first.
func TestNetworkTrouble(t *testing.T) {
	for _, c := range []struct {
		name    string
		trouble map[string]string
		kind    string
		says    []string
		second  []string // what line 2 says
	}{
		{"a queue overflows", overflow, "listener", []string{"nginx (pid 80) on port 443 had 128 of 128 connections waiting and dropped 40 a second from 03:10:0", "(calm: 0)"}, nil},
		{"a peer stops", connectionsOf("d", 4, silent), "peer", []string{"net-0badbeef:5432 stopped answering", "4 connections of api (pid 81) in shop.service waited, up to 1m"}, nil},
		{"a peer is slow", connectionsOf("d", 4, slowly), "slow peer", []string{"net-0badbeef:5432 answered slowly", "a round trip took ", "s (calm: 0.01", "for api (pid 81) in shop.service"}, nil},
		{"a peer does not receive", connectionsOf("d", 4, lossy), "lossy peer", []string{"net-0badbeef:5432 did not receive 2", " % of what api (pid 81) in shop.service sent to it"}, nil},
		{"a process floods", flooding, "network", []string{"restic (pid 82", ") in backup.service sent ", "of what processes sent; network eth0", "went out"}, nil},
		{"a process floods beside strangers", all(flooding, map[string]string{"network.traffic.out_bytes": "rate=70000000", "network.traffic.unattributed.out_bytes": "rate=12000000"}),
			"network", []string{"82 % of what processes sent (of 17 % it is not known whose they are); network eth0"}, nil},
		{"an interface loses packets", map[string]string{"network.interface.in.drops[eth0]": "rate=300"}, "network", []string{"network eth0 from 03:10:0", ": 300 a second were dropped (calm: 0)"}, nil},
		{"nobody floods", map[string]string{"network.interface.in.bytes[eth0]": "rate=60000000", "network.traffic.in_bytes": "rate=60000000", "network.traffic.unattributed.in_bytes": "rate=59000000"},
			"network", []string{"network eth0", "came in", "56.", "of it over connections of which it is not known whose they are"}, nil},
		{"a process floods, and round trips are longer", all(flooding, connectionsOf("b", 1, map[string]string{"round_trip.rtt": "level=400", "bytes_sent": "rate=58000000", "bytes_retrans": "rate=290000"}),
			connectionsOf("d", 4, map[string]string{"round_trip.rtt": "level=290 noise=0.1"})), "network", []string{"restic (pid 82", "of what processes sent; network eth0", "; net-0badbeef:5432 answered slowly"}, nil},
		{"a process floods, and the interface does not show it", map[string]string{"proc.net.out_bytes[82]": "rate=58000000", "network.traffic.out_bytes": "rate=59000000"},
			"network", []string{"restic (pid 82", ") in backup.service sent ", " of what processes sent from 03:10:0"}, nil},
		{"many connections", map[string]string{"proc.net.opened[81]": "rate=900", "network.tcp.activeopens": "rate=900"}, "connections",
			[]string{"api (pid 81", "connections a second from 03:", "TCP connections opened a second"}, nil},
		{"refused", all(refusing, connectionsOf("r", 1, map[string]string{"bytes_received": "0", "bytes_sent": "0", "age": "3"})), "unreachable",
			[]string{"api (pid 81", ") in shop.service could not reach net-0badbeef:5432: ", "connections a second were refused from 03:", "; 30 failed connections a second"}, nil},
		{"a peer stops, and therefore a queue overflows", all(connectionsOf("d", 4, silent),
			map[string]string{"network.listener.backlog[tcp_:8080]": "100", "network.listener.drops[tcp_:8080]": "rate=20", "network.tcp.listendrops": "rate=20"}),
			"peer", []string{"net-0badbeef:5432 stopped answering", "; api (pid 81) in shop.service on port 8080 dropped 20 connections a second"}, nil},
		{"a peer stops, and therefore files stay open", all(connectionsOf("d", 4, silent), map[string]string{"proc.fd.count[81]": "level=3000"}),
			"peer", []string{"net-0badbeef:5432 stopped answering", "; api (pid 81) in shop.service came to hold 3000 open files"}, nil},
		{"a process is stopped, and its queue overflows", all(overflow, map[string]string{"proc.runq.stopped": "1", "proc.psinfo.sname[80]": `"T"`, "proc.psinfo.utime[80]": "rate=0", "proc.psinfo.stime[80]": "rate=0"}),
			"stopped", []string{"nginx (pid 80) was stopped", "; nginx (pid 80) on port 443 dropped 40 connections a second"}, nil},
		{"a process computes instead of accepting", all(overflow, map[string]string{"proc.psinfo.utime[80]": "rate=960000000", "kernel.all.cpu.user": "rate=1150 noise=0.1"}),
			"runaway", []string{"nginx (pid 80", "of a core", "; nginx (pid 80) on port 443 dropped 40 connections a second"}, nil},
		{"the link is down", all(connectionsOf("d", 4, silent), connectionsOf("v", 6, silent), connectionsOf("b", 1, silent), map[string]string{"network.interface.running[eth0]": "0"}),
			"link", []string{"network eth0 lost or got its link 2 times", "; 8 peers stopped answering"}, nil},
		{"all peers stop", all(connectionsOf("d", 4, silent), connectionsOf("v", 6, silent), connectionsOf("b", 1, silent)),
			"peer", []string{"8 of 8 peers stopped answering at once", "11 connections of api (pid 81) in shop.service, nginx (pid 80) on port 443 and restic (pid 82) in backup.service waited"}, nil},
		{"strangers", map[string]string{"network.tcp.passiveopens": "rate=3000", "network.traffic.closed": "rate=3000", "network.traffic.unattributed.closed": "rate=2900"},
			"tcp.opened", []string{"; of 97 % of those that closed it is not known whose they were"}, nil},
		{"a queue overflows and a process floods", all(overflow, flooding), "", []string{"port 443"}, []string{"restic"}},
		{"a peer stops and another process is refused", all(connectionsOf("b", 1, silent), refusing), "unreachable", []string{"could not"}, []string{"net-5afe5afe:443 stopped answering"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := networked(t, c.trouble)
			for how, r := range map[string]Request{"window": {Window: window}, "at": {At: minute(11.6)}, "all": {}} {
				answer := ask(t, a, r)
				first := answer.Lines[0]
				if !answer.Found || first.Kind != c.kind && c.kind != "" {
					t.Errorf("%s: found %v, %+v", how, answer.Found, answer.Lines)
					continue
				}
				for _, says := range c.says {
					if !strings.Contains(first.Text, says) {
						t.Errorf("%s: no %q in %q", how, says, first.Text)
					}
				}
				if len(c.second) == 0 && len(answer.Lines) > 1 {
					t.Errorf("%s: %+v", how, answer.Lines[1:])
				}
				for _, says := range c.second {
					if len(answer.Lines) < 2 || !strings.Contains(answer.Lines[1].Text, says) {
						t.Errorf("%s: no %q in %+v", how, says, answer.Lines[1:])
					}
				}
				if len(first.Claims) == 0 {
					t.Errorf("%s: no claims", how)
				}
			}
		})
	}
}

// Nothing is said of networks that are busy and healthy.
func TestHealthyNetworks(t *testing.T) {
	for name, trouble := range map[string]map[string]string{
		"nothing":         nil,
		"loopback":        {"network.interface.in.bytes[lo]": "rate=90000000", "network.interface.out.bytes[lo]": "rate=90000000", "proc.net.in_bytes[81]": "rate=90000000", "proc.net.loopback.in_bytes[81]": "rate=90000000", "network.traffic.in_bytes": "rate=90000000"},
		"one retry":       connectionsOf("d", 4, map[string]string{"timer.retrans": "1", "lastack": "400"}),
		"few resent":      connectionsOf("d", 4, map[string]string{"bytes_sent": "rate=4000000", "bytes_retrans": "rate=20000"}),
		"a visitor":       connectionsOf("v", 1, silent),
		"farther away":    connectionsOf("d", 4, map[string]string{"round_trip.rtt": "level=60"}),
		"a filling queue": {"network.listener.backlog[tcp_:443]": "60"},
		"some refused":    {"proc.net.refused[81]": "rate=0.5"},
		"more visitors":   {"proc.net.accepted[80]": "rate=100", "network.tcp.passiveopens": "rate=100"},
	} {
		t.Run(name, func(t *testing.T) {
			a := networked(t, trouble)
			for how, r := range map[string]Request{"window": {Window: window}, "at": {At: minute(11.6)}, "all": {}} {
				if answer := ask(t, a, r); answer.Found {
					t.Errorf("%s: %+v", how, answer.Lines)
				}
			}
		})
	}
}

// A backup at full speed is usual if there was one at the same hour of the day before.
func TestUsualHour(t *testing.T) {
	later := query.Window{From: window.From + 24*3600e9, To: window.To + 24*3600e9}
	for name, before := range map[string]map[string]string{"once": nil, "daily": flooding} {
		lines := append(strings.Split(netMetrics, "\n"), strings.Split(ticks(netQuiet(), before, 0), "\n")...)
		for _, l := range links() {
			lines = slices.Insert(lines, 0, l.line())
		}
		parts, err := querytest.Parse(strings.NewReader(host + strings.Join(lines, "\n") + ticks(netQuiet(), flooding, 24)))
		if err != nil {
			t.Fatal(err)
		}
		answer := ask(t, querytest.New(parts...), Request{Window: later})
		if said := strings.Contains(answer.Lines[0].Text, "restic"); said != (before == nil) {
			t.Errorf("%s: %+v", name, answer.Lines)
		}
	}
}
