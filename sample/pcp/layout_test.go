package pcp

import (
	"slices"
	"strings"
	"testing"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// In every layout each metric of both catalogues has a name of its own. Each has a number of
// its own, except for the second names of PCP's metrics; the number and the instance domain
// are in a domain of the layout. Numbers in a domain that the layout keeps are those of PCP.
func TestLayouts(t *testing.T) {
	for _, p := range []catalog.Platform{catalog.Linux, catalog.Darwin} {
		for name, l := range map[string]Layout{"native": Native(500), "beside": Beside(500), "beside 400": Beside(400)} {
			s, plain := NewSpaceOf(l), NewSpace()
			had := make(map[metric.PMID]string)
			indoms := make(map[uint32]string)
			names := make(map[string]bool)
			for _, d := range catalog.For(p) {
				m, own := s.Add(d), plain.Add(d)
				domain, _, _ := m.PMID.Parts()
				further := had[m.PMID] != "" && domain != l.Domain && further[had[m.PMID]] == m.Name
				if had[m.PMID] != "" && !further || names[m.Name] {
					t.Errorf("%v %s: %s and %s are both %v", p, name, had[m.PMID], m.Name, m.PMID)
				}
				had[m.PMID], names[m.Name] = m.Name, true
				if !slices.Contains(l.Domains(), domain) {
					t.Errorf("%v %s: %s is %v", p, name, m.Name, m.PMID)
				}
				if kept := domain != l.Domain; kept && (m.PMID != d.PMID || m.Name != d.Name) || !kept && m.Name != "tachograph."+own.Name {
					t.Errorf("%v %s: %s, %v is %s, %v", p, name, own.Name, own.PMID, m.Name, m.PMID)
				}
				if domain != l.Domain && m.Renamed || domain == l.Domain && m.Renamed != own.Renamed {
					t.Errorf("%v %s: %s is renamed: %v", p, name, m.Name, m.Renamed)
				}
				if d.Indom == metric.NoIndom {
					continue
				}
				if m.InDom>>22 != domain || indoms[m.InDom] != "" && indoms[m.InDom] != d.Indom {
					t.Errorf("%v %s: %s has the instances of %s, which are %q", p, name, m.Name, InDomString(m.InDom), indoms[m.InDom])
				}
				indoms[m.InDom] = d.Indom
			}
		}
	}
}

// further lists the second names that PCP's Darwin agents give to some metrics.
var further = map[string]string{"proc.psinfo.maj_flt": "proc.psinfo.majflt", "proc.psinfo.pgid": "proc.psinfo.pgrp", "proc.psinfo.tpgid": "proc.psinfo.tty_pgrp"}

// If PCP has a branch with the name of a metric, the metric is below tachograph. PCP's names
// do not change.
func TestPCPsBranchesStay(t *testing.T) {
	s := NewSpaceOf(Native(500))
	for _, c := range []struct {
		name       string
		item       uint32
		want, pmid string
	}{
		{"network.tcp.inerrs", 176, "tachograph.network.tcp.inerrs", "500.1633.988"},
		{"network.tcp.inerrs.badsum", 183, "network.tcp.inerrs.badsum", "78.17.183"},
		{"network.tcp.inerrs.total", 176, "network.tcp.inerrs.total", "78.17.176"},
	} {
		m := s.Add(&metric.Desc{Name: c.name, PMID: metric.NewPMID(78, 17, c.item)})
		if m.Name != c.want || m.PMID.String() != c.pmid {
			t.Errorf("%s is %s, %v, and not %s, %s", c.name, m.Name, m.PMID, c.want, c.pmid)
		}
	}
}

// There is room for the numbers of later rows: the clusters of no two domains meet, and all are
// in lower halves.
func TestRoomInLayouts(t *testing.T) {
	for _, p := range []catalog.Platform{catalog.Linux, catalog.Darwin} {
		for _, d := range catalog.For(p) {
			domain, cluster, _ := d.PMID.Parts()
			if cluster >= rooms[domain].size {
				t.Errorf("%s, %v, has no room in a layout of one domain", d.Name, d.PMID)
			}
		}
	}
	seen := make(map[uint32]uint32)
	for domain, room := range rooms {
		for cluster := room.first; cluster < room.first+room.size; cluster++ {
			if had, taken := seen[cluster]; taken || cluster%roomOf >= halfRoom {
				t.Fatalf("cluster %d is for domains %d and %d", cluster, had, domain)
			}
			seen[cluster] = domain
		}
	}
	l := Beside(500)
	for n := uint32(0); n < 1<<21; n += 7 {
		if _, cluster, _ := l.upper(n).Parts(); cluster%roomOf < halfRoom || cluster == Reserved {
			t.Fatalf("%d leads to cluster %d", n, cluster)
		}
	}
}

// Installed name spaces and archives contain these numbers.
func TestLayoutNumbers(t *testing.T) {
	for _, c := range []struct {
		layout Layout
		metric metric.Desc
		want   string
	}{
		{Native(500), metric.Desc{Name: "kernel.all.load", PMID: metric.NewPMID(78, 3, 0)}, "kernel.all.load 78.3.0"},
		{Beside(500), metric.Desc{Name: "kernel.all.load", PMID: metric.NewPMID(78, 3, 0)}, "tachograph.kernel.all.load 500.2051.0"},
		{Beside(433), metric.Desc{Name: "proc.psinfo.pid", PMID: metric.NewPMID(3, 1, 0)}, "tachograph.proc.psinfo.pid 433.3073.0"},
		{Native(500), metric.Desc{Name: "mem.vmstat.pgfault", PMID: metric.NewPMID(60, 28, 30)}, "tachograph.mem.vmstat.pgfault 500.1052.30"},
		{Native(500), metric.Desc{Name: "network.persocket.dst", PMID: metric.NewPMID(154, 1, 5)}, "tachograph.network.persocket.dst 500.449.5"},
		{Native(500), metric.Desc{Name: "gpu.busy", PMID: metric.NewPMID(500, 5, 1)}, "tachograph.gpu.busy 500.5.1"},
		{Beside(500), metric.Desc{Name: "tachograph.control.threads", PMID: metric.NewPMID(500, Reserved, 4)}, "tachograph.control.threads 500.4095.4"},
		{Beside(500), metric.Desc{Name: "kern.some.sysctl"}, "tachograph.kern.some.sysctl 500.961.959"},
		{Layout{}, metric.Desc{Name: "kern.some.sysctl"}, "kern.some.sysctl 501.449.959"},
	} {
		m := NewSpaceOf(c.layout).Add(&c.metric)
		if got := m.Name + " " + m.PMID.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := Native(500).Domains(); !slices.Equal(got, []uint32{500, 3, 78}) || Beside(77).Domains()[0] != 77 || (Layout{}).Domains() != nil {
		t.Errorf("domains %v", got)
	}
	if !strings.HasPrefix(NewSpaceOf(Beside(500)).Add(&metric.Desc{Name: "9x"}).Name, "tachograph.x9x") {
		t.Error("a name that PCP cannot have stays")
	}
}
