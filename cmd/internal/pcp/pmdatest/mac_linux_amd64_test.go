package pmdatest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tachograph/cmd/internal/pcp/pcpclient"
	"tachograph/cmd/internal/pcp/pmcdtest"
	"tachograph/sample/darwin/darwintest"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/sample/pcp/pdu"
	"tachograph/testdata/built"
)

// findMac is FindMac, once for all tests.
var findMac = sync.OnceValues(func() (darwintest.Mac, error) { return darwintest.FindMac(moduleRoot) })

// frozen is the command that runs the recorder on a Mac on which time stands still. What
// it has not released when it ends is a failure.
func frozen(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report")
	cmd := onMac(t, t.TempDir(), []string{"--leaks", "--report", report}, args...)
	t.Cleanup(func() {
		// By now it has ended.
		text, err := os.ReadFile(report)
		if err != nil || !strings.Contains(string(text), noLeaks) {
			t.Errorf("recorder %s has not released everything: %v\n%s", strings.Join(args, " "), err, text)
		}
	})
	return cmd
}

// onMac is the command that runs it, with flags of the simulation and the Mac's files in root.
func onMac(t testing.TB, root string, flags []string, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs whole programs")
	}
	mac, err := findMac()
	darwintest.Need(t, err)
	recorder, err := built.Package(built.Target{OS: "darwin", Arch: mac.Arch}, "tachograph/cmd/recorder")
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := filepath.Abs(filepath.Join(moduleRoot, "testdata", "darwin", "whole-laptop.scn"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := mac.Command(append([]string{"--scenario", scenario, "--root", root}, flags...), recorder, args...)
	cmd.Env = append(os.Environ(), "TZ=UTC")
	return cmd
}

const noLeaks = "leaks: mach: 0 vm regions, 0 port references, 0 suspended threads\nleaks: cf: 0 references, io: 0 references, notify: 0 tokens"

// clocks go on where all else stands still.
var clocks = map[string]bool{"kernel.all.uptime": true, "computed.uptime_seconds": true}

// TestAMacAnswers asks the recorder on a Mac through a pipe, as pmcd does, in each of the
// three domains that its metrics have there. Time stands still, so that each value is what
// `recorder probe` reads on it; names, numbers and what metrics are are those that it lists.
func TestAMacAnswers(t *testing.T) {
	t.Parallel()
	began := time.Now()
	rows := asked[row](t, frozen(t, "metrics", "--json"))
	read := asked[reading](t, frozen(t, "probe", "--json", "--processes", "--wait", "100ms"))
	values := present(read)
	// Where nothing moves, a second reading looks like the first one again.
	stale := make(map[series]bool)
	for _, r := range read {
		stale[series{r.Metric, r.Instance}] = r.Reason == metric.Stale.String()
	}
	layout := pcp.Native(domain)
	list := listed(t, rows, layout)
	supported := make(map[string]bool)
	for _, r := range rows {
		supported[r.Metric] = r.Supported
	}
	moving := overTheInterval(rows)
	seen := 0
	for _, of := range layout.Domains() {
		var here []*pcp.Metric
		for _, m := range list {
			if d, _, _ := m.PMID.Parts(); d == of && supported[m.Desc.Name] {
				here = append(here, m)
			}
		}
		slices.SortFunc(here, func(a, b *pcp.Metric) int { return strings.Compare(a.Name, b.Name) })
		said := &bytes.Buffer{}
		cmd := frozen(t, "pmda", "--domain", strconv.Itoa(int(of)))
		cmd.Stderr = said
		c, err := pcpclient.Command(cmd)
		if err != nil {
			t.Fatalf("domain %d: %v\n%s", of, err, said)
		}
		if err := c.Attr(pdu.AttrUserID, "0"); err != nil { // who sees everything
			t.Fatal(err)
		}
		told, explained := make(map[series]metric.Value), make(map[metric.PMID]bool)
		for chunk := range slices.Chunk(here, 100) {
			names := make([]string, len(chunk))
			for i, m := range chunk {
				names[i] = m.Name
				judgeAnswers(t, c, m)
				if !explained[m.PMID] { // further names have the texts of the first
					judgeTexts(t, c, m)
				}
				explained[m.PMID] = true
			}
			readings, err := c.Read(names...)
			if err != nil {
				t.Fatalf("domain %d: %v\n%s", of, err, said)
			}
			for i, r := range readings {
				for _, v := range r.Values {
					told[series{chunk[i].Desc.Name, v.Instance}] = v.Value
				}
			}
		}
		if err := c.Close(); err != nil {
			t.Errorf("domain %d: %v\n%s", of, err, said)
		}
		for id, want := range values {
			i := slices.IndexFunc(here, func(m *pcp.Metric) bool { return m.Desc.Name == id.metric })
			if i < 0 || moving[id.metric] || heardOf(id) || aboutTheReader(id) {
				continue
			}
			got, ok := told[id]
			if !ok {
				t.Errorf("%s %s is missing; it is %v", id.metric, id.instance, want.Value)
			} else if clocks[id.metric] {
				if age, _ := want.Value.(json.Number).Float64(); math.Abs(got.Number()-age) > time.Since(began).Seconds()+1 {
					t.Errorf("%s is %v, and was %v at most %v ago", id.metric, got, want.Value, time.Since(began))
				}
			} else if !between(got.String(), want.Value, want.Value, 1e-6) {
				t.Errorf("%s %s is %v, and not %v", id.metric, id.instance, got, want.Value)
			}
			seen++
		}
		for id, v := range told {
			if _, ok := values[id]; !ok && !stale[id] && !aboutTheReader(id) {
				t.Errorf("%s %s is %v, and cannot be probed", id.metric, id.instance, v)
			}
		}
		t.Logf("domain %d: %d metrics, %d values", of, len(here), len(told))
	}
	if seen < 2000 {
		t.Errorf("only %d values were compared", seen)
	}
}

// Who asks again within the second for which the kernel repeats its answer about memory is
// told what it was, and not that there is nothing: pmcd asks for its clients in turn.
func TestAMacRepeatsItsAnswer(t *testing.T) {
	t.Parallel()
	c, err := pcpclient.Command(frozen(t, "pmda", "--domain", "78"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mem.physmem", "mem.util.free", "swap.pagesin", "mem.util.wired"} {
		readings, err := c.Read(name)
		if err != nil || len(readings[0].Values) != 1 {
			t.Errorf("%s: %+v, %v", name, readings, err)
		}
		<-time.After(120 * time.Millisecond) // longer than a value of the class is shared
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestAMacsAgentUnderPmcd has pmcd run the three agents of a Mac, with the name space that
// is installed there: PCP's own names, and ours below tachograph.
func TestAMacsAgentUnderPmcd(t *testing.T) {
	t.Parallel()
	recorder(t) // skips where there is no PCP
	rows := asked[row](t, frozen(t, "metrics", "--json"))
	can := readable(asked[reading](t, frozen(t, "probe", "--json", "--processes", "--wait", "100ms")))
	for i := range rows {
		rows[i].Supported = rows[i].Supported && can[rows[i].Metric]
	}
	layout, dir := pcp.Native(domain), filepath.Join(t.TempDir(), "package")
	if out, err := frozen(t, "pmda", "package", "--here", dir).CombinedOutput(); err != nil {
		t.Fatalf("recorder pmda package: %v\n%s", err, out)
	}
	names := packaged(t, dir)
	var agents []pmcdtest.Agent
	for _, d := range layout.Domains() {
		cmd := onMac(t, t.TempDir(), nil, "pmda", "--domain", strconv.Itoa(int(d)))
		agents = append(agents, pmcdtest.Agent{Name: fmt.Sprint("mac", d), Domain: int(d), How: "pipe binary " + strings.Join(cmd.Args, " ")})
	}
	d := pmcdtest.Start(t, pmcdtest.Config{Agents: agents, Names: []string{names}, For: []string{"kernel.all.load", "proc.psinfo.pid", "tachograph.platform"}})
	roots := make(map[string]bool)
	for name, m := range listed(t, rows, layout) {
		if root, _, _ := strings.Cut(name, "."); can[m.Desc.Name] {
			roots[root] = true
		}
	}
	judgeTold(t, d.Info(t, slices.Sorted(maps.Keys(roots))...), rows, layout)
}

// judgeAnswers asks what a metric is called and what it is.
func judgeAnswers(t *testing.T, c *pcpclient.Client, m *pcp.Metric) {
	t.Helper()
	ids, err := c.IDs(m.Name)
	if err != nil || ids[0] != m.PMID {
		t.Errorf("%s has the number %v, and not %v: %v", m.Name, ids, m.PMID, err)
	}
	names, err := c.Names(m.PMID)
	if err != nil || !slices.Contains(names, m.Name) {
		t.Errorf("%v has the names %q, without %s: %v", m.PMID, names, m.Name, err)
	}
	d, err := c.Desc(m.PMID)
	if want := (pdu.Desc{PMID: m.PMID, Type: m.Type, InDom: m.InDom, Semantics: m.Semantics, Units: m.Units}); err != nil || *d != want {
		t.Errorf("%s is %+v, and not %+v: %v", m.Name, d, want, err)
	}
}

// judgeTexts asks for the texts of a metric.
func judgeTexts(t *testing.T, c *pcpclient.Client, m *pcp.Metric) {
	t.Helper()
	line, err := c.Text(uint32(m.PMID), pdu.TextOneLine|pdu.TextPMID)
	if err != nil || line != m.Desc.Help {
		t.Errorf("%s is explained with %q, and not %q: %v", m.Name, line, m.Desc.Help, err)
	}
	help, err := c.Text(uint32(m.PMID), pdu.TextHelp|pdu.TextPMID)
	if err != nil || !strings.Contains(help, strings.TrimSpace(m.Desc.LongHelp)) {
		t.Errorf("%s is explained at length with %q, without %q: %v", m.Name, help, m.Desc.LongHelp, err)
	}
}

// TestPCPsOwnNames holds the numbers and meanings that a Mac's agent gives to what PCP's
// Darwin agents have against those agents', as the table of facts has them from PCP. Types
// and units are wider or truer for some, which sample/catalog accounts for one by one.
func TestPCPsOwnNames(t *testing.T) {
	t.Parallel()
	list := listed(t, asked[row](t, frozen(t, "metrics", "--json")), pcp.Native(domain))
	text, err := os.ReadFile(filepath.Join(moduleRoot, "testdata", "darwin", "facts", "metrics.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	n, same := 0, 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(line, "\t")
		if !strings.HasPrefix(f[1], "pcp-") {
			continue
		}
		n++
		m := list[f[0]]
		if m == nil {
			t.Errorf("%s is not there under its name", f[0])
			continue
		}
		if id := strings.ReplaceAll(f[2], ":", "."); m.PMID.String() != id {
			t.Errorf("%s is %v, and %s in PCP", f[0], m.PMID, id)
		}
		if m.Desc.Sem.String() != f[4] && f[0] != "vfs.vnodes.recycled" { // which is a counter
			t.Errorf("%s is %v, and %s in PCP", f[0], m.Desc.Sem, f[4])
		}
		if (m.InDom == pcp.Null) != (f[6] == "none") {
			t.Errorf("%s has the instance domain %s, and %s in PCP", f[0], pcp.InDomString(m.InDom), f[6])
		}
		if units, err := metric.ParseUnits(f[5]); err == nil && m.Desc.Units == units && m.Desc.Type.String() == f[3] {
			same++
		}
	}
	t.Logf("of %d metrics of PCP's agents %d have its types and units as well", n, same)
	if n < 350 {
		t.Errorf("only %d metrics of PCP's agents are known", n)
	}
}
