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
			r := runWith{at: "5 10 20", args: "redacted", classes: "process", override: "host { ntstat " + version + " }", happens: map[string]float64{
				"process exit of 730 fetch": 8,
			}}.on(t, "proc-flows.scn")
			for round := range looks {
				want := world.ExpectTransfers(looks[:round+1], described)
				checkTransfers(t, r, round, want)
			}
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
