package pmdatest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/internal/pcp/pcpclient"
	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// spent is the processor time of a process, with all of its threads that ever were.
func spent(t testing.TB, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name, which may have blanks, ends with the last bracket.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks time.Duration
	for _, f := range fields[11:13] { // user and system
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += time.Duration(n)
	}
	return ticks * time.Second / 100 // USER_HZ
}

// peak is the largest resident size that a process had, in bytes.
func peak(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// contest is agents side by side under one pmcd, who are asked for the same metrics.
type contest struct {
	client   *pcpclient.Client
	d        *pmcdtest.Daemon
	entrants []*entrant
}

// entrant is an agent and what it is asked for.
type entrant struct {
	label string
	pid   int
	ids   []metric.PMID
	began time.Duration
	wall  time.Duration
}

// besidePCP starts PCP's agents for Linux and for processes, and for each a recorder that
// is asked for the metrics that both have.
func besidePCP(b *testing.B) *contest {
	b.Helper()
	c := &contest{}
	agents := []pmcdtest.Agent{pmcdtest.PMCD, pmcdtest.Linux, pmcdtest.Proc}
	for i := range 2 {
		a := ours(b, "--domain", strconv.Itoa(domain+i))
		a.Name, a.Domain = fmt.Sprintf("recorder%d", i), domain+i
		agents = append(agents, a)
	}
	c.d = pmcdtest.Start(b, pmcdtest.Config{Agents: agents, Names: []string{pmcdtest.Own(b)}, For: []string{"kernel.all.load", "proc.nprocs"}})
	client, err := pcpclient.Dial(context.Background(), "unix", strings.TrimPrefix(c.d.Host, "local:"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	c.client = client
	if err := client.Want(pcp.Null); err != nil { // pmcd fetches nothing for who never said what
		b.Fatal(err)
	}

	rows := asked[row](b, exec.Command(recorder(b), "metrics", "--json"))
	var names []string
	for _, r := range rows {
		if r.Supported && r.Formula == "" {
			names = append(names, r.Metric)
		}
	}
	theirs, err := client.IDs(names...)
	if err != nil {
		b.Fatal(err)
	}
	for i, of := range []struct {
		name   string
		domain uint32
	}{{"linux", 60}, {"proc", 3}} {
		them := &entrant{label: "pmda" + of.name, pid: c.d.AgentPID(of.name)}
		us := &entrant{label: "recorder-" + of.name, pid: c.d.AgentPID(fmt.Sprintf("recorder%d", i))}
		list := make(map[string]metric.PMID)
		for _, m := range listed(b, rows, pcp.Beside(uint32(domain+i))) {
			list[m.Desc.Name] = m.PMID
		}
		for j, id := range theirs {
			if d, _, _ := id.Parts(); id != pcp.Null && d == of.domain {
				them.ids = append(them.ids, id)
				us.ids = append(us.ids, list[names[j]])
			}
		}
		c.entrants = append(c.entrants, them, us)
	}
	for _, e := range c.entrants {
		c.fetch(b, e)
		e.began, e.wall = spent(b, e.pid), 0
	}
	return c
}

// fetch asks one of them for everything, which may not be without values.
func (c *contest) fetch(b *testing.B, e *entrant) {
	b.Helper()
	since := time.Now()
	result, err := c.client.Fetch(e.ids...)
	e.wall += time.Since(since)
	if err != nil {
		b.Fatalf("%s: %v\n%s", e.label, err, c.d.Log())
	}
	with := 0
	for _, s := range result.Sets {
		if len(s.Instances) > 0 {
			with++
		}
	}
	if with < len(e.ids)/2 {
		b.Fatalf("%s gives values for %d of %d metrics", e.label, with, len(e.ids))
	}
}

// tell reports what each fetch has cost each of them.
func (c *contest) tell(b *testing.B, n int) {
	b.ReportMetric(0, "ns/op")
	for _, e := range c.entrants {
		b.ReportMetric(float64(spent(b, e.pid)-e.began)/float64(n)/1e6, e.label+"-CPU-ms/fetch")
		b.ReportMetric(float64(e.wall)/float64(n)/1e6, e.label+"-ms/fetch")
		b.ReportMetric(float64(peak(b, e.pid))/1e6, e.label+"-peak-MB")
		b.Logf("%s: %d metrics", e.label, len(e.ids))
	}
}

// BenchmarkBesidePCP is what answering costs, beside PCP's own agents for the same metrics
// of the same machine: once a second, as recorders ask, and as fast as they can.
func BenchmarkBesidePCP(b *testing.B) {
	b.Run("every second", func(b *testing.B) {
		c := besidePCP(b)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		b.ResetTimer()
		for range b.N {
			<-tick.C
			for _, e := range c.entrants {
				c.fetch(b, e)
			}
		}
		c.tell(b, b.N)
	})
	b.Run("at once", func(b *testing.B) {
		c := besidePCP(b)
		b.ResetTimer()
		for _, e := range c.entrants {
			for range b.N {
				c.fetch(b, e)
			}
		}
		c.tell(b, b.N)
	})
}

// BenchmarkAnswer is what a fetch of 250 metrics costs an agent at the other end of a pipe
// when their values are at hand: what is beyond reading them.
func BenchmarkAnswer(b *testing.B) {
	cmd := exec.Command(recorder(b), "pmda")
	client, err := pcpclient.Command(cmd)
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	rows := asked[row](b, exec.Command(recorder(b), "metrics", "--json"))
	var ids []metric.PMID
	for _, m := range listed(b, rows, pcp.Beside(domain)) {
		if d := m.Desc; d.Unsupported == "" && d.Formula == "" && d.Indom != "process" {
			ids = append(ids, m.PMID)
		}
	}
	slices.Sort(ids)
	ids = ids[:250]
	if _, err := client.Fetch(ids...); err != nil {
		b.Fatal(err)
	}
	began := spent(b, cmd.Process.Pid)
	b.ResetTimer()
	for range b.N {
		if _, err := client.Fetch(ids...); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(spent(b, cmd.Process.Pid)-began)/float64(b.N)/1e6, "agent-CPU-ms/fetch")
	b.ReportMetric(float64(peak(b, cmd.Process.Pid))/1e6, "agent-peak-MB")
}
