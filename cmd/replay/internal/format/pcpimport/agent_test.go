package pcpimport

import (
	"path/filepath"
	"testing"

	"tachograph/cmd/internal/pcp/pcparchive"
	"tachograph/sample/metric"
	"tachograph/sample/pcp"
	"tachograph/store/rewrite"
)

// What pmlogger has logged from our own agent has our names, numbers and units again,
// wherever the agent had it among PCP's; another agent's labels of that kind are its own.
func TestOurAgentLogged(t *testing.T) {
	heat := &metric.Desc{Name: "thermal.cpu.die", PMID: metric.NewPMID(500, 5, 3), Type: metric.F64, Sem: metric.Instant,
		Units: metric.Units{Other: "rpm"}, Class: metric.Fast, Source: "SMC TC0P"}
	load := &metric.Desc{Name: "kernel.all.load", PMID: metric.NewPMID(78, 3, 0), Type: metric.F32, Sem: metric.Instant, Indom: "load", Class: metric.Fast, Source: "sysctl vm.loadavg"}
	space := pcp.NewSpaceOf(pcp.Beside(500))
	base := filepath.Join(t.TempDir(), "x")
	w, err := pcparchive.Create(base, pcparchive.Options{Force: true, Label: pcparchive.Label{PID: 1, Start: start, Host: "127.0.0.1", TZ: "UTC"}})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	label := func(kind int, ident uint32, list ...metric.Label) {
		text, refs := pcp.LabelJSON(list, kind)
		check(w.Labels(start, kind, ident, []pcparchive.LabelSet{{Instance: pcp.Null, JSON: text, Refs: refs}}))
	}
	label(pcp.LabelContext, pcp.Null, metric.Label{Name: "hostname", Value: "mini"})
	label(pcp.LabelDomain, 500, metric.Label{Name: "agent", Value: "tachograph"})
	label(pcp.LabelDomain, 29, metric.Label{Name: "agent", Value: "sample"})
	label(pcp.LabelItem, 29<<22, metric.Label{Name: "name", Value: "kernel.all.nusers"})
	check(w.Desc(&pcparchive.Desc{PMID: 29 << 22, Type: pcp.U32, InDom: pcp.Null, Semantics: pcp.Instant, Names: []string{"sample.control"}}))
	sets := []pcparchive.Set{{PMID: 29 << 22, Type: pcp.U32, Instances: pcparchive.Singular(), Values: &metric.Column{Bits: []uint64{1}}}}
	for _, d := range []*metric.Desc{heat, load} {
		m := space.Add(d)
		check(w.Desc(&pcparchive.Desc{PMID: uint32(m.PMID), Type: m.Type, InDom: m.InDom, Semantics: m.Semantics, Units: m.Units, Names: []string{m.Name}}))
		label(pcp.LabelItem, uint32(m.PMID), pcp.MetricLabels(m, "")...)
		set := pcparchive.Set{PMID: uint32(m.PMID), Type: m.Type, Instances: pcparchive.Singular(), Values: &metric.Column{Bits: []uint64{1}}}
		if m.InDom != pcp.Null {
			set.Instances = []uint32{5}
			check(w.InDom(start, m.InDom, []pcparchive.Instance{{ID: 5, Name: "5 minute"}}, false))
		}
		sets = append(sets, set)
	}
	check(w.Result(start, sets))
	check(w.Result(start+1e9, sets))
	_, err = w.Finish()
	check(err)

	dir, r := brought(t, base)
	if r.Host.Name != "mini" {
		t.Errorf("the host is %q", r.Host.Name)
	}
	found := make(map[string]*metric.Desc)
	for it, err := range rewrite.Read(rewrite.ReadOptions{}, dir) {
		check(err)
		for _, b := range it.Tick.Blocks {
			for _, d := range b.Group.Metrics {
				found[d.Name] = d
			}
		}
	}
	for _, want := range []*metric.Desc{heat, load} {
		if got := found[want.Name]; got == nil || got.PMID != want.PMID || got.Units != want.Units || got.Indom != want.Indom || got.Source != want.Source {
			t.Errorf("%s came back as %+v", want.Name, got)
		}
	}
	if found["sample.control"] == nil || len(found) != 3 {
		t.Errorf("there are %v", found)
	}
}
