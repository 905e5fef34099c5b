package scrape

import (
	"fmt"
	"strings"
	"testing"
)

// Each port that is listened on has series, up to a bound. Single connections have them only where
// a client asks for them.
func TestNetwork(t *testing.T) {
	var text strings.Builder
	text.WriteString("start 2026-11-20T03:00:00Z\nhost web-1 id=7 os=Linux release=6.1 arch=amd64 platform=linux\ninterval network 1m\ninterval process 5s\n" +
		"metric network.listener.backlog u32 instant listener network\nmetric network.persocket.minrtt f64 instant connection network millisec\nmetric proc.net.in_bytes u64 counter process process byte\n" +
		"instance process 12/345 000012 nginx service=nginx.service\n" +
		"instance connection 000000000000002a nginx :443 ← net-3f2a9c81 process=12/345 pid=12 name=nginx service=nginx.service protocol=tcp direction=in port=443 peer=net-3f2a9c81 peer_port=50412\n")
	for i := range mostShown + 50 {
		fmt.Fprintf(&text, "instance listener tcp:%d tcp :%d process=12/345 pid=12 name=nginx protocol=tcp port=%d\n", i, i, i)
	}
	text.WriteString("boot b1 -1h\ntick process -5s\n  proc.net.in_bytes[12/345] 1000\ntick process 0s\n  proc.net.in_bytes[12/345] 6000\ntick network 0s\n  network.persocket.minrtt[000000000000002a] 12.5\n")
	for i := range mostShown + 50 {
		fmt.Fprintf(&text, "  network.listener.backlog[tcp:%d] %d\n", i, i)
	}
	state := stateOf(t, described(t, text.String()))
	const connection = `tachograph_network_persocket_minrtt_seconds{connection="000000000000002a",direction="in",name="nginx",peer="net-3f2a9c81",peer_port="50412",port="443",protocol="tcp"} 0.0125`
	for query, want := range map[string]bool{
		"": false, "collect[]=tachograph": false, "collect[]=process": false, "collect[]=network": false, "name[]=tachograph_*": false, "name[]=tachograph_proc_*": false,
		"collect[]=connection": true, "name[]=tachograph_network_persocket_*": true, "name[]=tachograph_network_persocket_minrtt_seconds": true,
	} {
		_, page := scraped(t, state, shortly, "application/openmetrics-text", query)
		if got := strings.Contains(page, connection+"\n"); got != want {
			t.Errorf("%q answers with a connection: %v\n%s", query, got, page)
		}
	}
	_, page := scraped(t, state, shortly, "application/openmetrics-text", "")
	for _, line := range []string{
		`tachograph_network_listener_backlog{listener="tcp :249",name="nginx",port="249",protocol="tcp"} 249`,
		`tachograph_owner_net_in_bytes_per_second{kind="service",owner="nginx.service"} 1000`,
	} {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("there is no %s", line)
		}
	}
	if n := strings.Count(page, "\ntachograph_network_listener_backlog{"); n != mostShown || strings.Contains(page, `port="49"`) {
		t.Errorf("%d ports have a series", n)
	}
}
