package darwin

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"tachograph/sample/darwin/darwintest"
	"tachograph/sample/darwin/rows"
)

// Each kernel has memory statistics of its own length. macOS 26 logs every call that asks
// for more than it has. macOS 27 answers a call that asks for less with its newest answer
// and a refusal. Neither may lose a value or cause a line in the log, also if other programs
// have used up all fresh answers.
func TestMemoryStatisticsOfEveryLength(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	for _, c := range []struct {
		words  int
		newest string
	}{{38, "no"}, {40, "no"}, {62, "no"}, {66, "yes"}, {104, "yes"}} {
		for _, limit := range []string{"no", "yes", "taken"} {
			t.Run(fmt.Sprintf("%d words, cached newest %s, limited %s", c.words, c.newest, limit), func(t *testing.T) {
				scn := write(t, fmt.Sprintf("host { root yes; vm_words %d; vm_cached_newest %s; rate_limit %s }", c.words, c.newest, limit))
				r := m.run(t, scn, runOptions{rounds: 6, period: "1100ms", only: "fast"})
				for round := range r.rounds {
					for _, metric := range []string{"mem.freemem", "mem.pages.faults", "mem.compressions", "mem.util.used"} {
						if x := r.at(t, round, metric, ""); x.value == "" {
							t.Errorf("round %d: %s is absent: %s", round, metric, x.absent)
						}
					}
					if round > 0 && r.number(t, round, "mem.pages.faults", "") <= r.number(t, round-1, "mem.pages.faults", "") {
						t.Errorf("round %d: the faults are those of before", round)
					}
				}
				if strings.Contains(r.report, "kernel log:") {
					t.Errorf("the kernel had something to log:\n%s", r.report)
				}
			})
		}
	}
}

// An answer that is repeated within a second is not a measurement on 27 either.
func TestRepeatedNewestAnswersAreStale(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	r := m.run(t, write(t, "host { vm_words 104; vm_cached_newest yes; rate_limit taken }"), runOptions{rounds: 16, period: "250ms", only: "fast"})
	for _, metric := range []string{"mem.pages.faults", "mem.compressions"} {
		last, stale, fresh := "", 0, 0
		for round := range r.rounds {
			switch x := r.at(t, round, metric, ""); {
			case x.absent == "stale":
				stale++
			case x.value == "" || x.value == last:
				t.Errorf("round %d: %s %q (%s) passes for a new answer", round, metric, x.value, x.absent)
			default:
				last = x.value
				fresh++
			}
		}
		if stale == 0 || fresh < 3 {
			t.Errorf("%s: %d answers were stale and %d fresh", metric, stale, fresh)
		}
	}
}

