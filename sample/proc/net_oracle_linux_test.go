package proc

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tachograph/sample/darwin/darwintest"
)

// TestMacTransfers compares what each process transferred with what the scenario says, also of
// processes and connections that ended between two reads.
func TestMacTransfers(t *testing.T) {
	t.Parallel()
	mac(t)
	path := filepath.Join(moduleRoot, "testdata", "darwin", "proc-flows.scn")
	world, err := darwintest.Load(path, simulated.Shipped)
	if err != nil {
		t.Fatal(err)
	}
	for version, described := range map[string]bool{"13": true, "14": true, "27": false} {
		t.Run("macOS "+version, func(t *testing.T) {
			t.Parallel()
			looks := []float64{5, 10, 20}
			r := runWith{at: "5 10 20", args: "redacted", classes: "process network", override: "host { ntstat " + version + " }", happens: map[string]float64{
				"process exit of 730 fetch": 8,
			}}.on(t, "proc-flows.scn")
			for round := range looks {
				want := world.ExpectTransfers(looks[:round+1], described)
				checkTransfers(t, r, round, want)
			}
			checkNamed(t, r, version)
		})
	}
}

func checkTransfers(t *testing.T, r *run, round int, want darwintest.Transfers) {
	seen := make(map[int64]bool)
	for key, row := range r.rounds[round].Rows {
		pid, err := strconv.ParseInt(row["proc.psinfo.pid"], 10, 64)
		if err != nil {
			continue
		}
		seen[pid] = true
		compared := 0
		for name, got := range row {
			metric, ok := strings.CutPrefix(name, "proc.net.")
			if !ok || metric == "tcp_count" || metric == "udp_count" {
				continue
			}
			compared++
			if expected := strconv.FormatUint(want[pid][metric], 10); got != expected && !(metric == "connections" && got == "!vanished") && metric != "failed" {
				t.Errorf("round %d: %s of %d (%s) is %s, want %s", round, name, pid, key, got, expected)
			}
		}
		if compared < 21 {
			t.Errorf("round %d: %d columns of %d", round, compared, pid)
		}
	}
	for pid := range want {
		if pid >= 0 && !seen[pid] && pid != 730 {
			t.Errorf("round %d: no row of %d", round, pid)
		}
	}
	all, nobody := want[darwintest.Everybody], want[darwintest.Nobody]
	for name, n := range map[string]uint64{
		"in_bytes": all["in_bytes"], "out_bytes": all["out_bytes"], "retrans_bytes": all["retrans_bytes"],
		"connections": all["connections"], "closed": all["closed"], "lost": 0,
		"unattributed.in_bytes": nobody["in_bytes"], "unattributed.out_bytes": nobody["out_bytes"],
		"unattributed.retrans_bytes": nobody["retrans_bytes"], "unattributed.closed": nobody["closed"],
	} {
		if got := r.rounds[round].Rows["network.traffic"]["network.traffic."+name]; got != strconv.FormatUint(n, 10) {
			t.Errorf("round %d: network.traffic.%s is %s, want %d", round, name, got, n)
		}
	}
}

// checkNamed compares some connections and ports that have values of their own.
func checkNamed(t *testing.T, r *run, version string) {
	uid := "501"
	if version == "13" {
		uid = "!" + notSaid.String()
	}
	const said = "network.persocket."
	for _, x := range []struct {
		round        int
		port, labels string
		want         map[string]string
	}{
		{2, "50300", "browser quic out en0", map[string]string{
			"netid": "quic", "state": "ESTAB", "bytes_received": "5000000000", "bytes_sent": "4000", "uid": uid, "congestion": "cubic",
			"round_trip.rtt": "!" + notSaid.String(), "segs_in": "3453039", "process": r.key(2, "000700 browser"),
		}},
		{1, "51000", "client tcp out lo0", map[string]string{
			"netid": "tcp", "minrtt": "10", "round_trip.rtt": "20", "round_trip.rttvar": "10", "cwnd_bytes": "14480", "unacked": "1448",
			"sendq": "300", "recvq": "400", "dst": "localhost:5432", "bytes_retrans": "0",
		}},
		{1, "443", "helper tcp in en0", map[string]string{"state": "ESTAB", "bytes_received": "50", "bytes_sent": "500"}},
		{1, "52000", "fetch tcp out en0", map[string]string{"state": "CLOSED", "bytes_received": "9999", "bytes_sent": "300", "bytes_retrans": "7"}},
	} {
		found := false
		for key, in := range r.rounds[x.round].Instances {
			row := r.rounds[x.round].Rows[key]
			if _, ok := row[said+"netid"]; !ok || in.Label("port") != x.port {
				continue
			}
			found = true
			if got := strings.Join([]string{in.Label("name"), in.Label("protocol"), in.Label("direction"), in.Label("interface")}, " "); got != x.labels {
				t.Errorf("round %d: connection %s is %q, want %q", x.round, in.Name, got, x.labels)
			}
			for name, want := range x.want {
				if got := row[said+name]; got != want {
					t.Errorf("round %d: %s of %s is %s, want %s", x.round, name, in.Name, got, want)
				}
			}
		}
		if !found {
			t.Errorf("round %d: no connection of port %s", x.round, x.port)
		}
	}
	for key, want := range map[string][4]string{"tcp :443": {"2", "64", "1", "server"}, "tcp 127.0.0.1:5432": {"0", "128", "1", "database"}} {
		row, in := r.rounds[1].Rows[key], r.rounds[1].Instances[key]
		if in == nil {
			t.Errorf("nobody listens on %s", key)
			continue
		}
		got := [4]string{row["network.listener.backlog"], row["network.listener.backlog_limit"], row["network.listener.connections"], in.Label("name")}
		if got != want {
			t.Errorf("%s: backlog, its limit, connections and process are %q, want %q", key, got, want)
		}
	}
}
