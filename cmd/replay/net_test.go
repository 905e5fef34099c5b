package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tachograph/cmd/internal/visible"
	"tachograph/sample/metric"
	"tachograph/store/query/querytest"
)

// netRow is what programs get of a row of replay net.
type netRow struct {
	Row     string
	Host    string
	In      *float64 `json:"in_bytes"`
	Out     *float64 `json:"out_bytes"`
	Retrans *float64 `json:"retrans_bytes"`
	Open    *float64 `json:"connections"`
	Opened  *float64
	Failed  *float64
}

// The rows of every ranking add up to its total, which does not depend on how they are grouped or cut.
func TestNetAddsUp(t *testing.T) {
	t.Parallel()
	for _, window := range [][]string{nil, {"--from", "03:02", "--to", "03:09:58"}, {"--at", "03:10"}} {
		var whole string
		for _, group := range []string{"process", "name", "user", "parent", "owner", "app", "service", "container", "pod", "session"} {
			for _, n := range []string{"0", "2"} {
				for _, by := range []string{"net", "in", "retrans", "connections", "opened"} {
					args := append([]string{"net", "--group", group, "-n", n, "--by", by, "--format", "json", "--utc", "--archive", "testdata/net.txt"}, window...)
					stdout, stderr, status := replay(openText, args...)
					if status != 0 {
						t.Fatalf("%v: %s", args, stderr)
					}
					sum, total := netSums(t, stdout)
					if sum != total {
						t.Errorf("%v: the rows add up to %v, and the total is %v", args, sum, total)
					}
					if whole == "" {
						whole = fmt.Sprint(total)
					}
					if fmt.Sprint(total) != whole {
						t.Errorf("%v: the total is %v, otherwise %s", args, total, whole)
					}
				}
			}
		}
	}
}

// netSums returns what the rows add up to, and the total: bytes in, out and sent again, connections, opened, failed.
func netSums(t *testing.T, rows string) (sum, total [6]float64) {
	t.Helper()
	for line := range strings.Lines(rows) {
		var r netRow
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		to := &sum
		if r.Row == "total" {
			to = &total
		}
		for i, x := range []*float64{r.In, r.Out, r.Retrans, r.Open, r.Opened, r.Failed} {
			if x != nil {
				to[i] += *x
			}
		}
	}
	return sum, total
}

// Peers and connections add up to what all connections carried in the same time.
func TestPeersAddUp(t *testing.T) {
	t.Parallel()
	for _, window := range [][]string{nil, {"--from", "03:04", "--to", "03:11"}, {"--at", "03:06"}} {
		var totals [][6]float64
		for _, list := range []string{"--peers", "--connections"} {
			for _, n := range []string{"0", "3"} {
				stdout, stderr, _ := replay(openText, append([]string{"net", list, "-n", n, "--format", "json", "--utc", "--archive", "testdata/net.txt"}, window...)...)
				sum, _ := netSums(t, stdout)
				if sum[3] = 0; sum[0] == 0 {
					t.Fatalf("%s %v: no bytes: %s", list, window, stderr)
				}
				totals = append(totals, sum)
			}
		}
		if window == nil { // the looks at connections are as far apart as the readings
			stdout, _, _ := replay(openText, "net", "--format", "json", "--utc", "--archive", "testdata/net.txt")
			_, total := netSums(t, stdout)
			total[3], total[4], total[5] = 0, 0, 0
			totals = append(totals, total)
		}
		for _, one := range totals[1:] {
			if one != totals[0] {
				t.Errorf("%v: lists add up to %v and %v", window, totals[0], one)
			}
		}
	}
}

// Names that somebody chose to do harm, and numbers that nothing can have, are printed as text.
func TestNetOfStrangers(t *testing.T) {
	t.Parallel()
	for _, values := range []bool{false, true} {
		parts, err := querytest.Load("testdata/net.txt")
		if err != nil {
			t.Fatal(err)
		}
		done := make(map[*metric.Instance]bool)
		for _, p := range parts {
			for n, tick := range p.Ticks {
				for _, b := range tick.Blocks {
					for _, in := range b.Rows {
						if in == nil || done[in] {
							continue
						}
						done[in] = true
						in.Name += attack
						for i := range in.Labels {
							in.Labels[i].Value += attack
						}
					}
					for c := range b.Cols {
						for i := range b.Cols[c].Bits {
							if values {
								b.Cols[c].Bits[i] = extremes[(n+c+i)%len(extremes)]
							}
						}
						for i := range b.Cols[c].Words {
							b.Cols[c].Words[i] += attack
						}
					}
				}
			}
		}
		dir := writeParts(t, parts, t.TempDir())[0]
		for _, q := range []string{"net", "net --group owner -n 2", "net --group service --by connections", "net --at 03:07", "net --peers", "net --connections --at 03:18", "net --listeners"} {
			for _, format := range []string{"table", "csv", "json"} {
				stdout, stderr, _ := replay(openStore, append(strings.Fields(q), "--utc", "--format", format, "--archive", dir)...)
				if i := strings.IndexFunc(stdout+stderr, func(r rune) bool { return visible.Acts(r) && r != '\n' && r != '\t' }); i >= 0 {
					t.Errorf("%s as %s prints %q", q, format, (stdout + stderr)[i:min(i+60, len(stdout+stderr))])
				}
				for line := range strings.Lines(stdout) {
					if format == "json" && !json.Valid([]byte(line)) {
						t.Errorf("%s: no json: %s", q, line)
					}
				}
				if !values && stdout == "" {
					t.Errorf("%s as %s prints nothing: %s", q, format, stderr)
				}
			}
		}
	}
}
