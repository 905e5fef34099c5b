package pmdatest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tachograph/cmd/internal/pcp/pcpclient"
	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// long reports whether the long forms of tests are wanted.
func long() bool { return os.Getenv("TACHO_LONG") != "" }

// TestPCPRecords has pmlogger record everything, once a second for some seconds or a
// minute. Its archive is sound, and holds of each metric that can be read as many values
// as there were seconds.
func TestPCPRecords(t *testing.T) {
	t.Parallel()
	pmcdtest.Need(t, "pmlogcheck", "pmlogsummary")
	d := answering(t, installed(t))
	samples := 4
	if long() {
		samples = 61
	}
	told := d.Info(t, "tachograph")
	path := func(name string) string { return filepath.Join(d.Dir, name) }
	if err := os.WriteFile(path("logged"), []byte("log mandatory on 1 sec { tachograph }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := d.Try("pmlogger", "-c", path("logged"), "-s", strconv.Itoa(samples), "-V", "3", "-l", path("pmlogger.log"), path("archive"))
	if err != nil {
		said, _ := os.ReadFile(path("pmlogger.log"))
		t.Fatalf("pmlogger: %v\n%s%s", err, out, said)
	}
	// What it keeps of each process is not much; where there are very many it adds up.
	processes := 0
	for _, m := range told {
		if m.Name == "tachograph.proc.psinfo.pid" {
			processes = len(m.Values)
		}
	}
	// Up to 4,096 sockets that closed between two readings take half a megabyte, and tests beside this
	// one close very many.
	used, may := peak(t, d.AgentPID("tachograph")), 27_000_000+40_000*max(0, processes-150)
	t.Logf("the agent has used %.1f MB beside %d processes", float64(used)/1e6, processes)
	if used > may {
		t.Errorf("that is more than %.1f MB", float64(may)/1e6)
	}
	// Counters of what ends fall: pmlogcheck takes them for ones that wrapped.
	if out, err := exec.Command("pmlogcheck", "-w", path("archive")).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("pmlogcheck: %v\n%s", err, out)
	}
	cmd := exec.Command("pmlogsummary", "-N", "-y", path("archive")) // with how many values there were
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pmlogsummary: %v\n%s", err, text)
	}
	counted := make(map[string]int)
	for _, m := range summaryLine.FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(m[2])
		counted[m[1]] = max(counted[m[1]], n)
	}
	for _, m := range told {
		// Connections of other tests end at any time, and on a busy machine lists of them are rarer.
		if len(m.Values) == 0 || m.Type == "string" || strings.HasPrefix(m.Name, pcp.Root+".network.persocket.") || strings.HasPrefix(m.Name, pcp.Root+".control.") {
			continue
		}
		if n := counted[m.Name]; n < samples-1 { // a counter's values are the rates between
			t.Errorf("%s has %d values in %d seconds", m.Name, n, samples)
		}
	}
}

// summaryLine is a metric's name, instance and mean, and the number of its values.
var summaryLine = regexp.MustCompile(`(?m)^(tachograph\.\S+) +(?:\[.*\] +)?\S+ (\d+) `)

// TestPCPsToolsRead has each of PCP's programs for values read the agent's.
func TestPCPsToolsRead(t *testing.T) {
	t.Parallel()
	d := answering(t, installed(t))
	rules := "busy = tachograph.kernel.all.load #'1 minute' >= 0 && tachograph.kernel.all.intr >= 0;\n"
	if err := os.WriteFile(filepath.Join(d.Dir, "rules"), []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		program string
		args    []string
		want    string // pattern of what is said
	}{
		{"pmval", []string{"-s", "3", "-t", "0.2", "-i", `"5 minute"`, "tachograph.kernel.all.load"}, `(?s)semantics: instantaneous value.*units:     none.*(\d+\.\d+\s+){3}`},
		{"pmval", []string{"-s", "3", "-t", "0.2", "tachograph.kernel.all.cpu.user"}, `(?s)cumulative counter \(converting to rate\).*units:     millisec \(converting to time utilization\)(.*\n\s+\d+\.\d+){2}`},
		{"pmrep", []string{"-s", "2", "-t", "0.2", "-o", "csv", "tachograph.mem.physmem", "tachograph.kernel.all.load"}, `(?s)"tachograph.kernel.all.load-1 minute".*\n[-\d :"]+,\d+(,\d+\.\d+){3}`},
		{"pmprobe", []string{"-I", "tachograph.kernel.all.load"}, `tachograph.kernel.all.load 3 "1 minute" "5 minute" "15 minute"`},
		{"pmie", []string{"-v", "-t", "0.2", "-T", "0.5", "-c", "rules"}, `(?s)busy: true`},
	} {
		t.Run(c.program, func(t *testing.T) {
			out, err := d.Command(c.program, c.args...).CombinedOutput()
			if err != nil || !regexp.MustCompile(c.want).Match(out) {
				t.Errorf("%s %s: %v\n%s", c.program, strings.Join(c.args, " "), err, out)
			}
		})
	}
}

// TestLives kills the agent, which pmcd notices and starts again, and pmcd, whose end ends
// the agent.
func TestLives(t *testing.T) {
	t.Parallel()
	d := answering(t, dynamic)
	answers := func() bool {
		out, err := d.Try("pminfo", "-f", "tachograph.hinv.ncpu")
		return err == nil && strings.Contains(out, "value ")
	}
	first := d.AgentPID("tachograph")
	pmcdtest.Kill(t, first)
	d.Until(t, "pmcd notices", func() bool { return !answers() })
	d.Reload(t)
	d.Until(t, "the agent answers again", answers)
	second := d.AgentPID("tachograph")
	if second == first {
		t.Errorf("it still is %d:\n%s", second, d.Log())
	}
	d.Kill()
	d.Until(t, "the agent ends with its pmcd", func() bool {
		_, err := os.Stat("/proc/" + strconv.Itoa(second))
		return err != nil
	})
	d.Launch(t)
	d.Until(t, "the agent of the next pmcd answers", answers)
}

// TestAHundredClients has a hundred clients of one pmcd ask the agent at once, for what is
// cheap, for processes and for everything: each is answered, whole, each time.
func TestAHundredClients(t *testing.T) {
	t.Parallel()
	d := answering(t, dynamic)
	rows := asked[row](t, exec.Command(recorder(t), "metrics", "--json"))
	var all, processes []metric.PMID
	for _, m := range listed(t, rows, pcp.Beside(domain)) {
		all = append(all, m.PMID)
		if m.Desc.Indom == "process" {
			processes = append(processes, m.PMID)
		}
	}
	var connected []*pcpclient.Client
	for range 100 { // one after the other: pmcd lets few wait to be let in
		c, err := pcpclient.Dial(context.Background(), "unix", strings.TrimPrefix(d.Host, "local:"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		connected = append(connected, c)
	}
	var clients sync.WaitGroup
	for i, c := range connected {
		clients.Go(func() {
			c.Timeout = pmcdtest.Patience
			if err := c.Want(pcp.Null); err != nil {
				t.Error(err)
			}
			for range 5 {
				ids := [][]metric.PMID{all[:20], processes, all}[i%3]
				r, err := c.Fetch(ids...)
				if err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
				with := 0
				for _, s := range r.Sets {
					if len(s.Instances) > 0 {
						with++
					}
				}
				if i%3 != 0 && with < len(ids)/2 {
					t.Errorf("client %d gets values of %d metrics of %d", i, with, len(ids))
				}
			}
		})
	}
	clients.Wait()
	t.Logf("the agent has used %.1f MB", float64(peak(t, d.AgentPID("tachograph")))/1e6)
}
