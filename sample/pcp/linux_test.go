package pcp

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// agentLine matches the metrics of a PCP agent in the output of pminfo -m -d.
var agentLine = regexp.MustCompile(`(?m)^(\S+) PMID: (\S+)\n\s+Data Type: (.*?)\s+InDom: (\S+).*\n\s+Semantics: (\S+)\s+Units: (.*)$`)

// A metric that PCP's agents for Linux also have in the same form has their number, below
// their name, and their instance domain. The test asks these agents, without pmcd.
func TestLinuxAgents(t *testing.T) {
	s := NewSpace()
	s.On("linux")
	ours := make(map[string]*Metric)
	for _, d := range catalog.For(catalog.Linux) {
		if d.Unsupported == "" {
			m := s.Add(d)
			ours[m.Name] = m
		}
	}
	var names []string
	for line := range strings.Lines(linuxAgents) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
		m, own := ours[name], ours[Root+"."+name]
		if m == nil && own == nil {
			t.Errorf("we have no %s", name)
		} else if m != nil && m.PMID != natives()[name].pmid {
			t.Errorf("%s is %v", name, m.PMID)
		}
		if own != nil && (!own.Renamed || own.PMID>>22 != Foreign) {
			t.Errorf("%s is %v, and our own: %v", own.Name, own.PMID, own.Renamed)
		}
	}
	if _, err := exec.LookPath("pminfo"); err != nil {
		t.Skip("pminfo is not installed")
	}
	out, _ := exec.Command("pminfo", append([]string{"-L", "-m", "-d"}, names...)...).Output()
	told := agentLine.FindAllStringSubmatch(string(out), -1)
	if len(told) == 0 {
		t.Skip("PCP's agents for Linux do not answer here")
	}
	types := map[string]Type{"32-bit unsigned int": U32, "64-bit unsigned int": U64, "32-bit int": I32, "64-bit int": I64, "float": Float, "double": Double, "string": String}
	semantics := map[string]int32{"counter": Counter, "instant": Instant, "discrete": Discrete}
	for _, l := range told {
		m := ours[l[1]]
		if m == nil {
			continue // our metric is another one
		}
		if got := m.PMID.String(); got != l[2] {
			t.Errorf("%s is %s, PCP has %s", l[1], got, l[2])
		}
		if m.Type != types[l[3]] || m.Semantics != semantics[l[5]] || InDomString(m.InDom) != l[4] {
			t.Errorf("%s is %v, %v, %s; PCP says %q", l[1], m.Type, m.Semantics, InDomString(m.InDom), l[3:])
		}
	}
}

// On other platforms, and if a description differs from that of PCP's agents, every metric
// keeps its number.
func TestNumbersOfOtherPlatforms(t *testing.T) {
	load := &metric.Desc{Name: "kernel.all.load", PMID: metric.NewPMID(78, 3, 30), Type: metric.F32, Sem: metric.Instant, Indom: "load"}
	double := *load
	double.Type = metric.F64
	pages := &metric.Desc{Name: "hinv.pagesize", PMID: metric.NewPMID(78, 0, 0), Type: metric.U64, Sem: metric.Discrete, Units: metric.Bytes}
	for _, c := range []struct {
		platform string
		layout   Layout
		d        *metric.Desc
		want     string
	}{{"linux", Layout{}, load, "60.2.0"}, {"darwin", Layout{}, load, "78.3.30"}, {"linux", Layout{}, pages, "60.1.11"}, {"darwin", Layout{}, pages, "78.0.0"}, {"linux", Layout{}, &double, NumberOf("tachograph.kernel.all.load").String()},
		{"linux", Beside(400), load, "400.2051.30"}} {
		s := NewSpaceOf(c.layout)
		s.On(c.platform)
		if m := s.Add(c.d); m.PMID.String() != c.want {
			t.Errorf("%s %+v: %v is %v, want %s", c.platform, c.layout, c.d.Type, m.PMID, c.want)
		}
	}
}

// A value that does not fit PCP's type is absent there. A counter begins anew.
func TestNarrower(t *testing.T) {
	s := NewSpace()
	s.On("linux")
	size := s.Add(&metric.Desc{Name: "hinv.pagesize", Type: metric.U64, Sem: metric.Discrete, Units: metric.Bytes})
	pages := s.Add(&metric.Desc{Name: "swap.pagesin", Type: metric.U64, Sem: metric.Counter, Units: metric.Counts})
	if size.Type != U32 || !size.Narrower() || !size.Fits(1<<32-1) || size.Fits(1<<32) {
		t.Errorf("%+v", size)
	}
	if pages.Type != U32 || pages.Narrower() || !pages.Fits(1<<40) {
		t.Errorf("%+v", pages)
	}
}