// If the kernel lists only the caller's own sockets, the list must not be counted:
// connections are absent, whichever sign shows that there are others. Zeros of the TCP
// statistics must not be believed because the list has no connection.
func TestListsOfOnesOwnSockets(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	const zeros = "sysctl net.inet.tcp.disable_access_to_stats 0\nsysctl net.inet.tcp.stats hex "
	own := `tcp ESTABLISHED "10.0.0.1:5001" "10.0.0.2:80" { own yes }` + "\n"
	counted := func(r *recording) (names []string) {
		for metric, why := range r.lacking {
			if (strings.HasPrefix(metric, "network.tcpconn.") || metric == "network.tcp.currestab") && why == "" {
				names = append(names, metric)
			}
		}
		return names
	}
	for name, c := range map[string]struct {
		scenario string
		whole    bool
	}{
		"counted":               {"host { root no; pcblist_own yes }", false},
		"not counted":           {"host { root no; pcblist_own uncounted }", false},
		"some of his own":       {"host { root no; pcblist_own uncounted }\n" + own + own, false},
		"no pcbcount":           {"host { root no; pcblist_own uncounted }\nsysctl net.inet.tcp.pcbcount absent", false},
		"pcbcount is refused":   {"host { root no; pcblist_own uncounted }\nfail sysctl:net.inet.tcp.pcbcount EPERM", false},
		"nobody's":              {"host { root no; pcblist_own yes }\nclear tcp", true},
		"all his own":           {"host { root no; pcblist_own yes }\nclear tcp\n" + own, true},
		"root":                  {"host { root yes; pcblist_own yes }", true},
		"root, empty statistic": {"host { root yes; pcblist_own yes }\n" + zeros + `"` + strings.Repeat("00", 992) + `"`, true},
		"nothing but zeros":     {"host { root no; pcblist_own uncounted }\n" + zeros + `"` + strings.Repeat("00", 992) + `"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			user := "self { as_uid 501 }\n"
			if strings.HasPrefix(name, "root") {
				user = ""
			}
			r := m.run(t, write(t, user+"freeze 10\n"+c.scenario), runOptions{rounds: 1, period: "1s"})
			names := counted(r)
			if len(names) != 12 {
				t.Errorf("%d metrics count connections: %q", len(names), names)
			}
			for _, metric := range names {
				switch x := r.at(t, 0, metric, ""); {
				case c.whole && x.value == "":
					t.Errorf("%s is absent: %s", metric, x.absent)
				case !c.whole && x.absent != tcpListWithheld:
					t.Errorf("%s = %q (%s), want the reason", metric, x.value, x.absent)
				}
			}
			switch x := r.at(t, 0, "network.tcp.insegs", ""); {
			case name == "nothing but zeros" && x.absent != tcpUnprovenZero, name == "root, empty statistic" && x.absent != tcpWithheldByZero:
				t.Errorf("insegs = %q (%s)", x.value, x.absent)
			}
		})
	}
}

// If the keys of a processor's sensors are not known, it has no temperature: its SMC may use
// the same key names for something else. If a sensor of a known processor shows an
// impossible temperature, the next sensor is used.
func TestSensorsOfUnknownProcessors(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	r := m.run(t, write(t, `
sysctl machdep.cpu.brand_string "Apple M7 Max"
smc Tp00 flt 71.5
smc Tp01 flt 51.5
smc Tg0U flt 61.5
smc TC0D sp78 55
`), runOptions{rounds: 1, period: "1s"})
	for _, metric := range []string{"thermal.cpu.die", "thermal.gpu.die"} {
		if x := r.at(t, 0, metric, ""); x.value != "" || !strings.Contains(r.lacking[metric], "Apple M7 Max") {
			t.Errorf("%s = %q (%q), want it lacking with the processor's name", metric, x.value, r.lacking[metric])
		}
	}
	if x := r.at(t, 0, "thermal.ambient", ""); x.value == "" {
		t.Errorf("what every Mac has under this key is absent: %s", x.absent)
	}
	r = m.run(t, write(t, `
smc Tp01 flt 6.7
smc Tp05 flt 0
smc Tp09 flt step 61.5 2.5 6.7 4.5 62
smc Tg0f flt 6.7
`), runOptions{rounds: 6, period: "1s", only: "polled"})
	for round := range r.rounds {
		x := r.at(t, round, "thermal.cpu.die", "")
		if r.during(round, 0, 2.5) && x.value != "61.5" || r.during(round, 2.5, 4.5) && x.absent != rows.Implausible.String() ||
			r.during(round, 4.5, 100) && x.value != "62" {
			t.Errorf("round %d: the processor %q (%s)", round, x.value, x.absent)
		}
		if x := r.at(t, round, "thermal.gpu.die", ""); x.absent != rows.Implausible.String() {
			t.Errorf("round %d: the graphics processor %q (%s)", round, x.value, x.absent)
		}
	}
}

// If a driver hands data to programs without the kernel counting it, the counter of received
// bytes stands still. Its value is then absent, and so is the total. This must be noticed if
// packets are counted (packets came, but no bytes) and if they are not (the protocols
// received more than all interfaces).
func TestReceivedBytesThatStand(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	for name, c := range map[string]struct {
		en0    string
		stands bool
		also   string // another counter that stands still
	}{
		"packets are counted":       {"ibytes counter 1000000 350000 still 4.5 30.5; ipackets counter 8000 300; obytes counter 1000 60000; opackets counter 100 180", true, ""},
		"nothing is counted":        {"ibytes counter 1000000 350000 still 4.5 30.5; ipackets counter 8000 300 still 4.5 30.5; obytes counter 1000 60000; opackets counter 100 180", true, "network.interface.in.packets"},
		"nothing comes, none sends": {"ibytes counter 1000000 350000 still 4.5 30.5; ipackets counter 8000 300 still 4.5 30.5; obytes 77; opackets 7", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := m.cover(t, write(t, "host { root yes }\nstats net.inet6.ip6.stats { ip6s_total 5 }\ninterface en0 { "+c.en0+" }"),
				runOptions{rounds: 40, period: "1s", only: "fast"}, [2]float64{0, 4.5}, [2]float64{27, 30}, [2]float64{32, 100})
			for round := range r.rounds {
				for _, s := range []darwintest.Series{{Metric: "network.interface.in.bytes", Instance: "en0"}, {Metric: "network.interface.total.bytes", Instance: "en0"},
					{Metric: "network.all.in.bytes"}, {Metric: "network.all.total.bytes"}, {Metric: c.also, Instance: "en0"}} {
					x, absent := r.rounds[round][s], c.stands && r.during(round, 27, 30)
					switch {
					case s.Metric == "":
					case absent && x.absent != standsStill.String():
						t.Errorf("round %d: %s[%s] = %q (%s) although the counter stands", round, s.Metric, s.Instance, x.value, x.absent)
					case x.value == "" && (!c.stands || r.during(round, 0, 4.5) || r.during(round, 32, 100)):
						t.Errorf("round %d: %s[%s] is absent: %s", round, s.Metric, s.Instance, x.absent)
					}
				}
				for _, s := range []darwintest.Series{{Metric: "network.interface.out.bytes", Instance: "en0"}, {Metric: "network.all.out.bytes"}, {Metric: "network.interface.in.bytes", Instance: "awdl0"}} {
					if x := r.rounds[round][s]; x.value == "" {
						t.Errorf("round %d: %s[%s] is absent: %s", round, s.Metric, s.Instance, x.absent)
					}
				}
			}
			want := map[bool]int{true: 1}[c.stands]
			if r.countEvents("network interface en0 has stopped counting received bytes") != want || r.countEvents("network interface en0 counts received bytes again") != want {
				t.Errorf("events %q", r.events)
			}
		})
	}
}

// TestBytesOfConnections has a driver that stops counting what it receives, and connections that
// go on. What they receive is added to the counter, once, and the total has it, too.
func TestBytesOfConnections(t *testing.T) {
	t.Parallel()
	m := simulated(t)
	const counted, carried = 350_000, 300_000 // per second
	for name, packets := range map[string]string{"packets are counted": "", "nothing is counted": " still 10.5 60.5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := m.cover(t, write(t, fmt.Sprintf(`host { root yes }
clear tcp udp interface
process 700 { name browser }
interface lo0 { index 1; ibytes 5; obytes 5 }
interface en0 { index 4; ibytes counter 1000000 %d still 10.5 60.5; ipackets counter 8000 300%s; obytes counter 1000 60000; opackets counter 100 180 }
interface utun0 { index 8; type 1; ibytes counter 500 90000; ipackets counter 5 90; obytes 5; opackets 5 }
flow quic "192.168.1.23:50300" "142.250.1.1:443" { pid 700; rx counter 77000000 %d; tx counter 500 40000 }
flow tcp_user "10.8.0.2:50303" "10.8.0.1:443" { pid 700; interface utun0; medium none; rx counter 4000 80000; tx 78 }
`, counted, packets, carried)), runOptions{rounds: 90, period: "1s", only: "fast polled", flows: true}, [2]float64{0, 10}, [2]float64{30, 60}, [2]float64{62, 100})
			number := func(round int, metric, instance string) float64 {
				x := r.rounds[round][darwintest.Series{Metric: metric, Instance: instance}]
				n, err := strconv.ParseFloat(x.value, 64)
				if err != nil {
					t.Fatalf("round %d: %s[%s] is absent: %s", round, metric, instance, x.absent)
				}
				return n
			}
			const bytes = "network.interface.in.bytes"
			for round := 1; round < len(r.rounds); round++ {
				for _, s := range [][2]string{{bytes, "en0"}, {"network.all.in.bytes", ""}, {"network.interface.total.bytes", "en0"}} {
					if before, now := number(round-1, s[0], s[1]), number(round, s[0], s[1]); now < before {
						t.Errorf("round %d: %s[%s] falls from %v to %v", round, s[0], s[1], before, now)
					}
				}
				want := ""
				switch {
				case r.during(round, 0, 10) || r.during(round, 62, 100):
					want = "counter"
				case r.during(round, 30, 60):
					want = "connections"
				}
				if got := r.at(t, round, "network.interface.bytes_source", "en0").value; want != "" && got != want {
					t.Errorf("round %d: the bytes come from %q", round, got)
				}
				if got := r.at(t, round, "network.interface.bytes_source", "utun0").value; got != "counter" {
					t.Errorf("round %d: the bytes of the tunnel come from %q", round, got)
				}
			}
			first, last := 0, len(r.rounds)-1
			growth := func(metric, instance string) float64 {
				return number(last, metric, instance) - number(first, metric, instance)
			}
			// What is sent shows how much time has passed.
			seconds := func() float64 { return growth("network.interface.out.bytes", "en0") / 60_000 }
			passed := seconds()
			most := counted*(passed-50) + carried*50
			if got := growth(bytes, "en0"); got > most+carried || got < most-15*carried {
				t.Errorf("en0 received %v, of %v", got, most)
			}
			if all, parts := growth("network.all.in.bytes", ""), growth(bytes, "en0")+growth(bytes, "utun0"); all != parts {
				t.Errorf("all interfaces received %v, these together %v", all, parts)
			}
			for first = 0; !r.during(first, 30, 60); first++ {
			}
			for last = first; r.during(last+1, 30, 60); last++ {
			}
			if got, most := growth(bytes, "en0"), carried*seconds(); math.Abs(got-most) > 6*carried {
				t.Errorf("while the counter stands, en0 received %v, of %v", got, most)
			}
			if r.countEvents("network interface en0 has stopped counting received bytes") != 1 || r.countEvents("network interface en0 counts received bytes again") != 1 {
				t.Errorf("events %q", r.events)
			}
		})
	}
}
