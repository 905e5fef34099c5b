package socket

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tachograph/sample/darwin/darwintest"
)

// The simulated Mac, whose connections are known because a scenario defines them.

var simulated struct {
	sync.Once
	darwintest.Mac
	program string
	err     error
}

// looks runs the scenario and returns what the lister heard at each instant.
func looks(t *testing.T, at, scenario string, env ...string) []simulatedLook {
	t.Helper()
	if testing.Short() {
		t.Skip("the long form: it takes a build for another system")
	}
	s := &simulated
	s.Do(func() {
		if s.Mac, s.err = darwintest.FindMac("../.."); s.err != nil {
			return
		}
		s.program, s.err = s.Program("tachograph/sample/socket.test")
	})
	darwintest.Need(t, s.err)
	dir := t.TempDir()
	file, clock := filepath.Join(dir, "scenario.scn"), filepath.Join(dir, "clock")
	text := "include \"macbook-m.scn\"\nclear process tcp udp\n" + scenario + "\n"
	for name, content := range map[string]string{file: text, clock: "\x00\x00\x00\x00\x00\x00\x00\x00"} {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := s.Command([]string{"--scenario", file, "--clock", clock}, s.program, "-test.run", "^TestSimulated$")
	cmd.Env = append(os.Environ(), append(env, "TACHO_SOCKET_AT="+at, "TACHO_SOCKET_CLOCK="+clock)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, errs.Bytes(), out[max(0, len(out)-2000):])
	}
	var all []simulatedLook
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 256<<20)
	for lines.Scan() {
		if !bytes.HasPrefix(lines.Bytes(), []byte("{")) {
			continue
		}
		var l simulatedLook
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

const someFlows = `
process 88 { name mDNSResponder; ppid 1; uid 65; uniqueid 8800 }
process 501 { name Safari; ppid 1; uid 501; uniqueid 50100 }
process 502 { name ssh; ppid 1; uid 501; uniqueid 50200 }
process 70 { name nginx; ppid 1; uid 70; uniqueid 7000 }
process 71 { name worker; ppid 70; uid 70; uniqueid 7100 }
flow tcp "192.168.1.23:50112" "17.57.144.86:22" { pid 502; rx 5000; tx 7000; retransmit 1448; min_rtt 320; avg_rtt 640; var_rtt 160; cwnd 14480; unacked 1448; snd_used 300; rcv_used 400 }
flow tcp_user "[fd00::23]:50200" "[2001:db8::1]:443" { pid 501; rx 100000; tx 2000; claims_rx 900; avg_rtt 99 }
flow quic "192.168.1.23:50300" "142.250.1.1:443" { pid 501; rx 200000; tx 3000 }
flow udp "*:5353" "*:0" { pid 88; rx 4000; tx 400 }
flow udp_user "192.168.1.23:50400" "8.8.8.8:53" { pid 501; rx 80; tx 40 }
flow tcp "[::]:443" "*:0" { pid 70; state LISTEN; so_qlen 3; so_qlimit 128 }
flow tcp "192.168.1.23:443" "10.0.0.9:40000" { pid 70; pid 71 from 5; rx 10; tx 20; inbound yes; end 12 }
flow tcp "127.0.0.1:40001" "127.0.0.1:631" { pid 502; interface lo0; rx 7; tx 8 }
flow tcp_user "10.8.0.2:1" "10.8.0.1:2" { pid 501; interface utun0; rx 11; tx 12 }
flow tcp "192.168.1.23:50500" "192.0.2.1:443" { pid 501; state SYN_SENT; end 9 }
`

// line writes what of a socket is to be compared.
func line(s *Socket) string {
	text := fmt.Sprintf("%s %s %s-%s of %d/%d: %d %d", s.Protocol, s.State, s.Local, s.Peer, s.PID, s.Unique, s.Bytes.In, s.Bytes.Out)
	if s.Retrans != 0 {
		text += fmt.Sprintf(" again %d", s.Retrans)
	}
	if s.Media[Wifi] != (Bytes{}) {
		text += " wifi"
	}
	if s.Has&HasUID != 0 {
		text += fmt.Sprintf(" uid %d", s.UID)
	}
	if s.Has&HasRTT != 0 {
		text += fmt.Sprintf(" rtt %v %v %v", s.MinRTT, s.RTT, s.RTTVar)
	}
	if s.Has&HasQueues != 0 && s.Received+s.Unsent != 0 {
		text += fmt.Sprintf(" queues %d %d", s.Received, s.Unsent)
	}
	if s.Loopback {
		text += " loopback"
	}
	if s.Closed {
		text += fmt.Sprintf(" closed %d", s.Ended)
	}
	return text
}

func lines(l simulatedLook) []string {
	var all []string
	for _, s := range l.Heard {
		all = append(all, line(&s))
	}
	slices.Sort(all)
	return all
}

func TestFlowsOfAllVersions(t *testing.T) {
	t.Parallel()
	want := strings.Split(`quic ESTAB 192.168.1.23:50300-142.250.1.1:443 of 501/50100: 200000 3000 wifi uid 501
tcp ESTAB 10.8.0.2:1-10.8.0.1:2 of 501/50100: 11 12 uid 501
tcp ESTAB 127.0.0.1:40001-127.0.0.1:631 of 502/50200: 7 8 uid 501 loopback
tcp ESTAB 192.168.1.23:443-10.0.0.9:40000 of 70/7000: 10 20 wifi uid 70
tcp ESTAB 192.168.1.23:50112-17.57.144.86:22 of 502/50200: 5000 7000 again 1448 wifi uid 501 rtt 10 20 10 queues 400 300
tcp ESTAB [fd00::23]:50200-[2001:db8::1]:443 of 501/50100: 100000 2000 wifi uid 501
tcp LISTEN [::]:443-[::]:0 of 70/7000: 0 0 uid 70 queues 3 128
tcp SYN-SENT 192.168.1.23:50500-192.0.2.1:443 of 501/50100: 0 0 uid 501
udp ESTAB 192.168.1.23:50400-8.8.8.8:53 of 501/50100: 80 40 wifi uid 501
udp UNCONN 0.0.0.0:5353-0.0.0.0:0 of 88/8800: 4000 400 wifi uid 65`, "\n")
	slices.Sort(want)
	for version, uid := range map[string]bool{"13": false, "14": true, "27": true} {
		t.Run("macOS "+version, func(t *testing.T) {
			t.Parallel()
			all := looks(t, "1 6 15", someFlows+"host { root yes; ntstat "+version+" }")
			if len(all) != 3 {
				t.Fatal(all)
			}
			expected := func(changes ...string) []string {
				l := slices.Clone(want)
				for i := range l {
					if !uid {
						before, after, _ := strings.Cut(l[i], " uid ")
						_, after, _ = strings.Cut(after+" ", " ")
						l[i] = strings.TrimSpace(before + " " + after)
					}
					l[i] = strings.NewReplacer(changes...).Replace(l[i])
				}
				slices.Sort(l)
				return l
			}
			handed := []string{"of 70/7000: 10 20", "of 71/7100: 10 20"}
			for i, w := range [][]string{
				expected(), expected(handed...),
				// Two have closed since: one of them was never answered.
				func() []string {
					l := expected(append(handed, "ESTAB 192.168.1.23:443", "CLOSED 192.168.1.23:443", "SYN-SENT", "CLOSED")...)
					for i := range l {
						if strings.Contains(l[i], "CLOSED 192.168.1.23:443") {
							l[i] += " closed 0"
						} else if strings.Contains(l[i], "CLOSED") {
							l[i] += " closed 1"
						}
					}
					return l
				}(),
			} {
				if got := lines(all[i]); !slices.Equal(got, w) || all[i].Notice != "" || all[i].Refused != "" {
					t.Errorf("look %d: %s %s\n got %s\nwant %s", i, all[i].Notice, all[i].Refused, strings.Join(got, "\n"), strings.Join(w, "\n"))
				}
			}
			numbers := func(l simulatedLook) map[string]uint64 {
				m := make(map[string]uint64)
				for _, s := range l.Heard {
					m[s.Local.String()] = s.ID
				}
				return m
			}
			if a, b := numbers(all[0]), numbers(all[2]); len(a) != len(b) {
				t.Errorf("%v, then %v", a, b)
			} else {
				for local, id := range a {
					if b[local] != id || id == 0 {
						t.Errorf("%s had the number %x, and now %x", local, id, b[local])
					}
				}
			}
		})
	}
}

func TestFlowsOfTheOwnUserOnly(t *testing.T) {
	t.Parallel()
	all := looks(t, "1", someFlows+"self { as_uid 501 }\nhost { root no; ntstat 27 }")
	if len(all) != 1 || len(all[0].Heard) != 7 || all[0].Notice != ownUserOnly {
		t.Errorf("%d heard, notice %q:\n%s", len(all[0].Heard), all[0].Notice, strings.Join(lines(all[0]), "\n"))
	}
}

func TestRefusedFlows(t *testing.T) {
	t.Parallel()
	all := looks(t, "1", someFlows+"host { ntstat refused }")
	if len(all) != 1 || !all[0].Withheld {
		t.Errorf("%+v", all)
	}
	all = looks(t, "1", someFlows+"fail ntstat:connect EPERM")
	if len(all) != 1 || all[0].Refused == "" {
		t.Errorf("%+v", all)
	}
}

// TestShortFlows has many connections that begin and end between two looks, with the buffer that
// is wanted and the smallest.
func TestShortFlows(t *testing.T) {
	t.Parallel()
	const text = `
process 501 { name Safari; ppid 1; uid 501; uniqueid 50100 }
flow tcp "10.0.0.1:1" "10.0.0.2:80" { pid 501; rx 1001; tx 11; start 2; end 2.05; repeat 100000 every 0.00005 }
flow tcp "10.0.0.1:2" "10.0.0.2:80" { pid 501; rx 5; tx 5; repeat 700 every 0 }
`
	for name, more := range map[string]string{"": "", "a full buffer": "fail ntstat 55 skip 2 count 5"} {
		all := looks(t, "1 8", text+more, "TACHO_SOCKET_PATIENT=1")
		if len(all) != 2 || len(all[0].Heard) != 700 || all[0].Refused != "" {
			t.Fatalf("%s: %d looks, %d heard, %s", name, len(all), len(all[0].Heard), all[0].Refused)
		}
		var rx uint64
		closed := make(map[uint64]bool)
		for _, s := range all[1].Heard {
			if s.Closed {
				rx += s.Bytes.In
				closed[s.ID] = true
			}
		}
		if rx != 100000*1001 || len(closed) != 100000 {
			t.Errorf("%s: %d bytes in %d closed connections, of %d heard", name, rx, len(closed), len(all[1].Heard))
		}
	}
	all := looks(t, "1 1.5", text+"sysctl kern.ipc.maxsockbuf 8192")
	for i, l := range all {
		if len(l.Heard) != 700 || l.Refused != "" {
			t.Errorf("the smallest buffer: look %d: %d heard, %s", i, len(l.Heard), l.Refused)
		}
	}
}
