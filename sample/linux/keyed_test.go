package linux

import (
	"testing"

	"tachograph/sample/metric"
)

const meminfo = `MemTotal:       24684084 kB
MemFree:        23880476 kB
MemAvailable:   24196064 kB
Buffers:            5160 kB
Cached:           452432 kB
Active:           273952 kB
Active(anon):       1572 kB
SwapTotal:       1048576 kB
SwapFree:         524288 kB
Zswap:              8192 kB
Zswapped:          40960 kB
Dirty:             12856 kB
Writeback:            32 kB
HugePages_Total:       7
Hugepagesize:       2048 kB
`

const netSNMP = `Ip: Forwarding DefaultTTL InReceives
Ip: 2 64 4641
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens InSegs
Tcp: 1 200 120000 -1 43 18446744073709551615
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
Udp: 54 1 2 55 3 4 5 6 7
UdpLite: InDatagrams NoPorts
UdpLite: 99 99
`

func TestKeyedFiles(t *testing.T) {
	root := tree(t, map[string]string{
		"proc/meminfo":      meminfo,
		"proc/vmstat":       "nr_free_pages 5970119\npgfault 18446744073709551610\npswpin 7\nnr_active_anon 10\nnr_active_file 20\n",
		"proc/net/snmp":     netSNMP,
		"proc/net/netstat":  "TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 11 12\nIpExt: InOctets\nIpExt: 13\n",
		"proc/net/snmp6":    "Ip6InReceives                   \t1\nUdp6NoPorts                     \t2\n",
		"proc/net/sockstat": "sockets: used 17\nTCP: inuse 1 orphan 2 tw 3 alloc 4 mem 5\nUDP: inuse 6 mem 7\n",
	})
	got := make(map[cell]metric.Value)
	unsupported := make(map[string]string)
	for _, k := range keyedFiles {
		s, err := newKeyed(k, root)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for _, d := range s.group.Metrics {
			unsupported[d.Name] = d.Unsupported
		}
		if fs := framesOf(s); len(fs) > 0 {
			for c, v := range readAll(t, clock(nil), s) {
				got[c] = v
			}
		}
	}
	expect(t, got, map[cell]string{
		{"mem.physmem", ""}:               "24684084",
		{"hinv.physmem", ""}:              "24105",
		{"mem.util.used", ""}:             "803608",
		{"mem.util.cache_clean", ""}:      "439544",
		{"mem.util.active_anon", ""}:      "1572",
		{"swap.length", ""}:               "1073741824",
		{"swap.used", ""}:                 "536870912",
		{"mem.util.hugepagesTotal", ""}:   "7",
		{"hinv.hugepagesize", ""}:         "2097152",
		{"mem.util.compressed", ""}:       "8192",
		{"mem.pages.freemem", ""}:         "5970119",
		{"mem.pages.active", ""}:          "30",
		{"mem.pages.faults", ""}:          "18446744073709551610",
		{"mem.vmstat.pgfault", ""}:        "18446744073709551610",
		{"swap.pagesin", ""}:              "7",
		{"network.tcp.maxconn", ""}:       "-1",
		{"network.tcp.rtomax", ""}:        "120000",
		{"network.tcp.insegs", ""}:        "18446744073709551615",
		{"network.udp.indatagrams", ""}:   "54",
		{"network.udp.rcvbuferrors", ""}:  "3",
		{"network.udp.recvbuferrors", ""}: "3",
		{"network.ip.defaultttl", ""}:     "64",
		{"network.tcp.timeouts", ""}:      "12",
		{"network.ip.inoctets", ""}:       "13",
		{"network.ipv6.inreceives", ""}:   "1",
		{"network.udp6.noports", ""}:      "2",
		{"network.sockstat.total", ""}:    "17",
		{"network.sockstat.tcp.tw", ""}:   "3",
		{"network.sockstat.udp.mem", ""}:  "7",
	})
	for name, want := range map[string]string{
		"mem.util.slab":               "this kernel's /proc/meminfo has no Slab",
		"network.tcp.attemptfails":    "this kernel's /proc/net/snmp has no Tcp: AttemptFails",
		"network.sockstat.tcp6.inuse": "this kernel has no /proc/net/sockstat6",
		"mem.freemem":                 "",
	} {
		t.Run(name, func(t *testing.T) {
			if unsupported[name] != want {
				t.Errorf("unsupported %q, want %q", unsupported[name], want)
			}
		})
	}
}

// If a kernel no longer has a key, its value is absent, not zero.
func TestKeyedLosesAKey(t *testing.T) {
	root := tree(t, map[string]string{"proc/meminfo": meminfo})
	s, err := newKeyed(keyedFiles[0], root)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fs := framesOf(s)
	write(t, root, "proc/meminfo", "MemTotal: 10 kB\n")
	if err := s.Read(clock(nil), fs); err != nil {
		t.Fatal(err)
	}
	expect(t, cells(fs), map[cell]string{
		{"mem.physmem", ""}: "10", {"mem.freemem", ""}: "absent: unsupported", {"mem.util.used", ""}: "absent: unsupported",
	})
}

func TestSplitTerms(t *testing.T) {
	for in, want := range map[string]int{"MemFree": 1, "MemTotal - MemFree": 3, "A + B - C": 5, "Tcp: InSegs": 1, "a-b": 1} {
		t.Run(in, func(t *testing.T) {
			if got := splitTerms(in); len(got) != want {
				t.Errorf("%q", got)
			}
		})
	}
}

func FuzzKeyed(f *testing.F) {
	f.Add([]byte(meminfo))
	f.Add([]byte(netSNMP))
	f.Add([]byte("TCP: inuse 1 orphan\nTcp:\nTcp: 9\n: 1\n\x00 5\nA: -9223372036854775808\n"))
	var scans []*keyed
	root := tree(f, map[string]string{"proc/meminfo": meminfo, "proc/net/snmp": netSNMP})
	for _, k := range keyedFiles {
		s, err := newKeyed(k, root)
		if err != nil {
			f.Fatal(err)
		}
		scans = append(scans, s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, s := range scans {
			s.begin()
			s.scan(data, &s.reading)
		}
	})
}
