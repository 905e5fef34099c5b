package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tachograph/store/query/querytest"
)

// A page has who used the network, and which ports dropped connections, where that was recorded.
func TestNetwork(t *testing.T) {
	parts, err := querytest.Load("../../testdata/net.txt")
	if err != nil {
		t.Fatal(err)
	}
	p := collect(t, querytest.New(parts...), Request{})
	want := map[string]string{"processes-net": "[restic nginx firefox node postgres telegraf python3 sshd node_exporter]", "owners-net": "[backup.service nginx.service firefox container shop postgresql.service telegraf.service metrics.service ssh.service session 3 of anna others]"}
	for _, plot := range p.doc.Plots {
		if want[plot.ID] == "" {
			continue
		}
		var names []string
		for _, s := range plot.Series {
			names = append(names, s.Name)
		}
		if got := fmt.Sprint(names); got != want[plot.ID] || plot.Series[0].Most != "38.2 MB/s" {
			t.Errorf("%s shows %s, %s", plot.ID, got, plot.Series[0].Most)
		}
		delete(want, plot.ID)
	}
	for id := range want {
		t.Errorf("there is no plot %s", id)
	}
	i := slices.IndexFunc(p.doc.Tops, func(t Top) bool { return t.Title == "Most network traffic" })
	if i < 0 || fmt.Sprint(p.doc.Tops[i].Heads[:3], p.doc.Tops[i].Rows[0][:3]) != "[Name Net in Net out] [restic 11.4 MB 11.2 GB]" {
		t.Errorf("the rankings are %+v", p.doc.Tops)
	}
	if p.doc.Ports == nil || len(p.doc.Ports.Rows) != 1 || !strings.HasPrefix(fmt.Sprint(p.doc.Ports.Rows[0]), "[tcp :8080 node (container shop) ") {
		t.Errorf("the ports are %+v", p.doc.Ports)
	}
	for _, name := range []string{"owners.txt", "mac.txt"} {
		if parts, err = querytest.Load("../../testdata/" + name); err != nil {
			t.Fatal(err)
		}
		if p = collect(t, querytest.New(parts...), Request{}); p.doc.Ports != nil || slices.ContainsFunc(p.doc.Plots, func(p *Plot) bool { return strings.HasSuffix(p.ID, "-net") }) {
			t.Errorf("%s says who used the network", name)
		}
	}
}
